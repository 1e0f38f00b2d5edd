#include "kopper/client/status.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kopper::client {
namespace {

using testing::ElementsAre;
using namespace std::chrono_literals;

TEST(StatusTest, ForbiddenReadsAsTheServerSaysIt) {
  const auto error = error_from(403, {}, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
    "message":"deployments.apps \"x\" is forbidden: User \"u\" cannot get resource","reason":"Forbidden",
    "details":{"name":"x","group":"apps","kind":"deployments"},"code":403})");
  EXPECT_EQ(error.code, Code::Forbidden);
  EXPECT_EQ(error.http_status, 403);
  EXPECT_EQ(error.reason, "Forbidden");
  EXPECT_STREQ(error.what(), "deployments.apps \"x\" is forbidden: User \"u\" cannot get resource");
}

TEST(StatusTest, ApplyConflictNamesManagerAndField) {
  const auto error =
      error_from(409, {}, R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,
    "message":"Apply failed with 1 conflict: conflict with \"kubectl\" using apps/v1: .spec.replicas",
    "details":{"causes":[{"reason":"FieldManagerConflict","message":"conflict with \"kubectl\" using apps/v1","field":".spec.replicas"}]}})");
  EXPECT_EQ(error.code, Code::Conflict);
  ASSERT_EQ(error.causes.size(), 1U);
  EXPECT_EQ(error.causes[0].field, ".spec.replicas");
  EXPECT_EQ(error.causes[0].reason, "FieldManagerConflict");
  EXPECT_EQ(manager_of(error.causes[0]), "kubectl");
  EXPECT_EQ(manager_of({.message = "something else"}), "");
}

TEST(StatusTest, CodesFollowTheStatus) {
  const auto code = [](int status, const char* reason) {
    return error_from(
               status, {},
               fmt::format(
                   R"({{"kind":"Status","apiVersion":"v1","message":"m","reason":"{}","details":{{"name":"x"}}}})",
                   reason))
        .code;
  };
  EXPECT_EQ(code(400, "BadRequest"), Code::Invalid);
  EXPECT_EQ(code(422, "Invalid"), Code::Invalid);
  EXPECT_EQ(code(404, "NotFound"), Code::NotFound);
  EXPECT_EQ(code(405, "MethodNotAllowed"), Code::Unsupported);
  EXPECT_EQ(code(409, "AlreadyExists"), Code::AlreadyExists);
  EXPECT_EQ(code(409, "Conflict"), Code::Conflict);
  EXPECT_EQ(code(410, "Expired"), Code::Gone);
  EXPECT_EQ(code(429, "TooManyRequests"), Code::TooMany);
  EXPECT_EQ(code(500, "InternalError"), Code::Unavailable);
  EXPECT_EQ(code(503, "ServiceUnavailable"), Code::Unavailable);
  EXPECT_EQ(code(504, "Timeout"), Code::Timeout);
}

TEST(StatusTest, AMissingKindIsNotAMissingObject) {
  EXPECT_EQ(error_from(404, {}, "404 page not found\n").code, Code::Unsupported);
  EXPECT_EQ(error_from(404, {}, R"({"kind":"Status","apiVersion":"v1","reason":"NotFound","details":{},"code":404,
    "message":"the server could not find the requested resource"})")
                .code,
            Code::Unsupported);
  EXPECT_EQ(error_from(404, {},
                       R"({"kind":"Status","apiVersion":"v1","reason":"NotFound","details":{"name":"x","kind":"pods"},
    "code":404,"message":"pods \"x\" not found"})")
                .code,
            Code::NotFound);
}

TEST(StatusTest, ProxiesAreQuotedInOneLine) {
  const auto error =
      error_from(502, {}, "<html>\r\n<head><title>502 Bad Gateway</title></head>\n<body>nginx</body></html>");
  EXPECT_STREQ(error.what(), "the server answered 502 Bad Gateway: 502 Bad Gateway nginx");
  EXPECT_EQ(error.code, Code::Unavailable);
  EXPECT_EQ(error.http_status, 502);
  EXPECT_LT(std::string(error_from(500, {}, std::string(10'000, 'x')).what()).size(), 300U);
  EXPECT_STREQ(error_from(418, {}, "").what(), "the server answered 418");
  EXPECT_STREQ(error_from(302, {}, "<a href=\"/login\">Log in</a>").what(), "the server answered 302 Found: Log in");
  // JSON that is no Status.
  EXPECT_STREQ(error_from(500, {}, R"({"a":1})").what(), R"(the server answered 500 Internal Server Error: {"a":1})");
}

TEST(StatusTest, WrongCredentialsSaySo) {
  const auto error = error_from(
      401, {},
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401})");
  EXPECT_EQ(error.code, Code::Unauthorized);
  EXPECT_STREQ(error.what(), "the server does not accept these credentials (401 Unauthorized)");
}

TEST(StatusTest, RetryAfterComesFromHeaderOrDetails) {
  EXPECT_EQ(error_from(429, {{"Retry-After", "7"}}, "").retry_after, 7s);
  EXPECT_EQ(error_from(429, {}, R"({"kind":"Status","apiVersion":"v1","code":429,"details":{"retryAfterSeconds":3}})")
                .retry_after,
            3s);
  EXPECT_EQ(error_from(429, {{"Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"}}, "").retry_after, std::nullopt);
}

TEST(WarningsTest, ParsesQuotedTexts) {
  EXPECT_THAT(warnings({{"Warning", R"(299 - "policy/v1beta1 is deprecated")"}}),
              ElementsAre("policy/v1beta1 is deprecated"));
  EXPECT_THAT(
      warnings({{"warning",
                 R"(299 k "a \"b\", \\c", 299 - "d" "Wed, 21 Oct 2015 07:28:00 GMT", 199 - "cache", 299 - "e")"}}),
      ElementsAre(R"(a "b", \c)", "d", "e"));
  EXPECT_THAT(warnings({{"warning", "299 - \"one\""}, {"warning", "299 - \"two\""}}), ElementsAre("one", "two"));
  EXPECT_THAT(warnings({{"warning", "299 - \"cut"}, {"warning", "299"}, {"warning", ""}}), ElementsAre());
}

}  // namespace
}  // namespace kopper::client
