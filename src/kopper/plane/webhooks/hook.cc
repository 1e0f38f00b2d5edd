#include "kopper/plane/webhooks/hook.h"

#include <algorithm>

#include <fmt/format.h>

namespace kopper::plane {
namespace {

constexpr std::uint64_t kCostLimit = 2'500'000;  // of all conditions of a webhook

std::vector<std::string> texts(const json::Value& list) {
  std::vector<std::string> out;
  if (const json::Array* all = list.as_array())
    for (const json::Value& one : *all)
      if (one.is_string()) out.push_back(*one.as_string());
  return out;
}

api::Selector selector_of(const json::Value& selector) {
  using Op = api::Requirement::Op;
  api::Selector out;
  if (const json::Object* labels = selector["matchLabels"].as_object())
    for (const auto& [key, value] : *labels)
      out.add({.key = key, .op = Op::Equals, .values = {value.as_string() != nullptr ? *value.as_string() : ""}});
  if (const json::Array* expressions = selector["matchExpressions"].as_array())
    for (const json::Value& one : *expressions) {
      const std::string_view op = one.text("operator");
      std::vector<std::string> values = texts(one["values"]);
      std::ranges::sort(values);
      values.erase(std::unique(values.begin(), values.end()), values.end());
      out.add({.key = std::string(one.text("key")),
               .op = op == "In"       ? Op::In
                     : op == "NotIn"  ? Op::NotIn
                     : op == "Exists" ? Op::Exists
                                      : Op::DoesNotExist,
               .values = std::move(values)});
    }
  return out;
}

std::expected<cel::Program, std::string> compiled(std::string_view expression) {
  cel::Environment environment;
  environment.names = {"object", "oldObject", "request"};
  return cel::Program::compile(expression, environment, cel::Result::Bool);
}

Hook hook_of(const json::Value& from) {
  Hook out;
  out.name = from.text("name");
  out.target = webhook_target(from["clientConfig"]);
  if (const json::Array* rules = from["rules"].as_array())
    for (const json::Value& rule : *rules)
      out.rules.push_back({.operations = texts(rule["operations"]),
                           .groups = texts(rule["apiGroups"]),
                           .versions = texts(rule["apiVersions"]),
                           .resources = texts(rule["resources"]),
                           .scope = std::string(rule.text("scope"))});
  if (const json::Array* conditions = from["matchConditions"].as_array())
    for (const json::Value& condition : *conditions)
      out.conditions.push_back(
          {.name = std::string(condition.text("name")), .program = compiled(condition.text("expression"))});
  out.namespaces = selector_of(from["namespaceSelector"]);
  out.objects = selector_of(from["objectSelector"]);
  out.exact = from.text("matchPolicy") == "Exact";
  out.fail_open = from.text("failurePolicy") == "Ignore";
  out.again = from.text("reinvocationPolicy") == "IfNeeded";
  out.dry_run = from.text("sideEffects") == "None" || from.text("sideEffects") == "NoneOnDryRun";
  if (const std::int64_t* seconds = from["timeoutSeconds"].as_int()) out.timeout = std::chrono::seconds(*seconds);
  for (const std::string& version : texts(from["admissionReviewVersions"]))
    if (out.review_version.empty() && (version == "v1" || version == "v1beta1")) out.review_version = version;
  return out;
}

bool names(const std::vector<std::string>& list, std::string_view what) {
  return std::ranges::any_of(list, [&](const std::string& one) { return one == "*" || one == what; });
}

}  // namespace

std::vector<Hook> hooks_of(const json::Value& configuration) {
  std::vector<Hook> out;
  if (const json::Array* all = configuration["webhooks"].as_array())
    for (const json::Value& one : *all) out.push_back(hook_of(one));
  return out;
}

void check_conditions(const json::Value& configuration, Problems& problems) {
  const json::Array* all = configuration["webhooks"].as_array();
  for (std::size_t i = 0; all != nullptr && i < all->size(); ++i) {
    const json::Array* conditions = (*all)[i]["matchConditions"].as_array();
    for (std::size_t c = 0; conditions != nullptr && c < conditions->size(); ++c) {
      const std::string_view expression = (*conditions)[c].text("expression");
      if (const auto program = compiled(expression); !program)
        problems.invalid(fmt::format("webhooks[{}].matchConditions[{}].expression", i, c), expression, program.error());
    }
  }
}

bool matches(const Hook::Rule& rule, const HookSubject& subject) {
  if (rule.scope == "Namespaced" && !subject.namespaced) return false;
  if (rule.scope == "Cluster" && subject.namespaced) return false;
  if (!names(rule.operations, subject.operation) || !names(rule.groups, subject.group) ||
      !names(rule.versions, subject.version))
    return false;
  return std::ranges::any_of(rule.resources, [&](const std::string& one) {
    const std::size_t slash = one.find('/');
    const std::string_view resource = std::string_view(one).substr(0, slash);
    const std::string_view sub = slash == std::string::npos ? "" : std::string_view(one).substr(slash + 1);
    return (resource == "*" || resource == subject.resource) && (sub == "*" || sub == subject.subresource);
  });
}

bool selects(const api::Selector& selector, const json::Value& labels) {
  return std::ranges::all_of(selector.requirements(), [&](const api::Requirement& requirement) {
    const std::string* value = labels[requirement.key].as_string();
    return requirement.matches_value(value != nullptr ? std::optional<std::string_view>(*value) : std::nullopt);
  });
}

std::expected<bool, std::string> holds(const std::vector<Hook::Condition>& conditions, const json::Value& names) {
  std::string trouble;
  std::uint64_t left = kCostLimit;
  for (const Hook::Condition& condition : conditions) {
    std::string error;
    if (condition.program) {
      const cel::Answer answer = condition.program->run({.self = &names}, left);
      left -= std::min(left, answer.cost);
      error = answer.error;
      if (error.empty() && !answer.value) return false;
    } else {
      error = condition.program.error();
    }
    if (!error.empty()) trouble += (trouble.empty() ? "" : ", ") + fmt::format("{}: {}", condition.name, error);
  }
  if (!trouble.empty()) return std::unexpected(trouble);
  return true;
}

}  // namespace kopper::plane
