#pragma once

#include <expected>

#include "kopper/base/error.h"
#include "kopper/json/value.h"

namespace kopper::json {

// What a patch from outside may cost. The defaults are kube-apiserver's.
struct PatchLimits {
  std::size_t operations = 10'000;
  std::size_t copied_bytes = std::size_t{3} << 20U;  // by all "copy" operations together
  std::size_t depth = 256;                           // of the result
  bool replace_adds = false;                         // "replace" may name a member that is not there
};

// Applies a JSON patch (RFC 6902): an array of add, remove, replace, move, copy and test. All or nothing. A failure
// reads
// "/spec/size: operation 2 (replace): nothing there".
std::expected<Value, DecodeError> apply_patch(Value target, const Value& patch, PatchLimits limits = {});

}  // namespace kopper::json
