#pragma once

#include <cstdint>
#include <expected>
#include <string_view>

#include "kopper/base/error.h"
#include "kopper/json/value.h"

namespace kopper::json {

struct MergeField;

// What a strategic merge patch must know of a type: how each field merges. A small value over whatever describes types
// elsewhere (the tables of `meta`): `lookup` is called with `type` and a field's JSON name. An empty one knows nothing.
struct MergeSchema {
  const void* type = nullptr;
  MergeField (*lookup)(const void* type, std::string_view field) = nullptr;

  MergeField field(std::string_view name) const;
};

// The "patchStrategy" and "patchMergeKey" of a field. ("retainKeys" is not here: it concerns who makes a patch; who
// applies one obeys the $retainKeys that it finds.)
struct MergeField {
  enum class Strategy : std::uint8_t {
    Default,  // objects merge, lists are replaced
    Merge,    // lists merge, by `merge_key` if they hold objects
    Replace,  // objects are replaced too
  };

  Strategy strategy = Strategy::Default;
  std::string_view merge_key;
  MergeSchema schema;  // of the object, or of the list's elements
};

// Applies a strategic merge patch as kube-apiserver does, with its directives: $patch: delete and replace (in objects
// and in list elements; "merge" is refused there too), $deleteFromPrimitiveList/<field>, $setElementOrder/<field>,
// $retainKeys. Order of a merged list: $setElementOrder, then the order in the patch, then the order in `target`.
// Unlike kube-apiserver's, a field that the schema does not know is no error: it merges by default. What comes out
// holds neither directives nor the patch's nulls.
std::expected<Value, DecodeError> apply_strategic_patch(Value target, const Value& patch, MergeSchema schema);

}  // namespace kopper::json
