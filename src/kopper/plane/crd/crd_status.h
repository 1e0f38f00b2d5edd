#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "kopper/json/value.h"

namespace kopper::plane {

// Names in use in a group, by other definitions and built-in kinds.
struct TakenNames {
  std::set<std::string, std::less<>> resources;  // plural, singular and short names
  std::set<std::string, std::less<>> kinds;      // kinds and list kinds

  // What a stored definition holds: status.acceptedNames.
  void add(const json::Value& crd);
};

// The `status` of a definition: accepted names, stored versions, the conditions NamesAccepted and Established. `crd`
// has its defaults and the status it had, if any; `now` is the time of what changes, in RFC 3339. A name that is taken
// keeps it from being established, and from being served.
json::Value crd_status(const json::Value& crd, const TakenNames& taken, std::string_view now);

bool is_established(const json::Value& crd);

// The versions that objects are or were stored in: those of its status, and the one that it says now.
json::Array stored_versions(const json::Value& crd);

// Sets the condition Terminating: a definition that is deleted goes when its objects are gone.
enum class Ending : std::uint8_t { Pending, InProgress };
void set_terminating(json::Value& crd, Ending stage, std::string_view now);
bool is_terminating(const json::Value& crd);

}  // namespace kopper::plane
