#include "kopper/plane/auth/auth.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kopper/plane/auth/jwt.h"
#include "kopper/plane/auth/token_file.h"
#include "kopper/plane/plane.h"

namespace kopper::plane {
namespace {

constexpr const char* kRbac = "/apis/rbac.authorization.k8s.io/v1";
constexpr const char* kAccounts = "/api/v1/namespaces/default/serviceaccounts";
constexpr const char* kTokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";

PlaneOptions options_of_a_cluster() {
  PlaneOptions out;
  out.auth.required = true;
  out.auth.tokens = "admin-token,admin,1,\"system:masters\"\nnobody-token,nobody,3\n";
  out.auth.ca = "the authority";
  out.auth.pod_service_accounts = true;
  return out;
}

// A plane that lets nobody in without credentials. Who asks is named by the token.
class AuthTest : public testing::Test {
 protected:
  AuthTest() : plane_(options_of_a_cluster()) { loop_.run(plane_.start()); }

  struct Answer {
    int status = 0;
    json::Value body;
    std::string message() const { return std::string(body.text("message")); }
  };
  using Headers = std::vector<std::pair<std::string, std::string>>;

  Answer ask(const std::string& token, std::string method, std::string target, std::string body = {},
             const Headers& headers = {}, std::optional<http::Peer> peer = {}) {
    http::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    request.headers.set("content-type", "application/json");
    if (!token.empty()) request.headers.set("authorization", "Bearer " + token);
    for (const auto& [name, value] : headers) request.headers.add(name, value);
    request.peer = std::move(peer);
    http::Response response = loop_.run(plane_.handle(std::move(request)));
    const std::string text = loop_.run(http::read_all(*response.body));
    auto value = json::parse(text);
    return {response.status, value ? std::move(*value) : json::Value(text)};
  }
  Answer admin(std::string method, std::string target, std::string body = {}, const Headers& headers = {}) {
    return ask("admin-token", std::move(method), std::move(target), std::move(body), headers);
  }
  // The background work that a request began.
  void settle() {
    for (int i = 0; i < 20; ++i) loop_.run(turn());
  }
  static Task<> turn() { co_return; }

  // nobody may do what `rules` say.
  void allow(const std::string& name, const std::string& rules) {
    admin("POST", std::string(kRbac) + "/clusterroles",
          fmt::format(R"({{"metadata":{{"name":"{}"}},"rules":{}}})", name, rules));
    const Answer bound = admin("POST", std::string(kRbac) + "/clusterrolebindings",
                               fmt::format(R"({{
        "metadata":{{"name":"{}"}},"roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"{}"}},
        "subjects":[{{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"nobody"}}]}})",
                                           name, name));
    ASSERT_EQ(bound.status, 201) << json::dump(bound.body);
  }
  std::string token_of(const std::string& account, const std::string& spec = "{}") {
    const Answer made =
        admin("POST", fmt::format("{}/{}/token", kAccounts, account), fmt::format(R"({{"spec":{}}})", spec));
    EXPECT_EQ(made.status, 201) << json::dump(made.body);
    return std::string(made.body["status"].text("token"));
  }
  json::Value review(const std::string& token, const std::string& audiences = "[]") {
    return admin("POST", kTokenReviews, fmt::format(R"({{"spec":{{"token":"{}","audiences":{}}}}})", token, audiences))
        .body["status"];
  }

  rt::Loop loop_{rt::ClockMode::Manual};
  Plane plane_;
};

TEST_F(AuthTest, LetsNobodyInWithoutCredentials) {
  EXPECT_EQ(ask("", "GET", "/api/v1/pods").status, 401);
  EXPECT_EQ(ask("wrong", "GET", "/api/v1/pods").status, 401);
  EXPECT_EQ(ask("wrong", "GET", "/healthz").status, 401);
  EXPECT_EQ(ask("", "GET", "/healthz").status, 200);
  EXPECT_EQ(ask("", "GET", "/version").status, 200);
  EXPECT_EQ(ask("", "GET", "/api").status, 401);
  EXPECT_EQ(admin("GET", "/api/v1/pods").status, 200);
}

TEST_F(AuthTest, TakesTheNameAndGroupsOfACertificate) {
  const auto who = [&](http::Peer peer) {
    return ask("", "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}", {}, std::move(peer))
        .body["status"]["userInfo"];
  };
  EXPECT_EQ(json::dump(who({.common_name = "jane", .organizations = {"dev"}})),
            R"({"username":"jane","groups":["dev","system:authenticated"]})");
  EXPECT_EQ(
      ask("", "GET", "/api/v1/nodes", "", {}, http::Peer{.common_name = "root", .organizations = {"system:masters"}})
          .status,
      200);
}

TEST_F(AuthTest, SaysWhoCannotDoWhat) {
  const auto refused = [&](const char* method, const char* target) {
    return ask("nobody-token", method, target, "{}").message();
  };
  EXPECT_EQ(
      refused("GET", "/api/v1/namespaces/default/pods"),
      R"(pods is forbidden: User "nobody" cannot list resource "pods" in API group "" in the namespace "default")");
  EXPECT_EQ(refused("GET", "/api/v1/pods"),
            R"(pods is forbidden: User "nobody" cannot list resource "pods" in API group "" at the cluster scope)");
  EXPECT_EQ(
      refused("PUT", "/apis/apps/v1/namespaces/default/deployments/x/scale"),
      R"(deployments.apps "x" is forbidden: User "nobody" cannot update resource "deployments/scale" in API group "apps" in the namespace "default")");
  EXPECT_EQ(
      refused("GET", "/api/v1/nodes?fieldSelector=metadata.name=foo"),
      R"(nodes "foo" is forbidden: User "nobody" cannot list resource "nodes" in API group "" at the cluster scope)");
  EXPECT_EQ(refused("GET", "/metrics"), R"(forbidden: User "nobody" cannot get path "/metrics")");
  EXPECT_EQ(ask("nobody-token", "GET", "/api").status, 200);
}

TEST_F(AuthTest, NamesRolesThatCannotBeFound) {
  admin("POST", std::string(kRbac) + "/clusterrolebindings", R"({"metadata":{"name":"dangling"},
      "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"nosuch"},
      "subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"nobody"}]})");
  EXPECT_EQ(
      ask("nobody-token", "GET", "/api/v1/secrets").message(),
      R"(secrets is forbidden: User "nobody" cannot list resource "secrets" in API group "" at the cluster scope: rbac: RBAC: clusterrole.rbac.authorization.k8s.io "nosuch" not found)");
}

TEST_F(AuthTest, FollowsRolesAndBindings) {
  allow("reader",
        R"([{"apiGroups":[""],"resources":["configmaps"],"resourceNames":["kube-root-ca.crt"],"verbs":["get"]}])");
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  EXPECT_EQ(ask("nobody-token", "GET", maps + "/kube-root-ca.crt").status, 200);
  EXPECT_EQ(ask("nobody-token", "GET", maps + "/other").status, 403);
  EXPECT_EQ(ask("nobody-token", "GET", maps).status, 403);
  admin("DELETE", std::string(kRbac) + "/clusterrolebindings/reader");
  EXPECT_EQ(ask("nobody-token", "GET", maps + "/kube-root-ca.crt").status, 403);
}

TEST_F(AuthTest, AggregatesClusterRoles) {
  const auto resources_of_view = [&] {
    return json::dump(admin("GET", std::string(kRbac) + "/clusterroles/view").body["rules"]);
  };
  EXPECT_NE(resources_of_view().find("\"pods/log\""), std::string::npos);
  EXPECT_NE(json::dump(admin("GET", std::string(kRbac) + "/clusterroles/admin").body["rules"]).find("\"pods/log\""),
            std::string::npos);
  admin("POST", std::string(kRbac) + "/clusterroles",
        R"({"metadata":{"name":"my-view","labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}},
      "rules":[{"apiGroups":["example.com"],"resources":["things"],"verbs":["get"]}]})");
  settle();
  EXPECT_NE(resources_of_view().find("\"things\""), std::string::npos);
  admin("DELETE", std::string(kRbac) + "/clusterroles/my-view");
  settle();
  EXPECT_EQ(resources_of_view().find("\"things\""), std::string::npos);
}

TEST_F(AuthTest, NobodyGivesAwayMoreThanTheyHave) {
  allow("maker",
        R"([{"apiGroups":["rbac.authorization.k8s.io"],"resources":["*"],"verbs":["get","create","update","patch"]}])");
  const auto make = [&](const std::string& what, const std::string& body) {
    return ask("nobody-token", "POST", kRbac + what, body);
  };
  EXPECT_EQ(
      make(
          "/clusterroles",
          R"({"metadata":{"name":"x"},"rules":[{"apiGroups":["","apps"],"resources":["pods"],"resourceNames":["n"],"verbs":["get","list"]},{"nonResourceURLs":["/foo"],"verbs":["get","post"]}]})")
          .message(),
      "clusterroles.rbac.authorization.k8s.io \"x\" is forbidden: user \"nobody\" (groups=[\"system:authenticated\"]) "
      "is "
      "attempting to grant RBAC permissions not currently held:\n"
      "{APIGroups:[\"\"], Resources:[\"pods\"], ResourceNames:[\"n\"], Verbs:[\"get\" \"list\"]}\n"
      "{APIGroups:[\"apps\"], Resources:[\"pods\"], ResourceNames:[\"n\"], Verbs:[\"get\" \"list\"]}\n"
      "{NonResourceURLs:[\"/foo\"], Verbs:[\"get\"]}\n"
      "{NonResourceURLs:[\"/foo\"], Verbs:[\"post\"]}");
  EXPECT_EQ(
      make("/clusterroles", R"({"metadata":{"name":"x"},"aggregationRule":{"clusterRoleSelectors":[{}]}})").message(),
      "clusterroles.rbac.authorization.k8s.io \"x\" is forbidden: must have cluster-admin privileges to use the "
      "aggregationRule");
  EXPECT_EQ(
      make(
          "/clusterroles",
          R"({"metadata":{"name":"x"},"rules":[{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["get"]}]})")
          .status,
      201);
  const auto bind = [&](const char* role) {
    return make(
        "/clusterrolebindings",
        fmt::format(
            R"({{"metadata":{{"name":"b-{}"}},"roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"{}"}}}})",
            role, role));
  };
  EXPECT_EQ(bind("cluster-admin").message(),
            "clusterrolebindings.rbac.authorization.k8s.io \"b-cluster-admin\" is forbidden: user \"nobody\" "
            "(groups=[\"system:authenticated\"]) is "
            "attempting to grant RBAC permissions not currently held:\n"
            "{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}");
  EXPECT_EQ(bind("nosuch").status, 404);
  EXPECT_EQ(bind("x").status, 201);
  allow("binder", R"([{"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],"verbs":["bind"]}])");
  EXPECT_EQ(bind("cluster-admin").status, 201);
}

TEST_F(AuthTest, ImpersonatesWhoeverTheUserMay) {
  const std::string self = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const auto as = [&](const Headers& headers) {
    return json::dump(admin("POST", self, "{}", headers).body["status"]["userInfo"]);
  };
  EXPECT_EQ(
      as({{"Impersonate-User", "bob"},
          {"Impersonate-Group", "a"},
          {"Impersonate-Group", "b"},
          {"Impersonate-Uid", "u"},
          {"Impersonate-Extra-acme.com%2Fproject", "p"}}),
      R"({"username":"bob","uid":"u","groups":["a","b","system:authenticated"],"extra":{"acme.com/project":["p"]}})");
  EXPECT_EQ(
      as({{"Impersonate-User", "system:serviceaccount:ns1:sa1"}}),
      R"({"username":"system:serviceaccount:ns1:sa1","groups":["system:serviceaccounts","system:serviceaccounts:ns1","system:authenticated"]})");
  EXPECT_EQ(
      admin("GET", "/api/v1/pods", "", {{"Impersonate-Group", "a"}}).message(),
      R"(requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"a"}, Extra:map[string][]string(nil)} without impersonating a user name)");
  EXPECT_EQ(
      ask("nobody-token", "GET", "/api/v1/pods", "", {{"Impersonate-User", "bob"}}).message(),
      R"(pods is forbidden: User "nobody" cannot impersonate-on:user-info:list resource "pods" in API group "" at the cluster scope)");
  allow("impersonator", R"([{"apiGroups":[""],"resources":["users"],"verbs":["impersonate"]}])");
  EXPECT_EQ(ask("nobody-token", "GET", "/api/v1/pods", "", {{"Impersonate-User", "bob"}}).message(),
            R"(pods is forbidden: User "bob" cannot list resource "pods" in API group "" at the cluster scope)");
  EXPECT_EQ(
      ask("nobody-token", "GET", "/api/v1/pods", "", {{"Impersonate-User", "bob"}, {"Impersonate-Extra-scopes", "a"}})
          .message(),
      R"(userextras.authentication.k8s.io "a" is forbidden: User "nobody" cannot impersonate resource "userextras/scopes" in API group "authentication.k8s.io" at the cluster scope)");
}

TEST_F(AuthTest, TokensOfServiceAccountsEndWithWhatTheyAreBoundTo) {
  admin("POST", kAccounts, R"({"metadata":{"name":"robot"}})");
  admin("POST", "/api/v1/namespaces/default/secrets", R"({"metadata":{"name":"s"}})");
  const std::string plain = token_of("robot");
  const std::string bound = token_of("robot", R"({"boundObjectRef":{"kind":"Secret","apiVersion":"v1","name":"s"}})");
  EXPECT_EQ(
      ask(plain, "GET", "/api/v1/pods").message(),
      R"(pods is forbidden: User "system:serviceaccount:default:robot" cannot list resource "pods" in API group "" at the cluster scope)");
  const auto claims = decode_jwt(plain).value().claims;
  EXPECT_EQ(claims.text("sub"), "system:serviceaccount:default:robot");
  EXPECT_EQ(*claims["exp"].as_int() - *claims["iat"].as_int(), 3600);
  EXPECT_EQ(review(plain)["user"].text("username"), "system:serviceaccount:default:robot");
  EXPECT_EQ(
      review(plain, R"(["other"])").text("error"),
      R"([invalid bearer token, token audiences ["https://kubernetes.default.svc"] is invalid for the target audiences ["other"]])");
  EXPECT_EQ(review(plain.substr(0, plain.size() - 4) + "AAAA").text("error"),
            "[invalid bearer token, the signature of the token is not valid]");

  admin("DELETE", "/api/v1/namespaces/default/secrets/s");
  EXPECT_EQ(review(bound).text("error"), "[invalid bearer token, service account token has been invalidated]");
  EXPECT_EQ(ask(bound, "GET", "/api/v1/pods").status, 401);
  loop_.advance(std::chrono::seconds(3600 + 61));
  EXPECT_EQ(review(plain).text("error"), "[invalid bearer token, service account token has expired]");
  const std::string second = token_of("robot");
  EXPECT_EQ(ask(second, "GET", "/api").status, 200);
  admin("DELETE", std::string(kAccounts) + "/robot");
  EXPECT_EQ(ask(second, "GET", "/api").status, 401);
  admin("POST", kAccounts, R"({"metadata":{"name":"robot"}})");
  EXPECT_EQ(ask(second, "GET", "/api").status, 401);
}

TEST_F(AuthTest, RefusesTokenRequestsAsTheRealServerDoes) {
  const std::string target = std::string(kAccounts) + "/default/token";
  const auto refused = [&](const std::string& body) { return admin("POST", target, body).message(); };
  EXPECT_EQ(
      refused(R"({"spec":{"expirationSeconds":5}})"),
      R"(TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes)");
  EXPECT_EQ(refused(R"({"spec":{"boundObjectRef":{"kind":"Foo","apiVersion":"v1","name":"x"}}})"),
            "cannot bind token to object of type /v1, Kind=Foo");
  EXPECT_EQ(refused(R"({"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"x"}}})"),
            R"(pods "x" not found)");
  EXPECT_EQ(
      refused(R"({"metadata":{"name":"other"}})"),
      R"(TokenRequest.authentication.k8s.io "default" is invalid: metadata.name: Invalid value: "other": must match the service account name if specified)");
  EXPECT_EQ(admin("POST", std::string(kAccounts) + "/nosuch/token", "{}").message(),
            R"(serviceaccounts "nosuch" not found)");
  EXPECT_EQ(admin("GET", target).status, 405);
}

TEST_F(AuthTest, AnswersReviews) {
  const std::string base = "/apis/authorization.k8s.io/v1";
  const auto status = [&](const std::string& token, const std::string& what, const std::string& spec) {
    const Answer got = ask(token, "POST", base + what, fmt::format(R"({{"spec":{}}})", spec));
    return got.status == 201 ? json::dump(got.body["status"]) : got.message();
  };
  EXPECT_EQ(status("nobody-token", "/selfsubjectaccessreviews",
                   R"({"resourceAttributes":{"verb":"get","resource":"pods","namespace":"default"}})"),
            R"({"allowed":false})");
  EXPECT_EQ(
      status("nobody-token", "/selfsubjectaccessreviews",
             R"({"nonResourceAttributes":{"path":"/healthz","verb":"get"}})"),
      R"({"allowed":true,"reason":"RBAC: allowed by ClusterRoleBinding \"system:discovery\" of ClusterRole \"system:discovery\" to Group \"system:authenticated\""})");
  EXPECT_EQ(
      status("admin-token", "/selfsubjectaccessreviews", "{}"),
      R"(.authorization.k8s.io "" is invalid: spec: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified)");
  EXPECT_EQ(status("admin-token", "/subjectaccessreviews",
                   R"({"user":"x","groups":["system:masters"],"resourceAttributes":{"verb":"get","resource":"pods"}})"),
            R"({"allowed":true})");
  EXPECT_EQ(
      status("admin-token", "/subjectaccessreviews", R"({"resourceAttributes":{"verb":"get","resource":"pods"}})"),
      R"(.authorization.k8s.io "" is invalid: spec.user: Invalid value: "": at least one of user or group must be specified)");
  EXPECT_EQ(
      status("admin-token", "/namespaces/default/localsubjectaccessreviews",
             R"({"user":"x","resourceAttributes":{"verb":"get","resource":"pods","namespace":"other"}})"),
      R"(.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace)");
  EXPECT_EQ(
      status("nobody-token", "/selfsubjectrulesreviews", R"({"namespace":"default"})")
          .find(
              R"({"resourceRules":[{"verbs":["create"],"apiGroups":["authorization.k8s.io"],"resources":["selfsubjectaccessreviews","selfsubjectrulesreviews"]})"),
      0U);
  EXPECT_EQ(status("nobody-token", "/selfsubjectrulesreviews", "{}"), "no namespace on request");
}

TEST_F(AuthTest, GivesEachNamespaceAnAccountAndTheAuthority) {
  admin("POST", "/api/v1/namespaces", R"({"metadata":{"name":"fresh"}})");
  settle();
  EXPECT_EQ(admin("GET", "/api/v1/namespaces/fresh/serviceaccounts/default").status, 200);
  EXPECT_EQ(admin("GET", "/api/v1/namespaces/fresh/configmaps/kube-root-ca.crt").body["data"].text("ca.crt"),
            "the authority");
  admin("DELETE", "/api/v1/namespaces/fresh/serviceaccounts/default");
  settle();
  EXPECT_EQ(admin("GET", "/api/v1/namespaces/fresh/serviceaccounts/default").status, 200);
}

TEST_F(AuthTest, GivesPodsTheirAccount) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  EXPECT_EQ(
      admin(
          "POST", pods,
          R"({"metadata":{"name":"a"},"spec":{"serviceAccountName":"nosuch","containers":[{"name":"c","image":"i"}]}})")
          .message(),
      R"(pods "a" is forbidden: error looking up service account default/nosuch: serviceaccount "nosuch" not found)");
  const Answer made =
      admin("POST", pods, R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  ASSERT_EQ(made.status, 201) << json::dump(made.body);
  const json::Value& spec = made.body["spec"];
  EXPECT_EQ(spec.text("serviceAccountName"), "default");
  const std::string volume(spec["volumes"][0].text("name"));
  EXPECT_TRUE(volume.starts_with("kube-api-access-")) << volume;
  EXPECT_EQ(spec["containers"][0]["volumeMounts"][0].text("name"), volume);
  const Answer without = admin(
      "POST", pods,
      R"({"metadata":{"name":"b"},"spec":{"automountServiceAccountToken":false,"containers":[{"name":"c","image":"i"}]}})");
  EXPECT_TRUE(without.body["spec"]["volumes"].is_null());
  const std::string token = token_of(
      "default",
      fmt::format(
          R"({{"expirationSeconds":3607,"boundObjectRef":{{"kind":"Pod","apiVersion":"v1","name":"a","uid":"{}"}}}})",
          made.body["metadata"].text("uid")));
  EXPECT_EQ(review(token)["user"]["extra"]["authentication.kubernetes.io/pod-name"][0], json::Value("a"));
  const auto claims = decode_jwt(token).value().claims;
  EXPECT_EQ(*claims["exp"].as_int() - *claims["iat"].as_int(), 31'536'000);
}

TEST(OpenPlane, TakesWhoeverComesForAnAdministrator) {
  rt::Loop loop(rt::ClockMode::Manual);
  Plane plane;
  loop.run(plane.start());
  http::Request request;
  request.target = "/api/v1/secrets";
  EXPECT_EQ(loop.run(plane.handle(request)).status, 200);
  request.headers.set("impersonate-user", "bob");
  EXPECT_EQ(loop.run(plane.handle(request)).status, 403);
}

TEST(TokenFile, ReadsWhatKubeApiserverReads) {
  const auto users = parse_token_file("t1,alice,1,\"a,b\"\r\n\n\"t\"\"2\",bob,2\n,nobody,3\nt3,carol,4,g,more").value();
  ASSERT_EQ(users.size(), 3U);
  EXPECT_EQ(users[0].second.groups, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(users[1].first, "t\"2");
  EXPECT_EQ(users[2].second.groups, (std::vector<std::string>{"g"}));
  EXPECT_EQ(parse_token_file("a,b\n").error().what,
            "a line must have at least 3 columns (token, user name, user uid), found 2");
  EXPECT_FALSE(parse_token_file("a,\"b,c").has_value());
  EXPECT_FALSE(parse_token_file("a,b\"c,d").has_value());
}

TEST(Jwt, TakesTokensApart) {
  const std::string text =
      jwt_text(json::Object{{"alg", "x"}}, json::Object{{"sub", "me"}}) + "." + to_base64url("sig?>");
  const auto decoded = decode_jwt(text).value();
  EXPECT_EQ(decoded.claims.text("sub"), "me");
  EXPECT_EQ(decoded.signature, "sig?>");
  for (const char* bad :
       {"", "a", "a.b", "a.b.c", "..", "e30.e30", "e30.e30.e30.e30", "e30.W10.", "e30.e30.=", "e30.e30.a"})
    EXPECT_FALSE(decode_jwt(bad).has_value()) << bad;
}

TEST(PolicyRules, CoverPartsOfThemselves) {
  const PolicyRule all{.verbs = {"*"}, .groups = {"*"}, .resources = {"*"}, .names = {}, .urls = {}};
  const PolicyRule scale{.verbs = {"get"}, .groups = {"apps"}, .resources = {"*/scale"}, .names = {}, .urls = {}};
  const PolicyRule one{
      .verbs = {"get"}, .groups = {"apps"}, .resources = {"deployments/scale"}, .names = {"a"}, .urls = {}};
  const auto lacks = [](const PolicyRule& owned, const PolicyRule& wanted) {
    return !missing(std::vector{owned}, std::vector{wanted}).empty();
  };
  EXPECT_FALSE(lacks(all, scale));
  EXPECT_TRUE(lacks(scale, all));
  EXPECT_FALSE(lacks(scale, one));
  EXPECT_TRUE(lacks(one, scale));
}

}  // namespace
}  // namespace kopper::plane
