#include <cstddef>
#include <cstdint>

#include "kopper/json/merge_patch.h"
#include "kopper/json/patch.h"
#include "kopper/json/strategic.h"

#include "require.h"

using namespace kopper;
using fuzz::require;

namespace {

// A type whose fields hold itself: l merges by key, s is a set, r is replaced.
json::MergeField lookup(const void* type, std::string_view name) {
  using enum json::MergeField::Strategy;
  const json::MergeSchema self{type, lookup};
  if (name == "l") return {Merge, "k", self};
  if (name == "s") return {Merge, "", {}};
  if (name == "r") return {Replace, "", self};
  return {Default, "", self};
}

// A merge patch cannot set a member to null.
json::Value without_nulls(const json::Value& value) {
  const json::Object* object = value.as_object();
  if (object == nullptr) return value;
  json::Object out;
  for (const auto& [key, member] : *object) {
    if (!member.is_null()) out[key] = without_nulls(member);
  }
  return out;
}

}  // namespace

// Two JSON documents with a newline between: what is there, and a patch.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t middle = text.find('\n');
  if (middle == std::string_view::npos) return 0;
  const json::Limits limits{.depth = 64};
  const auto target = json::parse(text.substr(0, middle), limits);
  const auto patch = json::parse(text.substr(middle + 1), limits);
  if (!target || !patch) return 0;

  if (const auto patched = json::apply_patch(*target, *patch, {.copied_bytes = 4096, .depth = 80})) {
    require(json::parse(json::dump(*patched), {.depth = 81}) == *patched, "a patched document is a document");
  }
  const json::Value after = without_nulls(*patch);
  const json::Value diff = json::merge_diff(*target, after);
  require(json::apply_merge_patch(*target, diff) == after, "apply(before, diff(before, after)) == after");
  const json::Value merged = json::apply_merge_patch(*target, *patch);
  require(json::apply_merge_patch(merged, *patch) == merged, "a merge patch changes nothing the second time");

  if (const auto patched = json::apply_strategic_patch(*target, *patch, {nullptr, lookup})) {
    require(json::parse(json::dump(*patched), {.depth = 128}) == *patched, "a patched document is a document");
  }
  return 0;
}
