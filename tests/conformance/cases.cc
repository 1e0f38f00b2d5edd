#include "conformance/cases.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/json/value.h"
#include "kopper/json/yaml.h"
#include "kopper/rt/file.h"

namespace kopper::conformance {
namespace {

using Names = std::pair<std::string_view, std::string_view>;

constexpr auto kContentTypes = std::to_array<Names>({
    {"json", "application/json"},
    {"yaml", "application/yaml"},
    {"json-patch", "application/json-patch+json"},
    {"merge-patch", "application/merge-patch+json"},
    {"strategic-patch", "application/strategic-merge-patch+json"},
    {"apply-patch", "application/apply-patch+yaml"},
});
constexpr auto kAccepts = std::to_array<Names>({
    {"table", "application/json;as=Table;v=v1;g=meta.k8s.io"},
    {"partial", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"},
    {"partial-list", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
    {"discovery", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
});

template <std::size_t N>
std::string in_full(const std::array<Names, N>& names, std::string_view text) {
  const auto found = std::ranges::find(names, text, &Names::first);
  return std::string(found == names.end() ? text : found->second);
}

[[noreturn]] void refuse(std::string_view what) { throw Error(Code::Invalid, std::string(what)); }

User user_of(std::string_view text) {
  if (text == "nobody") return User::Nobody;
  if (text == "anonymous") return User::Anonymous;
  if (text == "bad-token") return User::BadToken;
  refuse(fmt::format("no such user: {}", text));
}

std::vector<std::string> texts(const json::Value& list) {
  std::vector<std::string> out;
  if (list.as_array() == nullptr) refuse("expected a list of texts");
  for (const auto& item : *list.as_array()) {
    if (!item.is_string()) refuse("expected a list of texts");
    out.push_back(*item.as_string());
  }
  return out;
}

// "./a" is below the scenario's `at`; "." is `at` itself.
std::string absolute(std::string_view target, std::string_view at) {
  if (!target.starts_with('.')) return std::string(target);
  return fmt::format("{}{}", at, target.substr(1));
}

std::string text_of(const json::Value& value, std::string_view key) {
  if (!value.is_string()) refuse(fmt::format("{}: expected a text", key));
  return *value.as_string();
}

void read_request(Step& step, std::string_view key, const json::Value& value, std::string_view at) {
  const std::string text = text_of(value, key);
  if (key == "watch") {
    step.form = Step::Form::Watch;
    step.method = "GET";
    step.target = absolute(text, at);
    step.target += step.target.contains('?') ? "&watch=true" : "?watch=true";
    return;
  }
  const auto space = text.find(' ');
  if (space == std::string::npos) refuse("do: expected METHOD TARGET");
  step.method = text.substr(0, space);
  step.target = absolute(std::string_view(text).substr(space + 1), at);
}

void read_member(Step& step, std::string_view key, const json::Value& value, std::string_view at) {
  if (key == "step") {
    step.name = text_of(value, key);
  } else if (key == "do" || key == "watch") {
    read_request(step, key, value, at);
  } else if (key == "collect") {
    step.form = Step::Form::Collect;
    step.watch = text_of(value, key);
  } else if (key == "events" && value.as_int() != nullptr) {
    step.events = static_cast<std::size_t>(*value.as_int());
  } else if (key == "body") {
    step.body = json::dump(value);
  } else if (key == "raw") {
    step.body = text_of(value, key);
  } else if (key == "type") {
    step.headers.emplace_back("Content-Type", in_full(kContentTypes, text_of(value, key)));
  } else if (key == "accept") {
    step.headers.emplace_back("Accept", in_full(kAccepts, text_of(value, key)));
  } else if (key == "headers" && value.is_object()) {
    for (const auto& [name, header] : *value.as_object()) step.headers.emplace_back(name, text_of(header, name));
  } else if (key == "user") {
    step.user = user_of(text_of(value, key));
  } else if (key == "until") {
    step.until = text_of(value, key);
  } else if (key == "only") {
    step.only = texts(value);
  } else if (key == "drop") {
    step.drop = texts(value);
  } else {
    refuse(fmt::format("unknown or unfit member {}", key));
  }
}

Step read_step(const json::Value& value, std::string_view at) {
  if (!value.is_object()) refuse("expected an object");
  Step step;
  for (const auto& [key, member] : *value.as_object()) read_member(step, key, member, at);
  if (step.name.empty()) refuse("has no name");
  if (step.method.empty() && step.watch.empty()) refuse("has none of do, watch, collect");
  if (!step.body.empty() &&
      std::ranges::find(step.headers, "Content-Type", [](const auto& h) { return h.first; }) == step.headers.end()) {
    step.headers.emplace_back("Content-Type", "application/json");
  }
  return step;
}

Scenario read_scenario(const json::Value& value) {
  Scenario scenario;
  scenario.name = value.text("scenario");
  if (scenario.name.empty()) refuse("a scenario without a name");
  if (value["steps"].as_array() == nullptr) refuse("has no steps");
  std::set<std::string> names;
  for (const auto& item : *value["steps"].as_array()) {
    try {
      scenario.steps.push_back(read_step(item, value.text("at")));
      if (!names.insert(scenario.steps.back().name).second) refuse("its name is used twice");
    } catch (Error& error) {
      error.with(fmt::format("{}, step {} {}", scenario.name, scenario.steps.size() + 1, item.text("step")));
      throw;
    }
  }
  return scenario;
}

}  // namespace

std::string Scenario::said() const {
  std::string out;
  for (const auto& step : steps) fmt::format_to(std::back_inserter(out), "{}\n{}\n", step.target, step.body);
  return out;
}

Topic read_topic(const std::filesystem::path& file) {
  Topic topic;
  topic.name = file.stem();
  try {
    const auto documents = json::parse_yaml(rt::read_file(file));
    if (!documents) throw_error(documents.error());
    if (documents->size() != 1 || !documents->front().value.is_array()) refuse("expected one list of scenarios");
    std::set<std::string> names;
    for (const auto& item : *documents->front().value.as_array()) {
      topic.scenarios.push_back(read_scenario(item));
      if (!names.insert(topic.scenarios.back().name).second) refuse("two scenarios: " + topic.scenarios.back().name);
    }
  } catch (Error& error) {
    error.with(file.string());
    throw;
  }
  return topic;
}

std::vector<Topic> read_topics(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<Topic> topics;
  for (const auto& file : files) topics.push_back(read_topic(file));
  return topics;
}

}  // namespace kopper::conformance
