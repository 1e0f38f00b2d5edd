#include "kopper/api/conditions.h"

#include <algorithm>
#include <cctype>

namespace kopper::api {

std::string reason_of(const Error& error) {
  if (!error.reason.empty() && error.reason.find(' ') == std::string::npos) return error.reason;
  std::string text(to_string(error.code));
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  std::erase_if(text, [](unsigned char c) { return std::isalnum(c) == 0; });
  return text;
}

metav1::Condition failure(std::string_view type, const Error& error) {
  return {.type = std::string(type), .status = "True", .reason = reason_of(error), .message = error.what()};
}
namespace {

bool has_status(const Conditions& conditions, std::string_view type, std::string_view status) {
  const auto* found = find_condition(conditions, type);
  return found != nullptr && found->status == status;
}

}  // namespace

const metav1::Condition* find_condition(const Conditions& conditions, std::string_view type) {
  const auto it = std::ranges::find(conditions, type, &metav1::Condition::type);
  return it == conditions.end() ? nullptr : &*it;
}

bool is_true(const Conditions& conditions, std::string_view type) { return has_status(conditions, type, "True"); }
bool is_false(const Conditions& conditions, std::string_view type) { return has_status(conditions, type, "False"); }

bool set_condition(Conditions& conditions, metav1::Condition condition, Time now) {
  const auto it = std::ranges::find(conditions, condition.type, &metav1::Condition::type);
  if (it == conditions.end()) {
    if (!condition.lastTransitionTime) condition.lastTransitionTime = now;
    conditions.push_back(std::move(condition));
    return true;
  }
  if (it->status == condition.status)
    condition.lastTransitionTime = it->lastTransitionTime;
  else if (!condition.lastTransitionTime)
    condition.lastTransitionTime = now;
  if (*it == condition) return false;
  *it = std::move(condition);
  return true;
}

bool remove_condition(Conditions& conditions, std::string_view type) {
  return std::erase_if(conditions, [&](const metav1::Condition& c) { return c.type == type; }) > 0;
}

void settle_conditions(Conditions& conditions, const Conditions& before, Time now, std::int64_t generation) {
  for (auto& c : conditions) {
    if (c.observedGeneration == 0) c.observedGeneration = generation;
    const auto* old = find_condition(before, c.type);
    if (old != nullptr && old->status == c.status)
      c.lastTransitionTime = old->lastTransitionTime;
    else if (!c.lastTransitionTime)
      c.lastTransitionTime = now;
  }
}

}  // namespace kopper::api
