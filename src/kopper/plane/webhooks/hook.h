#pragma once

#include <chrono>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/selector.h"
#include "kopper/json/value.h"
#include "kopper/plane/crd/cel/program.h"
#include "kopper/plane/problems.h"
#include "kopper/plane/webhooks/webhook_caller.h"

namespace kopper::plane {

// One webhook of a MutatingWebhookConfiguration or a ValidatingWebhookConfiguration, taken apart.
struct Hook {
  struct Rule {
    std::vector<std::string> operations;
    std::vector<std::string> groups;
    std::vector<std::string> versions;
    std::vector<std::string> resources;  // "pods", "pods/status", "*", "*/*", "pods/*"
    std::string scope;
  };
  struct Condition {
    std::string name;
    std::expected<cel::Program, std::string> program;
  };

  std::string name;
  WebhookTarget target;
  std::vector<Rule> rules;
  std::vector<Condition> conditions;
  api::Selector namespaces;
  api::Selector objects;
  bool exact = false;      // matchPolicy
  bool fail_open = false;  // failurePolicy Ignore
  bool again = false;      // reinvocationPolicy IfNeeded
  bool dry_run = false;    // may be called for one
  std::chrono::seconds timeout{10};
  std::string review_version;  // "v1" or "v1beta1"
};

// Of a configuration with its defaults.
std::vector<Hook> hooks_of(const json::Value& configuration);
// Match conditions that cannot be compiled.
void check_conditions(const json::Value& configuration, Problems& problems);

struct HookSubject {
  std::string_view operation;
  std::string_view group;
  std::string_view version;
  std::string_view resource;
  std::string_view subresource;
  bool namespaced = false;
};
bool matches(const Hook::Rule& rule, const HookSubject& subject);
// `labels`: an object, or null.
bool selects(const api::Selector& selector, const json::Value& labels);

// Whether all conditions hold of {request, object, oldObject}. An error counts only when none is false.
std::expected<bool, std::string> holds(const std::vector<Hook::Condition>& conditions, const json::Value& names);

}  // namespace kopper::plane
