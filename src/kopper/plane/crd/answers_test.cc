// The questions in tests/golden/crd_answers, answered by our code as a real server answered them.
#include <algorithm>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "kopper/json/yaml.h"
#include "kopper/plane/crd/check_crd.h"
#include "kopper/plane/crd/crd_schema.h"
#include "kopper/plane/crd/defaults.h"
#include "kopper/plane/crd/prune.h"
#include "kopper/plane/crd/validate.h"

namespace kopper::plane {
namespace {

json::Value read(const std::string& name) {
  std::ifstream in(std::string(KOPPER_SOURCE_DIR) + "/tests/golden/crd_answers/" + name);
  std::stringstream text;
  text << in.rdbuf();
  auto documents = json::parse_yaml(text.str());
  if (!documents || documents->empty()) throw std::runtime_error(name);
  return std::move(documents->front().value);
}

json::Value causes_of(const Problems& problems) {
  std::vector<std::string> lines;
  for (const Cause& cause : problems.causes()) lines.push_back(cause.field + ": " + cause.message);
  std::ranges::sort(lines);
  json::Array out;
  for (std::string& line : lines) out.emplace_back(std::move(line));
  return out;
}

std::string shown(const json::Value& value) {
  std::string out;
  if (const json::Array* lines = value.as_array()) {
    for (const json::Value& line : *lines) out += (line.is_string() ? *line.as_string() : json::dump(line)) + "\n";
    return out;
  }
  return json::dump(value);
}

void expect_objects(const std::string& name) {
  const json::Value questions = read("questions/" + name + ".yaml");
  const json::Value answers = read("answers.json")[name];
  BuiltinSchemas builtins;
  for (std::size_t s = 0; s < questions["suites"].as_array()->size(); ++s) {
    const json::Value& suite = questions["suites"][s];
    const CrdSchema schema(suite["schema"], builtins);
    const json::Value& scale = suite["subresources"]["scale"];
    for (std::size_t i = 0; i < suite["cases"].as_array()->size(); ++i) {
      const json::Value& question = suite["cases"][i];
      const auto prepared = [&](json::Value object) {
        object["apiVersion"] = "ask.example.com/v1";
        object["kind"] = "Things" + std::to_string(s);
        object["metadata"]["name"] = "t" + std::to_string(i);
        prune(object, schema.root());
        set_defaults(object, schema.root());
        return object;
      };
      json::Value object = prepared(question["new"]);
      json::Value old;
      CustomCheck how;
      if (scale.is_object()) how.scale = &scale;
      if (question["old"].is_object()) {
        old = prepared(question["old"]);
        how.old = &old;
        how.status_only = question["status"].as_bool() != nullptr;
        if (how.status_only) {
          json::Value changed = old;
          changed["status"] = object["status"];
          object = std::move(changed);
        }
      }
      const Problems problems = check_custom_resource(object, schema, how);
      const json::Value& answer = answers[s][i];
      if (answer["causes"].is_array()) {
        EXPECT_EQ(shown(causes_of(problems)), shown(answer["causes"]))
            << name << " " << s << ", " << json::dump(question);
      } else {
        EXPECT_EQ(problems.str(), "[]") << name << " " << s << ", " << json::dump(question);
        for (const char* member : {"apiVersion", "kind", "metadata"}) object.as_object()->erase(member);
        EXPECT_TRUE(object == answer["stored"]) << json::dump(object) << "\n" << json::dump(answer["stored"]);
      }
    }
  }
}

TEST(CrdAnswers, Objects) { expect_objects("objects"); }

TEST(CrdAnswers, Rules) { expect_objects("rules"); }

TEST(CrdAnswers, Definitions) {
  const json::Value questions = read("questions/definitions.yaml");
  const json::Value answers = read("answers.json")["definitions"];
  BuiltinSchemas builtins;
  for (std::size_t i = 0; i < questions["definitions"].as_array()->size(); ++i) {
    json::Value crd = questions["definitions"][i];
    default_crd(crd);
    EXPECT_EQ(shown(causes_of(check_crd(crd, builtins))), shown(answers[i]["causes"])) << json::dump(crd);
  }
}

}  // namespace
}  // namespace kopper::plane
