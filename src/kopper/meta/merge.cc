#include "kopper/meta/merge.h"

#include "kopper/meta/detail/walk.h"

namespace kopper::meta {
namespace {

json::MergeField lookup(const void* described, std::string_view name) {
  const Type& type = *static_cast<const Type*>(described);
  // Every entry of a map is alike.
  if (type.shape == Shape::Map) return {.schema = merge_schema(*type.element)};
  const Field* field = type.shape == Shape::Record ? detail::find_field(type, name) : nullptr;
  if (field == nullptr) return {};
  using Strategy = json::MergeField::Strategy;
  return {.strategy = field->patch_merge ? Strategy::Merge : Strategy::Default,
          .merge_key = field->patch_merge_key,
          .schema = merge_schema(*field->type)};
}

}  // namespace

json::MergeSchema merge_schema(const Type& type) {
  const Type& inner = detail::unwrap(type);
  if (inner.shape == Shape::List) return merge_schema(*inner.element);
  if (inner.shape == Shape::Record || inner.shape == Shape::Map) return {.type = &inner, .lookup = lookup};
  return {};
}

}  // namespace kopper::meta
