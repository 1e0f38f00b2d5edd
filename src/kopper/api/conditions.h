#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kopper/api/gen/meta_v1.h"
#include "kopper/base/error.h"

namespace kopper::api {

using Conditions = std::vector<metav1::Condition>;

// Status "True" or "False"; the times are set when it is put in a list.
//   condition("Available", ready == wanted, "Replicas", "{}/{} pods ready", ready, wanted)
template <class... Args>
metav1::Condition condition(std::string_view type, bool status, std::string_view reason,
                            fmt::format_string<Args...> message, Args&&... args) {
  return {.type = std::string(type),
          .status = status ? "True" : "False",
          .reason = std::string(reason),
          .message = fmt::format(message, std::forward<Args>(args)...)};
}

// True, because of an error: its reason and what it says.
metav1::Condition failure(std::string_view type, const Error& error);
// What of an error stands in the reason of conditions and events: one word in camel case.
std::string reason_of(const Error& error);

// Null when there is none of this type.
const metav1::Condition* find_condition(const Conditions& conditions, std::string_view type);
bool is_true(const Conditions& conditions, std::string_view type);
bool is_false(const Conditions& conditions, std::string_view type);

// Adds the condition, or changes the one of its type. lastTransitionTime moves only when the status changes: to the
// condition's own when it is set, else to `now`. True when anything changed.
bool set_condition(Conditions& conditions, metav1::Condition condition, Time now);
bool remove_condition(Conditions& conditions, std::string_view type);

// Carries the transition times of `before` over to conditions that were computed anew, so that an unchanged status
// stays equal. Those that changed or are new get `now`; all that have no observedGeneration get `generation`.
void settle_conditions(Conditions& conditions, const Conditions& before, Time now, std::int64_t generation = 0);

}  // namespace kopper::api
