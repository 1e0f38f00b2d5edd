#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/json/merge_patch.h"
#include "kopper/json/yaml.h"
#include "kopper/plane/builtin/check.h"
#include "kopper/plane/builtin/conform.h"
#include "kopper/plane/builtin/defaults.h"
#include "kopper/plane/builtin/strategy.h"
#include "kopper/plane/builtin/test_kinds.h"
#include "kopper/plane/builtin/validate.h"
#include "kopper/plane/table/table.h"

// The cases of tests/golden/plane: what we make of a request, compared with what a real server made of it.
namespace kopper::plane::builtin {
namespace {

std::string read(const char* name) {
  std::ifstream in(fmt::format("{}/tests/golden/plane/{}", KOPPER_SOURCE_DIR, name));
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Value parse(std::string_view text) {
  auto value = json::parse(text);
  if (!value) throw std::runtime_error(value.error().str());
  return std::move(*value);
}

const Array& requests() {
  static const Value all = json::parse_yaml(read("requests.yaml")).value().at(0).value;
  return *all.as_array();
}

const Value& answers() {
  static const Value all = parse(read("answers.json"));
  return all;
}

BuiltinSchemas& schemas() {
  static BuiltinSchemas all;
  return all;
}

class Golden : public testing::TestWithParam<std::size_t> {
 protected:
  const Value& request() const { return requests().at(GetParam()); }
  const Value& answer(std::size_t step) const { return answers()[request().text("name")][step]; }
  KindName kind() const {
    const Value& names = request()["kind"];
    return {*names[0].as_string(), *names[1].as_string(), *names[2].as_string()};
  }
  const Schema& schema() const { return schemas().of(test_kind(kind().group, kind().version, kind().kind)); }

  Value decoded(Value object) const {
    object["kind"] = kind().kind;
    object["apiVersion"] =
        kind().group.empty() ? std::string(kind().version) : fmt::format("{}/{}", kind().group, kind().version);
    if (const Findings found = conform(object, schema()); !found.error.empty())
      throw undecodable(kind().version, kind().kind, found.error);
    set_defaults(kind().group, kind().version, kind().kind, object);
    return object;
  }

  // What the server itself, its allocators or the clock put in.
  static void adopt(Value& object, const Value& real) {
    for (const char* name : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
      if (const Value& value = real["metadata"][name]; !value.is_null()) object["metadata"][name] = value;
    for (const char* name : {"clusterIP", "clusterIPs", "healthCheckNodePort"})
      if (const Value& value = real["spec"][name]; !value.is_null()) object["spec"][name] = value;
    if (const Array* ports = real["spec"]["ports"].as_array())
      for (std::size_t i = 0; i < ports->size(); ++i)
        if (const Value& port = (*ports)[i]["nodePort"]; !port.is_null() && object["spec"]["ports"].is_array())
          object["spec"]["ports"].as_array()->at(i)["nodePort"] = port;
  }

  void finish(Value& object) const {
    EXPECT_EQ(conform(object, schema()).error, "");
    const Value once = object;
    EXPECT_EQ(conform(object, schema()).error, "");
    EXPECT_EQ(json::dump(once), json::dump(object)) << "not idempotent";
  }

  Value created() const {
    const Value& real = answer(0)["body"];
    Value object = decoded(request()["send"]);
    adopt(object, real);
    admit_create(kind(), object);
    prepare_create(kind(), object);
    finish(object);
    return object;
  }
};

// The causes of a refusal, in any order: the server sorts those of its declarative rules last. What it prints of its
// own structs, and the differences between two of them, we cannot know.
std::multiset<std::string> causes(const Array& all) {
  static const std::regex kUid("\"[-0-9a-f]{36}\"");
  std::multiset<std::string> out;
  for (const Value& one : all) {
    std::string message(one.text("message"));
    message = std::regex_replace(message.substr(0, message.find('\n')), kUid, "UID");
    if (const std::size_t at = message.find(": field is immutable"); at != std::string::npos)
      message = message.substr(at);
    out.insert(fmt::format("{}: {} {}", one.text("field"), one.text("reason"), message));
  }
  return out;
}

std::multiset<std::string> causes(const Problems& problems) {
  Array out;
  for (const Cause& cause : problems.causes())
    out.emplace_back(Object{{"field", cause.field}, {"reason", cause.reason}, {"message", cause.message}});
  return causes(out);
}

TEST_P(Golden, Refused) {
  if (answer(0)["code"] == Value(400)) return;
  Value object = decoded(request()["send"]);
  object["metadata"]["namespace"] = "golden";
  object["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000";
  if (answer(0)["code"] == Value(201)) adopt(object, answer(0)["body"]);
  admit_create(kind(), object);
  prepare_create(kind(), object);
  finish(object);
  Problems problems;
  validate(kind().group, kind().version, kind().kind, object, nullptr, problems);
  EXPECT_EQ(causes(problems), causes(items(answer(0)["body"]["details"]["causes"])));
  if (answer(0)["code"] != Value(201)) return;
  Value old = answer(0)["body"];
  const Array& steps = items(request()["then"]);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Value& real = answer(i + 1);
    if (steps[i].text("on") != "status" && real["code"] != Value(400)) {
      Value next = decoded(json::apply_merge_patch(old, steps[i]["merge"]));
      prepare_update(kind(), next, old);
      set_defaults(kind().group, kind().version, kind().kind, next);
      finish(next);
      Problems found;
      validate(kind().group, kind().version, kind().kind, next, &old, found);
      EXPECT_EQ(causes(found), causes(items(real["body"]["details"]["causes"]))) << "update " << i;
    }
    if (real["code"] == Value(200)) old = real["body"];
  }
}

TEST_P(Golden, Create) {
  const Value& real = answer(0)["body"];
  if (answer(0)["code"] == Value(400)) {
    try {
      decoded(request()["send"]);
      ADD_FAILURE() << "accepted";
    } catch (const Refusal& refusal) {
      EXPECT_EQ(refusal.message, real.text("message"));
    }
    return;
  }
  if (answer(0)["code"] != Value(201)) return;
  EXPECT_EQ(json::dump_pretty(created()), json::dump_pretty(real));
}

TEST_P(Golden, Updates) {
  const Array* steps = request()["then"].as_array();
  if (steps == nullptr || answer(0)["code"] != Value(201)) return;
  Value old = answer(0)["body"];
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const Value& real = answer(i + 1)["body"];
    if (answer(i + 1)["code"] != Value(200)) continue;
    const Value& step = (*steps)[i];
    Value object = decoded(json::apply_merge_patch(old, step["merge"]));
    if (step.text("on") == "status") {
      prepare_status_update(kind(), object, old);
    } else {
      prepare_update(kind(), object, old);
    }
    set_defaults(kind().group, kind().version, kind().kind, object);
    object["metadata"]["resourceVersion"] = real["metadata"]["resourceVersion"];
    finish(object);
    EXPECT_EQ(json::dump_pretty(object), json::dump_pretty(real)) << "update " << i;
    old = real;
  }
}

TEST_P(Golden, Row) {
  const Array& all = *answers()[request().text("name")].as_array();
  const Value& recorded = all.back()["table"];
  if (recorded.is_null()) return;
  const auto last = std::find_if(all.rbegin(), all.rend(), [](const Value& one) {
    return one["code"] == Value(200) ? !one["body"].is_null() : one["code"] == Value(201);
  });
  const std::string_view path = request().text("path");
  const std::string_view resource = path.substr(path.rfind('/') + 1);
  const auto& columns = table::columns(kind().group, resource);
  Array ours = table::cells(kind().group, resource, (*last)["body"], {});
  Array real = *recorded["cells"].as_array();
  ASSERT_EQ(columns.size(), recorded["columns"].as_array()->size());
  ASSERT_EQ(ours.size(), columns.size());
  ASSERT_EQ(real.size(), columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Value& column = recorded["columns"][i];
    EXPECT_EQ(columns[i].name, column.text("name"));
    EXPECT_EQ(columns[i].type, column.text("type"));
    EXPECT_EQ(columns[i].format, column.text("format"));
    EXPECT_EQ(Value(columns[i].priority), column["priority"]);
    const bool age = columns[i].name == "Age" || columns[i].name == "Last Seen" || columns[i].name == "First Seen" ||
                     columns[i].name == "Restarts";
    if (age) continue;
    EXPECT_EQ(json::dump(ours[i]), json::dump(real[i])) << columns[i].name;
  }
}

std::string test_name(const testing::TestParamInfo<std::size_t>& info) {
  std::string out(requests().at(info.param).text("name"));
  for (char& c : out)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return out;
}

INSTANTIATE_TEST_SUITE_P(Builtin, Golden, testing::Range(std::size_t{0}, requests().size()), test_name);

Findings conform_text(const char* kind, std::string_view text) {
  Value object = parse(text);
  return conform(object, schemas().of(test_kind(std::string_view(kind) == "Deployment" ? "apps" : "", "v1", kind)));
}

TEST(Conform, SaysWhatIsWrongInTheWordsOfTheServer) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"spec":{"restartPolicy":1}})",
       "json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy"},
      {R"({"spec":{"containers":[{"livenessProbe":{"exec":"x"}}]}})",
       "json: cannot unmarshal string into Go struct field Probe.spec.containers.livenessProbe.ProbeHandler.exec of "
       "type v1.ExecAction"},
      {R"({"spec":{"volumes":[{"emptyDir":{"medium":1}}]}})",
       "json: cannot unmarshal number into Go struct field "
       "EmptyDirVolumeSource.spec.volumes.VolumeSource.emptyDir.medium of type v1.StorageMedium"},
      {R"({"spec":{"containers":["x"]}})",
       "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type v1.Container"},
      {R"({"spec":{"containers":[{"resources":{"limits":[]}}]}})",
       "json: cannot unmarshal array into Go struct field ResourceRequirements.spec.containers.resources.limits of "
       "type v1.ResourceList"},
      {R"({"spec":{"containers":[{"resources":{"limits":{"cpu":{}}}}]}})",
       "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
      {R"({"spec":{"containers":[{"command":[1]}]}})",
       "json: cannot unmarshal number into Go struct field Container.spec.containers.command of type string"},
      {R"({"spec":{"nodeSelector":{"a":true}}})",
       "json: cannot unmarshal bool into Go struct field PodSpec.spec.nodeSelector of type string"},
      {R"({"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":3000000000}}}]}})",
       "json: cannot unmarshal number 3000000000 into Go struct field "
       "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32"},
      {R"({"metadata":[]})", "json: cannot unmarshal array into Go struct field Pod.metadata of type v1.ObjectMeta"},
      {R"({"metadata":{"creationTimestamp":"2020-01-01"}})",
       R"(parsing time "2020-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T")"},
      {R"({"metadata":{"creationTimestamp":"2020-13-01T00:00:00Z"}})",
       R"(parsing time "2020-13-01T00:00:00Z": month out of range)"},
      {R"({"metadata":{"creationTimestamp":"2020-02-01T00:00:00Zx"}})",
       R"(parsing time "2020-02-01T00:00:00Zx": extra text: "x")"},
  };
  for (const auto& [sent, said] : cases) EXPECT_EQ(conform_text("Pod", sent).error, said) << sent;
  EXPECT_EQ(conform_text("Deployment", R"({"spec":{"replicas":1.5}})").error,
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32");
}

TEST(Conform, NamesWhatItDoesNotKnow) {
  const Findings found = conform_text(
      "Deployment", R"({"spec":{"foo":1,"template":{"spec":{"containers":[{"name":"c"},{"bar":{}}]}}},"x":null})");
  EXPECT_THAT(found.strict,
              testing::ElementsAre("unknown field \"spec.foo\"",
                                   "unknown field \"spec.template.spec.containers[1].bar\"", "unknown field \"x\""));
  EXPECT_EQ(strict_error("v1", "Deployment", {"unknown field \"a\"", "unknown field \"b\""}).message,
            "Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding error: unknown field "
            "\"a\", unknown field \"b\"");
}

}  // namespace
}  // namespace kopper::plane::builtin
