// What surrounds the checks: paths, columns, conversion, status, unknown fields, updates of a definition.
#include <gtest/gtest.h>

#include "kopper/plane/crd/check_crd.h"
#include "kopper/plane/crd/columns.h"
#include "kopper/plane/crd/convert.h"
#include "kopper/plane/crd/crd_schema.h"
#include "kopper/plane/crd/crd_status.h"
#include "kopper/plane/crd/json_path.h"
#include "kopper/plane/crd/prune.h"

namespace kopper::plane {
namespace {

json::Value parse(std::string_view text) { return *json::parse(text); }

std::string found(std::string_view path, const json::Value& root) {
  const auto parsed = JsonPath::parse(path);
  if (!parsed) return "error: " + parsed.error();
  std::string out;
  for (const json::Value* value : parsed->find(root)) out += (out.empty() ? "" : " ") + json::dump(*value);
  return out;
}

TEST(JsonPath, FindsWhatColumnsAskFor) {
  const json::Value root = parse(R"({"metadata": {"labels": {"app.x": "web"}}, "spec": {"size": 3, "list": [1, 2, 3]},
      "status": {"conditions": [{"type": "A", "status": "False", "n": 1}, {"type": "Ready", "status": "True", "n": 2}]}})");
  EXPECT_EQ(found(".spec.size", root), "3");
  EXPECT_EQ(found(R"(.metadata.labels.app\.x)", root), "\"web\"");
  EXPECT_EQ(found(".metadata.labels['app.x']", root), "\"web\"");
  EXPECT_EQ(found(R"(.status.conditions[?(@.type=="Ready")].status)", root), "\"True\"");
  EXPECT_EQ(found(".status.conditions[?(@.type == 'Ready')].status", root), "\"True\"");
  EXPECT_EQ(found(".status.conditions[?(@.n > 1)].type", root), "\"Ready\"");
  EXPECT_EQ(found(".status.conditions[*].type", root), "\"A\" \"Ready\"");
  EXPECT_EQ(found(".spec.list[0]", root), "1");
  EXPECT_EQ(found(".spec.list[-1]", root), "3");
  EXPECT_EQ(found(".spec.list[1:]", root), "2 3");
  EXPECT_EQ(found("..type", root), "\"A\" \"Ready\"");
  EXPECT_EQ(found(".spec.nope.deeper", root), "");
  EXPECT_EQ(found(".", root), json::dump(root));
  EXPECT_EQ(found(".a[?(@.b", root), "error: unterminated filter");
  EXPECT_EQ(found(".a[x]", root), "error: invalid array index x");
}

TEST(Columns, OfAVersion) {
  const json::Value crd = parse(R"({"spec": {"versions": [{"name": "v1", "additionalPrinterColumns": [
      {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1},
      {"name": "Ready", "type": "string", "jsonPath": ".status.ready", "description": "Is it?"},
      {"name": "Since", "type": "date", "jsonPath": ".status.since"}]}, {"name": "v2"}]}})");
  const auto columns = columns_of(crd, "v1");
  ASSERT_EQ(columns.size(), 3U);
  EXPECT_EQ(columns[0].description, "Custom resource definition column (in JSONPath format): .spec.size");
  EXPECT_EQ(columns[0].priority, 1);
  EXPECT_EQ(columns[1].description, "Is it?");
  const json::Value object = parse(R"({"spec": {"size": 3.0}, "status": {"ready": true, "since": "x"}})");
  EXPECT_EQ(cell_of(columns[0], object), json::Value(3));
  EXPECT_EQ(cell_of(columns[1], object), json::Value("true"));
  EXPECT_EQ(cell_of(columns[2], object), json::Value("<invalid>"));
  EXPECT_TRUE(cell_of(columns[0], json::Object()).is_null());
  EXPECT_EQ(columns_of(crd, "v2")[0].name, "Age");
}

TEST(UnknownFields, AreToldByPath) {
  BuiltinSchemas builtins;
  const CrdSchema schema(parse(R"({"type": "object", "properties": {"spec": {"type": "object", "properties": {
      "a": {"type": "integer"}, "list": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}}}},
      "any": {"x-kubernetes-preserve-unknown-fields": true}}}}})"),
                         builtins);
  const json::Value object =
      parse(R"({"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "x", "labels": {"l": "v"},
      "bogus": 1, "managedFields": [{"fieldsV1": {"f:spec": {}}}]},
      "spec": {"a": 1, "foo": {"deep": 1}, "list": [{"b": "x", "c": 1}], "any": {"q": 1}}, "extra": 1})");
  EXPECT_EQ(unknown_fields(object, schema.root()),
            (std::vector<std::string>{"metadata.bogus", "extra", "spec.foo", "spec.list[0].c"}));
  json::Value pruned = object;
  prune(pruned, schema.root());
  EXPECT_EQ(json::dump(pruned),
            R"({"apiVersion":"a/v1","kind":"A","metadata":{"name":"x","labels":{"l":"v"},"managedFields":[{"fieldsV1":)"
            R"({"f:spec":{}}}]},"spec":{"a":1,"list":[{"b":"x"}],"any":{"q":1}}})");
}

json::Value definition() {
  json::Value crd = parse(R"({"metadata": {"name": "things.example.com"}, "spec": {"group": "example.com",
      "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing", "shortNames": ["th"]},
      "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}})");
  default_crd(crd);
  return crd;
}

TEST(CrdStatus, AcceptsNames) {
  json::Value crd = definition();
  crd["status"] = crd_status(crd, {}, "2026-01-31T10:00:00Z");
  EXPECT_TRUE(is_established(crd));
  EXPECT_EQ(
      json::dump(std::as_const(crd)["status"]),
      R"({"acceptedNames":{"kind":"Thing","listKind":"ThingList","plural":"things","shortNames":["th"],)"
      R"("singular":"thing"},"conditions":[{"lastTransitionTime":"2026-01-31T10:00:00Z","message":"no conflicts found",)"
      R"("reason":"NoConflicts","status":"True","type":"NamesAccepted"},{"lastTransitionTime":"2026-01-31T10:00:00Z",)"
      R"("message":"the initial names have been accepted","reason":"InitialNamesAccepted","status":"True",)"
      R"("type":"Established"}],"storedVersions":["v1"]})");
  // Nothing changes: no time does.
  EXPECT_EQ(crd_status(crd, {}, "2027-01-01T00:00:00Z"), std::as_const(crd)["status"]);
}

TEST(CrdStatus, TakenNamesAreNotAccepted) {
  json::Value first = definition();
  first["status"] = crd_status(first, {}, "2026-01-31T10:00:00Z");
  TakenNames taken;
  taken.add(first);
  json::Value second = definition();
  second["spec"]["names"]["plural"] = "others";
  second["spec"]["names"]["singular"] = "other";
  const json::Value status = crd_status(second, taken, "2026-01-31T10:00:00Z");
  EXPECT_EQ(status["conditions"][0].text("reason"), "ListKindConflict");
  EXPECT_EQ(status["conditions"][0].text("message"), "\"ThingList\" is already in use");
  EXPECT_EQ(status["conditions"][1].text("reason"), "NotAccepted");
  EXPECT_EQ(status["acceptedNames"].text("plural"), "others");
  EXPECT_EQ(status["acceptedNames"].text("kind"), "");
}

TEST(CheckCrd, Updates) {
  BuiltinSchemas builtins;
  json::Value old = definition();
  old["status"] = crd_status(old, {}, "2026-01-31T10:00:00Z");
  json::Value crd = old;
  EXPECT_EQ(check_crd(crd, builtins, &old).str(), "[]");
  crd["spec"]["scope"] = "Cluster";
  EXPECT_EQ(check_crd(crd, builtins, &old).str(), "spec.scope: Invalid value: \"Cluster\": field is immutable");
  crd = old;
  (*crd["spec"]["versions"].as_array())[0]["name"] = "v2";
  EXPECT_EQ(
      check_crd(crd, builtins, &old).str(),
      "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage "
      "version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 "
      "and removes v1 from status.storedVersions");
}

TEST(Convert, ByName) {
  json::Value object = parse(R"({"apiVersion": "a.b/v1", "kind": "A", "spec": {}})");
  convert_by_name(object, "a.b/v2");
  EXPECT_EQ(json::dump(object), R"({"apiVersion":"a.b/v2","kind":"A","spec":{}})");
}

TEST(Convert, ByWebhook) {
  json::Value crd = definition();
  EXPECT_FALSE(webhook_conversion_of(crd));
  crd["spec"]["conversion"] = parse(R"({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v9", "v1"],
      "clientConfig": {"service": {"namespace": "ns", "name": "hook", "path": "/c"}}}})");
  default_crd(crd);
  const auto webhook = webhook_conversion_of(crd);
  ASSERT_TRUE(webhook);
  EXPECT_EQ(webhook->review_version, "v1");
  EXPECT_EQ(webhook->service_port, 443);

  const json::Array sent{
      parse(R"({"apiVersion": "a.b/v1", "kind": "A", "metadata": {"name": "x", "uid": "u", "generation": 2}})")};
  const json::Value review = conversion_review("v1", "id", "a.b/v2", sent);
  EXPECT_EQ(review["request"].text("desiredAPIVersion"), "a.b/v2");
  json::Value answer = parse(R"({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": {
      "uid": "id", "result": {"status": "Success"}, "convertedObjects": [{"apiVersion": "a.b/v2", "kind": "A",
      "metadata": {"name": "x", "uid": "u", "generation": 9, "labels": {"l": "v"}}, "spec": {"new": 1}}]}})");
  const auto converted = converted_objects(answer, "id", "a.b/v2", sent);
  ASSERT_TRUE(converted) << converted.error();
  EXPECT_EQ(json::dump((*converted)[0]), R"({"apiVersion":"a.b/v2","kind":"A","metadata":{"name":"x","uid":"u",)"
                                         R"("generation":2,"labels":{"l":"v"}},"spec":{"new":1}})");
  EXPECT_EQ(converted_objects(answer, "other", "a.b/v2", sent).error(),
            "failed: expected response.uid=\"other\", got \"id\"");
  EXPECT_EQ(converted_objects(answer, "id", "a.b/v3", sent).error(),
            "returned invalid converted object at index 0: invalid groupVersion (expected a.b/v3, received a.b/v2)");
  answer["response"]["result"] = parse(R"({"status": "Failure", "message": "no idea"})");
  EXPECT_EQ(converted_objects(answer, "id", "a.b/v2", sent).error(), "failed: no idea");
}

}  // namespace
}  // namespace kopper::plane
