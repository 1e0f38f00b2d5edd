// What a broken or hostile client can send to `kopper cluster`. Each is refused as kube-apiserver would refuse it,
// costs a bounded amount of memory, and the next client is served as if nothing had happened.
#include <list>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/http/client.h"
#include "kopper/http/url.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/file.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/stream.h"
#include "kopper/rt/tls.h"

#include "program.h"

namespace kopper::local {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kJson = "application/json";
constexpr const char* kYaml = "application/yaml";
constexpr const char* kProtobuf = "application/vnd.kubernetes.protobuf";
constexpr const char* kJsonPatch = "application/json-patch+json";
constexpr const char* kMergePatch = "application/merge-patch+json";
constexpr const char* kStrategicPatch = "application/strategic-merge-patch+json";
constexpr const char* kApplyPatch = "application/apply-patch+yaml";

// Generous: it is runaway growth that is looked for. A sanitizer alone takes a few hundred.
constexpr std::size_t kMemoryMb = 900;

std::string times(std::size_t count, std::string_view text) {
  std::string out;
  out.reserve(count * text.size());
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

class HostileTest : public testing::Test {
 protected:
  void SetUp() override {
    rt::raise_open_files();
    loop_.run(program_.start());
    transport_ = program_.connect();
    config_ = program_.config();
    tls_.emplace(rt::TlsContext::client(tls_options()));
  }
  void TearDown() override {
    expect_normal_service();
    EXPECT_LT(program_.resident_mb(), kMemoryMb);
    transport_.reset();
    const rt::ExitStatus ended = loop_.run(program_.stop());
    EXPECT_TRUE(ended.ok()) << ended.str() << "\n" << program_.log();
  }

  Answer run(http::Request what) { return loop_.run(rt::timeout(60s, ask(*transport_, std::move(what)))); }

  void expect_normal_service() {
    const std::string name = fmt::format("normal-{}", ++normal_);
    const Answer made = run(request("POST", kMaps, fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name)));
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(run(request("GET", fmt::format("{}/{}", kMaps, name))).status, 200);
    EXPECT_EQ(run(request("DELETE", fmt::format("{}/{}", kMaps, name))).status, 200);
  }

  // A refusal is a Status object that says the same as the status line.
  void expect_refused(const Answer& answer, int status, const std::string& what) {
    EXPECT_EQ(answer.status, status) << what << ": " << answer.body.substr(0, 300);
    if (answer.status != status || status == 200) return;
    const json::Value body = answer.json();
    EXPECT_EQ(body.text("kind"), "Status") << what << ": " << answer.body.substr(0, 300);
    EXPECT_EQ(body.text("status"), "Failure") << what;
    EXPECT_EQ(json::dump(body["code"]), std::to_string(status)) << what;
    EXPECT_FALSE(body.text("message").empty()) << what;
  }

  // A TLS connection of our own, as an administrator.
  Task<std::unique_ptr<rt::TlsStream>> dial(std::string alpn) {
    auto lower = co_await rt::connect_tcp("127.0.0.1", port());
    const std::vector<std::string> offered(1, alpn);
    const rt::TlsContext context = tls_->offering(offered);
    co_return co_await rt::TlsStream::client(std::move(lower), context, "127.0.0.1");
  }
  std::uint16_t port() const { return http::parse_url(config_.server).value().port; }
  rt::TlsClientOptions tls_options() const {
    rt::TlsClientOptions options;
    options.ca_pem = config_.ca.data;
    options.cert_pem = config_.client_cert.data;
    options.key_pem = config_.client_key.data;
    return options;
  }

  static Task<> read_to_end(rt::Stream* stream, std::string* out) {
    try {
      std::string buffer(16'384, '\0');
      while (const std::size_t size = co_await stream->read(buffer))
        if (out->size() < 1'000'000) out->append(buffer, 0, size);
    } catch (const Error&) {
      // broken off: as good an end as any
    }
  }
  // Sends, and reads until the server closes the connection. Both at a time, as a server may answer early.
  static Task<> send_all(rt::Stream* stream, std::string bytes) {
    try {
      co_await stream->write(bytes);
    } catch (const Error&) {
      // it had enough
    }
  }
  Task<std::string> talk(std::string alpn, std::string bytes) {
    auto stream = co_await dial(alpn);
    std::string out;
    rt::Scope both;
    both.spawn(send_all(stream.get(), std::move(bytes)));
    both.spawn(read_to_end(stream.get(), &out));
    co_await both.join();
    co_return out;
  }
  std::string http1(std::string bytes) { return loop_.run(rt::timeout(60s, talk("http/1.1", std::move(bytes)))); }

  rt::Loop loop_;
  Program program_;
  std::shared_ptr<http::Handler> transport_;
  client::Config config_;
  std::optional<rt::TlsContext> tls_;
  int normal_ = 0;
};

// ---- bodies ---------------------------------------------------------------------------------------------------------

struct Body {
  const char* what;
  std::string bytes;
  int create;  // the status of each verb; 0: not asked
  int update;
  int json_patch;
  int merge_patch;
  int strategic_patch;
};

std::vector<Body> json_bodies() {
  return {
      {"empty", "", 400, 400, 400, 400, 400},
      {"NUL", "\0"s, 400, 400, 400, 400, 400},
      {"text", "hello", 400, 400, 400, 400, 400},
      {"cut off", "{", 400, 400, 400, 400, 400},
      {"an array", "[]", 400, 400, 200, 400, 400},
      {"a number", "1", 400, 400, 400, 400, 400},
      {"something after it", R"({"metadata":{"name":"h"}}x)", 400, 400, 400, 400, 400},
      {"a NUL inside", "{\"metadata\":{\"name\":\"h\0\"}}"s, 400, 400, 400, 400, 400},
      {"open for ever", times(100'000, "["), 400, 400, 400, 400, 400},
      {"100,000 levels", times(100'000, R"({"a":)") + "1" + times(100'000, "}"), 400, 400, 400, 400, 400},
      {"a number beyond double", R"({"metadata":{"name":"h","generation":1e999}})", 400, 400, 0, 400, 400},
      {"an integer beyond int64", R"({"metadata":{"name":"h","generation":99999999999999999999}})", 400, 400, 0, 0, 0},
      {"another kind", R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"h"}})", 400, 400, 400, 0, 0},
      {"another version", R"({"kind":"ConfigMap","apiVersion":"v2","metadata":{"name":"h"}})", 400, 400, 400, 0, 0},
      {"a kind that is no text", R"({"kind":1,"apiVersion":[]})", 400, 400, 400, 0, 0},
      {"metadata that is text", R"({"metadata":"x"})", 400, 400, 400, 0, 0},
      {"a name that is a number", R"({"metadata":{"name":1}})", 400, 400, 400, 0, 0},
      {"data that is an array", R"({"metadata":{"name":"h"},"data":[]})", 400, 400, 400, 0, 0},
      {"a name with a NUL", R"({"metadata":{"name":"h\u0000"}})", 422, 0, 400, 0, 0},
  };
}

TEST_F(HostileTest, BodiesThatAreNoObjects) {
  EXPECT_EQ(run(request("POST", kMaps, R"({"metadata":{"name":"seed"},"data":{"a":"b"}})")).status, 201);
  const std::string seed = std::string(kMaps) + "/seed";
  for (const Body& body : json_bodies()) {
    const auto expect = [&](const char* method, const std::string& target, const char* type, int status) {
      if (status == 0) return;
      expect_refused(run(request(method, target, body.bytes, type)), status,
                     fmt::format("{} {} {}", method, type, body.what));
    };
    expect("POST", kMaps, kJson, body.create);
    expect("PUT", std::string(kMaps) + "/h", kJson, body.update);
    expect("PATCH", seed, kJsonPatch, body.json_patch);
    expect("PATCH", seed, kMergePatch, body.merge_patch);
    expect("PATCH", seed, kStrategicPatch, body.strategic_patch);
  }
  const std::map<std::string, std::string> options{
      {"text", "hello"}, {"an array", "[]"}, {"deep", times(100'000, "[")}, {"another kind", R"({"kind":"Pod"})"}};
  for (const auto& [what, bytes] : options)
    expect_refused(run(request("DELETE", std::string(kMaps) + "/none", bytes)), 400, "DELETE " + what);
}

// Nine levels of nine aliases each: 400 million words, if anybody wrote them out.
std::string billion_laughs() {
  std::string out = "a: &a [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n";
  for (char c = 'b'; c < 'j'; ++c) {
    const char before = static_cast<char>(c - 1);
    out += fmt::format("{0}: &{0} [*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1}]\n", c, before);
  }
  return out;
}

TEST_F(HostileTest, YamlThatIsNone) {
  const std::map<std::string, std::string> bodies{{"a tab", "\ta: b"},
                                                  {"no such anchor", "a: *b"},
                                                  {"an anchor in itself", "a: &a [*a]"},
                                                  {"a billion laughs", billion_laughs()},
                                                  {"deep", times(100'000, "[")},
                                                  {"deep maps", times(100'000, "{a: ")},
                                                  {"NUL", "\0"s},
                                                  {"bad UTF-8", "metadata: {name: \"\xff\"}"},
                                                  {"text", "hello"},
                                                  {"a list", "- a\n"}};
  const std::string one = std::string(kMaps) + "/h?fieldManager=m";
  for (const auto& [what, bytes] : bodies) {
    expect_refused(run(request("POST", kMaps, bytes, kYaml)), 400, "create: " + what);
    expect_refused(run(request("PATCH", one, bytes, kApplyPatch)), 400, "apply: " + what);
  }
}

TEST_F(HostileTest, ProtobufThatIsNone) {
  std::string all_bytes;
  for (int i = 0; i < 256; ++i) all_bytes += static_cast<char>(i);
  const std::map<std::string, std::string> bodies{{"nothing", ""},
                                                  {"another magic", "k8s\1abc"},
                                                  {"all bytes", "k8s\0"s + all_bytes},
                                                  {"an endless number", "k8s\0"s + times(100, "\xff")},
                                                  {"a length beyond the end", "k8s\0\x0a\xff\xff\xff\xff\x0f"s},
                                                  {"JSON", "{}"}};
  const std::string one = std::string(kMaps) + "/h";
  for (const auto& [what, bytes] : bodies) {
    expect_refused(run(request("POST", kMaps, bytes, kProtobuf)), 400, "create: " + what);
    expect_refused(run(request("PUT", one, bytes, kProtobuf)), 400, "update: " + what);
    expect_refused(run(request("PATCH", one, bytes, kProtobuf)), 415, "patch: " + what);
  }
  for (const char* type : {"text/plain", "application/xml", "garbage", "a/b/c", ";;;", "*/*"}) {
    expect_refused(run(request("POST", kMaps, R"({"metadata":{"name":"h"}})", type)), 415, type);
    expect_refused(run(request("PATCH", one, "{}", type)), 415, type);
  }
}

TEST_F(HostileTest, BodiesThatAreTooLarge) {
  const std::string large = R"({"metadata":{"name":"h"},"data":{"a":")" + times(10'000'000, "x") + "\"}}";
  const std::string one = std::string(kMaps) + "/h";
  const auto expect = [&](const char* method, const std::string& target, const char* type) {
    const Answer answer = run(request(method, target, large, type));
    expect_refused(answer, 413, fmt::format("{} {}", method, type));
    const json::Value status = answer.json();
    EXPECT_EQ(status.text("message"), "Request entity too large: limit is 3145728");
    EXPECT_EQ(status.text("reason"), "RequestEntityTooLarge");
  };
  for (const char* type : {kJson, kYaml, kProtobuf}) {
    expect("POST", kMaps, type);
    expect("PUT", one, type);
  }
  for (const char* type : {kJsonPatch, kMergePatch, kStrategicPatch, kApplyPatch}) expect("PATCH", one, type);
  expect("DELETE", one, kJson);
  // The same over HTTP/1.1, where the client sends on while it is refused.
  const std::string head = fmt::format("POST {} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n", kMaps);
  const std::string refused = http1(fmt::format("{}Content-Length: {}\r\n\r\n{}", head, large.size(), large));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(refused, HasSubstr("limit is 3145728"));
  EXPECT_THAT(http1(head + "Transfer-Encoding: chunked\r\n\r\n989680\r\n" + large), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(http1(head + "Content-Length: 100000000000\r\nExpect: 100-continue\r\n\r\n"), StartsWith("HTTP/1.1 413"));
}

// ---- paths, queries, headers ----------------------------------------------------------------------------------------

TEST_F(HostileTest, PathsThatNameNothing) {
  const std::string maps = kMaps;
  const std::map<std::string, int> paths{
      {"/api/v1/namespaces/default/nosuch", 404},
      {"/api/v9/pods", 404},
      {"/apis/apps/v9/deployments", 404},
      {"/apis/apps/v1/namespaces/default/pods", 404},
      {"/api/v1/namespaces/default/nodes", 404},
      {maps + "/x/nosuch", 404},
      {maps + "/a%2Fb", 404},
      {maps + "/%00", 404},
      {maps + "/%ff", 404},
      {maps + "/%0a", 404},
      {maps + "/..", 400},
      {maps + "/%2e%2e", 400},
      {maps + "/" + std::string(5000, 'a'), 404},
      {"/api/v1/namespaces/%ff/configmaps", 200},
  };
  for (const auto& [path, status] : paths) expect_refused(run(request("GET", path)), status, path);
  for (const std::string& path : {"/nosuch"s, "/apis/nosuch.example.com/v1/things"s, "/" + times(5000, "a/")})
    EXPECT_EQ(run(request("GET", path)).status, 404) << path.substr(0, 60);
  for (const std::string& path : {maps + "/%", maps + "/%zz"}) EXPECT_EQ(run(request("GET", path)).status, 400) << path;
  for (const char* method : {"FOO", "TRACE", "OPTIONS", "HEAD", "get", "PROPFIND", "M-SEARCH"})
    EXPECT_EQ(run(request(method, maps)).status, 405) << method;
}

TEST_F(HostileTest, QueriesThatMakeNoSense) {
  const std::vector<std::pair<std::string, int>> queries{
      {"labelSelector=a%20b%20c", 400},
      {"labelSelector=,,,", 400},
      {"labelSelector=a%20in%20(", 400},
      {"labelSelector=%ff", 400},
      {"labelSelector=" + times(20'000, "a,"), 400},
      {"labelSelector=" + times(10'000, "("), 400},
      {"labelSelector=a%20in%20(" + times(20'000, "b,") + "b)", 200},
      {"fieldSelector=nosuch=x", 400},
      {"fieldSelector=metadata.name", 400},
      {"fieldSelector=%ff=%ff", 400},
      {"limit=x", 400},
      {"limit=1.5", 400},
      {"limit=99999999999999999999", 400},
      {"limit=-1", 200},
      {"timeoutSeconds=x", 400},
      {"continue=x", 400},
      {"continue=%ff", 400},
      {"continue=" + std::string(50'000, 'A'), 400},
      {"resourceVersion=x", 400},
      {"resourceVersion=-1", 400},
      {"resourceVersion=99999999999999999999", 400},
      {"resourceVersion=1" + std::string(5000, '0'), 400},
      {"resourceVersion=1&resourceVersionMatch=Nope", 422},
      {"watch=true&resourceVersion=x", 500},  // as the real one
      {"watch=true&timeoutSeconds=-1x", 400},
      {"%zz=1&limit=%zz", 200},
      {"&&&&;=;%", 200},
      {times(12'000, "a=1&") + "limit=1", 200},
  };
  for (const auto& [query, status] : queries)
    expect_refused(run(request("GET", fmt::format("{}?{}", kMaps, query))), status, query.substr(0, 60));
  const std::map<std::string, int> deletions{{"gracePeriodSeconds=x", 400}, {"propagationPolicy=x", 422}};
  for (const auto& [query, status] : deletions)
    expect_refused(run(request("DELETE", fmt::format("{}/none?{}", kMaps, query))), status, query);
}

TEST_F(HostileTest, HeadersOfAllSizes) {
  const std::string head = fmt::format("GET {} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n", kMaps);
  EXPECT_THAT(http1(head + "X: " + times(2'000'000, "y") + "\r\n\r\n"), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(http1(head + "X: " + std::string(900'000, 'y') + "\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(http1(head + times(20'000, "X: y\r\n") + "\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(http1("GET /" + times(2'000'000, "a") + " HTTP/1.1\r\nHost: h\r\n\r\n"), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(http1(head + "Accept: \xff\xfe\r\n\r\n"), StartsWith("HTTP/1.1 406"));
  EXPECT_THAT(http1(head + "Accept: text/html\r\n\r\n"), StartsWith("HTTP/1.1 406"));
  EXPECT_THAT(http1(head + "User-Agent: " + std::string(300, '\xff') + "\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  // Who writes is kept in the object, which must be readable ever after.
  const std::string object = R"({"metadata":{"name":"h"}})";
  EXPECT_THAT(http1(fmt::format("POST {} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nUser-Agent: \xff\xfe\r\n"
                                "Content-Length: {}\r\n\r\n{}",
                                kMaps, object.size(), object)),
              StartsWith("HTTP/1.1 201"));
  EXPECT_EQ(run(request("PATCH", std::string(kMaps) + "/h", R"({"data":{"a":"b"}})", kMergePatch)).status, 200);
  EXPECT_THAT(http1(head + "Bad Name: x\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(http1(head + "Nul: a\0b\r\n\r\n"s), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(http1(head + "X: a\x01z\r\n\r\n"), StartsWith("HTTP/1.1 400"));
}

TEST_F(HostileTest, Http1ThatOthersMayReadOtherwise) {
  const std::string get = "GET /version HTTP/1.1\r\n";
  EXPECT_THAT(http1(get + "\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(http1(get + "Host: a\r\nHost: b\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(http1(get + "Host : a\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(http1("GET / HTTP/9.9\r\nHost: h\r\n\r\n"), StartsWith("HTTP/1.1 505"));
  EXPECT_THAT(http1("GET /\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(http1("\0\1\2\3\r\n\r\n"s), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(http1("GET https://elsewhere/version HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(http1("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), StartsWith("HTTP/1.1 "));
  const std::string post =
      fmt::format("POST {} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: application/json\r\n", kMaps);
  const std::map<std::string, std::string> smuggling{
      {"Content-Length: -1\r\n\r\n", "400"},
      {"Content-Length: +5\r\n\r\nhello", "400"},
      {"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "400"},
      {"Content-Length: 0x5\r\n\r\nhello", "400"},
      {"Content-Length: 99999999999999999999\r\n\r\n", "400"},
      {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
      {"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "501"},
      {"Transfer-Encoding: identity\r\n\r\n", "501"},
      {"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "501"},
      {"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "400"},
      {"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n", "400"},
      {"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello\r\n0\r\n\r\n", "400"},
      {"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n", "400"},
      {"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX0\r\n\r\n", "400"},
      {"Content-Length: 10\r\n\r\n{\"metadata\":{\"name\":\"h\"}}", "400"},  // a body cut off by its length
      {"Expect: miracles\r\n\r\n", "417"},
  };
  for (const auto& [rest, status] : smuggling)
    EXPECT_THAT(http1(post + rest), StartsWith("HTTP/1.1 " + status)) << rest;
}

// ---- HTTP/2 ---------------------------------------------------------------------------------------------------------

const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string frame(char type, char flags, std::uint32_t stream, std::string_view payload = {}) {
  std::string out;
  for (const unsigned shift : {16U, 8U, 0U}) out += static_cast<char>((payload.size() >> shift) & 0xffU);
  out += type;
  out += flags;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) out += static_cast<char>((stream >> shift) & 0xffU);
  return out.append(payload);
}
constexpr char kData = 0;
constexpr char kHeaders = 1;
constexpr char kPriority = 2;
constexpr char kReset = 3;
constexpr char kSettings = 4;
constexpr char kPush = 5;
constexpr char kPing = 6;
constexpr char kWindow = 8;
constexpr char kContinuation = 9;
constexpr char kEndStream = 1;
constexpr char kEndHeaders = 4;

// GET `path` (shorter than 127 bytes) of the host "h".
std::string get_headers(std::string_view path) {
  std::string out = "\x82\x87\x04";
  out += static_cast<char>(path.size());
  return out.append(path).append("\x41\x01h");
}

TEST_F(HostileTest, Http2AgainstTheRules) {
  const std::string headers = get_headers("/version");
  const std::string start = kPreface + frame(kSettings, 0, 0);
  const std::map<std::string, std::string> broken{
      {"no preface", "GET / HTTP/1.1\r\n\r\n"},
      {"a frame of 16 MB", start + "\xff\xff\xff\0\0\0\0\0\1"s},
      {"data on no stream", start + frame(kData, 0, 0, "x")},
      {"an even stream", start + frame(kHeaders, 5, 2, headers)},
      {"a window of nothing", start + frame(kWindow, 0, 0, "\0\0\0\0"s)},
      {"a window beyond all", start + frame(kWindow, 0, 0, "\x7f\xff\xff\xff")},
      {"a setting out of range", kPreface + frame(kSettings, 0, 0, "\0\4\xff\xff\xff\xff"s)},
      {"settings of seven bytes", kPreface + frame(kSettings, 0, 0, "1234567")},
      {"a push", start + frame(kPush, 4, 1, "\0\0\0\2"s + headers)},
      {"nonsense for HPACK", start + frame(kHeaders, 5, 1, std::string(100, '\xff'))},
      {"continuing nothing", start + frame(kContinuation, 4, 1, headers)},
      {"resetting nothing", start + frame(kReset, 0, 9, "\0\0\0\0"s)},
      {"a ping between headers", start + frame(kHeaders, 0, 1, headers) + frame(kPing, 0, 0, "12345678")},
      {"a ping of one byte", start + frame(kPing, 0, 0, "1")},
  };
  for (const auto& [what, bytes] : broken) {
    SCOPED_TRACE(what);
    loop_.run(rt::timeout(60s, talk("h2", bytes)));  // returns when the server has closed the connection
  }
}

TEST_F(HostileTest, Http2Floods) {
  const std::string start = kPreface + frame(kSettings, 0, 0);
  std::string resets = start;
  for (std::uint32_t i = 0; i < 20'000; ++i)
    resets += frame(kHeaders, kEndStream | kEndHeaders, 2 * i + 1, get_headers("/api/v1/pods")) +
              frame(kReset, 0, 2 * i + 1, "\0\0\0\x08"s);
  const std::map<std::string, std::string> floods{
      {"open and reset", resets},
      {"headers that never end", start + frame(kHeaders, kEndStream, 1, get_headers("/version")) +
                                     times(2'000, frame(kContinuation, 0, 1, std::string(10'000, '\x82')))},
      {"pings", start + times(200'000, frame(kPing, 0, 0, "12345678"))},
      {"settings", start + times(100'000, frame(kSettings, 0, 0, "\0\3\0\0\0\1"s))},
      {"empty data",
       start + frame(kHeaders, kEndHeaders, 1, "\x83\x87\x84\x41\x01h") + times(200'000, frame(kData, 0, 1))},
      {"priorities", start + times(200'000, frame(kPriority, 0, 1, "\0\0\0\0\1"s))},
  };
  for (const auto& [what, bytes] : floods) {
    SCOPED_TRACE(what);
    // Nobody reads what the server says; it may close the connection, or stop reading.
    const auto stream = loop_.run(rt::timeout(60s, dial("h2")));
    try {
      loop_.run(rt::timeout(10s, stream->write(bytes)));
    } catch (const Error& error) {
      EXPECT_TRUE(error.code == Code::Unavailable || error.code == Code::Timeout) << error.what();
    }
    EXPECT_LT(program_.resident_mb(), kMemoryMb);
    expect_normal_service();
  }
}

// ---- those who wait, or let others wait
// -------------------------------------------------------------------------------

Task<> open_and_leave(http::Handler* handler, std::string target, std::list<http::Response>* open) {
  http::Request get = request("GET", std::move(target));
  get.long_running = true;
  http::Response response = co_await handler->handle(std::move(get));
  open->push_back(std::move(response));
}

TEST_F(HostileTest, ThoseWhoNeverRead) {
  const std::string filling(20'000, 'x');
  const auto fill = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      const std::string object = fmt::format(R"({{"metadata":{{"name":"f{}"}},"data":{{"a":"{}"}}}})", i, filling);
      EXPECT_EQ(run(request("POST", kMaps, object)).status, 201);
    }
  };
  fill(0, 300);
  http::ClientOptions options;
  options.origin = http::parse_url(config_.server).value();
  options.tls = [this] { return tls_options(); };
  options.h2.stream_window = 1'000;
  const auto client = http::make_client(options);
  std::list<http::Response> open;
  rt::Scope opening;
  for (int i = 0; i < 500; ++i) opening.spawn(open_and_leave(client.get(), std::string(kMaps) + "?watch=1", &open));
  for (int i = 0; i < 200; ++i) opening.spawn(open_and_leave(client.get(), kMaps, &open));
  loop_.run(rt::timeout(120s, opening.join()));
  EXPECT_EQ(open.size(), 700U);
  fill(300, 1'300);  // 20 MB that none of them takes
  EXPECT_LT(program_.resident_mb(), kMemoryMb);
  expect_normal_service();
  open.clear();
}

Task<> keep_open(Task<std::unique_ptr<rt::TlsStream>> dialling, rt::Semaphore* turn,
                 std::vector<std::unique_ptr<rt::TlsStream>>* open) {
  const auto permit = co_await turn->acquire();
  auto stream = co_await dialling;
  open->push_back(std::move(stream));
}

TEST_F(HostileTest, TwoThousandIdleConnections) {
  std::vector<std::unique_ptr<rt::TlsStream>> open;
  rt::Semaphore turn(32);
  rt::Scope dialling;
  for (int i = 0; i < 2'000; ++i) dialling.spawn(keep_open(dial(i % 2 == 0 ? "h2" : "http/1.1"), &turn, &open));
  loop_.run(rt::timeout(200s, dialling.join()));
  EXPECT_EQ(open.size(), 2'000U);
  EXPECT_LT(program_.resident_mb(), kMemoryMb);
  expect_normal_service();
}

Task<> trickle(rt::Stream* stream, std::string bytes) {
  try {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      co_await stream->write(std::string_view(bytes).substr(i, 1));
      co_await rt::sleep(100ms);
    }
  } catch (const Error&) {
    // closed
  }
}

// The server waits ten seconds for a handshake or for headers, however lively they trickle in.
TEST_F(HostileTest, SlowOnesAreNotWaitedFor) {
  std::vector<std::unique_ptr<rt::Stream>> open;
  std::string out;
  rt::Scope ends;
  rt::Scope trickles;
  const std::string hello = "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"s + std::string(500, 'x');
  for (int i = 0; i < 30; ++i) {
    open.push_back(loop_.run(rt::connect_tcp("127.0.0.1", port())));
    if (i % 3 == 1) loop_.run(open.back()->write(std::string_view(hello).substr(0, 4)));
    if (i % 3 == 2) trickles.spawn(trickle(open.back().get(), hello));
    ends.spawn(read_to_end(open.back().get(), &out));
  }
  for (int i = 0; i < 20; ++i) {
    open.push_back(loop_.run(rt::timeout(60s, dial("http/1.1"))));
    trickles.spawn(trickle(open.back().get(), "GET /version HTTP/1.1\r\nHost: h\r\nX: " + std::string(1'000, 'x')));
    ends.spawn(read_to_end(open.back().get(), &out));
  }
  expect_normal_service();
  loop_.run(rt::timeout(100s, ends.join()));
}

TEST_F(HostileTest, GarbageInsteadOfTls) {
  for (const std::string& bytes : {std::string(100'000, '\0'), std::string(100'000, '\xff'), "GET / HTTP/1.1\r\n\r\n"s,
                                   "\x16\x03\x01\xff\xff"s + std::string(70'000, 'x'), "\x80\x2e\x01\0\2"s}) {
    const auto stream = loop_.run(rt::connect_tcp("127.0.0.1", port()));
    std::string out;
    rt::Scope both;
    both.spawn(send_all(stream.get(), bytes));
    both.spawn(read_to_end(stream.get(), &out));
    loop_.run(rt::timeout(60s, both.join()));
  }
}

// ---- definitions
// ------------------------------------------------------------------------------------------------------

std::string definition(const std::string& plural, const std::string& schema) {
  return fmt::format(
      R"({{"metadata":{{"name":"{0}.example.com"}},"spec":{{"group":"example.com","scope":"Namespaced","names":)"
      R"({{"plural":"{0}","kind":"K{0}"}},"versions":[{{"name":"v1","served":true,"storage":true,"schema":)"
      R"({{"openAPIV3Schema":{1}}}}}]}}}})",
      plural, schema);
}

std::string with_rule(const std::string& rule) {
  return fmt::format(
      R"({{"type":"object","properties":{{"spec":{{"type":"object","properties":{{"list":{{"type":"array",)"
      R"("maxItems":1000,"items":{{"type":"string","maxLength":1000}}}},"text":{{"type":"string","maxLength":100000}}}},)"
      R"("x-kubernetes-validations":[{{"rule":{}}}]}}}}}})",
      json::dump(json::Value(rule)));
}

std::string with_pattern(const std::string& pattern) {
  return fmt::format(
      R"({{"type":"object","properties":{{"spec":{{"type":"object","properties":{{"text":{{"type":"string",)"
      R"("pattern":{}}}}}}}}}}})",
      json::dump(json::Value(pattern)));
}

std::string nested(std::size_t levels) {
  return times(levels, R"({"type":"object","properties":{"a":)") + R"({"type":"string"})" + times(levels, "}}");
}

TEST_F(HostileTest, DefinitionsThatAreTooMuch) {
  std::string loops = "true";
  for (char c = 'a'; c < 'm'; ++c) loops = fmt::format("self.list.all({}, {})", c, loops);
  std::string doubled = "self.text";
  for (int i = 0; i < 11; ++i) doubled = fmt::format("({0}+{0})", doubled);
  const std::vector<std::pair<std::string, std::string>> schemas{
      {"loops in loops", with_rule(loops)},
      {"doubled text", with_rule(doubled + ".size() > 0")},
      {"brackets", with_rule(times(20'000, "(") + "true" + times(20'000, ")"))},
      {"nots", with_rule(times(20'000, "!") + "true")},
      {"minuses", with_rule(times(20'000, "-") + "1 < 2")},
      {"lists", with_rule(times(20'000, "[") + times(20'000, "]") + ".size() == 1")},
      {"a long sum", with_rule("1" + times(20'000, "+1") + " > 0")},
      {"a long path", with_rule("self" + times(20'000, ".a"))},
      {"choices", with_rule(times(10'000, "true ? true : ") + "true")},
      {"an unclosed text", with_rule("'" + std::string(100'000, 'x'))},
      {"a bad pattern in a rule", with_rule("self.text.matches('(((((')")},
      {"a pattern that backtracks", with_pattern("^(a+)+$")},
      {"a pattern that grows", with_pattern("((a{1,1000}){1,1000}){1,1000}")},
      {"a deep pattern", with_pattern(times(20'000, "(") + times(20'000, ")"))},
      {"a pattern that is none", with_pattern("(((((")},
      {"deep properties", nested(50)},
      {"deeper properties", nested(5'000)},
      {"deep allOf", R"({"type":"object","properties":{"a":{"type":"object",)" + times(40, R"("allOf":[{)") +
                         R"("minProperties":1)" + times(40, "}]") + "}}}"},
  };
  const std::string object = R"("metadata":{"name":"one"},"spec":{"list":["v")" + times(900, R"(,"v")") +
                             R"(],"text":")" + std::string(50'000, 'a') + "b\"}}";
  int number = 0;
  for (const auto& [what, schema] : schemas) {
    SCOPED_TRACE(what);
    const std::string plural = fmt::format("t{}s", number++);
    const Answer made =
        run(request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(plural, schema)));
    if (made.status != 201) {
      EXPECT_TRUE(made.status == 400 || made.status == 422);
      expect_refused(made, made.status, what);
      continue;
    }
    // What was let in must not be too much when it is used.
    const Answer used = run(request("POST", fmt::format("/apis/example.com/v1/namespaces/default/{}", plural),
                                    fmt::format(R"({{"apiVersion":"example.com/v1","kind":"K{}",)", plural) + object));
    EXPECT_TRUE(used.status == 201 || used.status == 422) << used.status << " " << used.body.substr(0, 300);
  }
}

}  // namespace
}  // namespace kopper::local
