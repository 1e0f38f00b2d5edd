#pragma once

#include <string_view>

#include "kopper/json/value.h"

namespace kopper::plane::builtin {

// Every default that kube-apiserver sets in an object of a built-in kind before admission. Expects an object that
// conforms (conform.h), and leaves members out of order: conform it again. Kinds without defaults are left alone.
// Also does what the server does on reading: a Secret's stringData goes into its data, the two names of a pod's service
// account are the same, a Namespace carries its name as a label.
void set_defaults(std::string_view group, std::string_view version, std::string_view kind, json::Value& object);

}  // namespace kopper::plane::builtin
