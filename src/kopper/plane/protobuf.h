#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "kopper/json/value.h"

namespace kopper::plane {

inline constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";

// An object of a built-in kind in Kubernetes' protobuf, in which Go programs (newer kubectl, controller-runtime) send
// theirs, as the JSON that stands for the same. Members that are empty or zero are there when the message has them.
// The error says what is wrong with the bytes. Nothing is answered in protobuf: such clients take JSON as well.
std::expected<json::Value, std::string> from_protobuf(std::string_view bytes);

}  // namespace kopper::plane
