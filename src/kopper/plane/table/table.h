#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/json/value.h"

// What `kubectl get` shows: the columns of a built-in resource and the cells of an object (meta.k8s.io/v1 Table).
namespace kopper::plane::table {

using Time = std::chrono::system_clock::time_point;

struct Column {
  std::string name;
  std::string type;    // "string", "integer", "boolean", "date"
  std::string format;  // "name" or ""
  int priority = 0;    // above 0: only with -o wide
};

// Of a resource by its plural. One that has no columns of its own has Name and Created At, as kube-apiserver gives it.
const std::vector<Column>& columns(std::string_view group, std::string_view resource);
// As many as there are columns. Ages are of `now`.
json::Array cells(std::string_view group, std::string_view resource, const json::Value& object, Time now);

// "5m", "3h20m", "3d4h", "400d": how long, in two units at most.
std::string human_duration(std::chrono::seconds duration);
// human_duration since an RFC 3339 time; "<unknown>" when there is none.
std::string age(const json::Value& time, Time now);

}  // namespace kopper::plane::table
