#include "kopper/meta/compare.h"

#include <algorithm>

#include "kopper/meta/detail/walk.h"
#include "kopper/meta/encode.h"

namespace kopper::meta {
namespace {

using detail::as;

bool equal_leaf(const Type& type, const void* a, const void* b) {
  switch (type.shape) {
    case Shape::Bool: return as<bool>(a) == as<bool>(b);
    case Shape::Int32:
    case Shape::Uint32: return as<std::uint32_t>(a) == as<std::uint32_t>(b);
    case Shape::Int64:
    case Shape::Uint64: return as<std::uint64_t>(a) == as<std::uint64_t>(b);
    case Shape::Double: return as<double>(a) == as<double>(b);
    case Shape::String: return as<std::string>(a) == as<std::string>(b);
    case Shape::Bytes: return as<Bytes>(a) == as<Bytes>(b);
    case Shape::Enum: return detail::enumerator(type, a) == detail::enumerator(type, b);
    case Shape::Value: return as<json::Value>(a) == as<json::Value>(b);
    default: return type.equal(a, b);
  }
}

// Calls same(element type, value in a, value in b) for each entry of map `a`; false when b has no such entry.
template <class Same>
bool each_entry(const Type& map, const void* a, const void* b, Same same) {
  struct Context {
    const Type& map;
    const void* other;
    Same same;
    bool result = true;
  } context{map, b, same};
  map.each(
      a,
      [](void* p, const std::string& key, const void* value) {
        auto& c = *static_cast<Context*>(p);
        const void* found = c.result ? c.map.find(c.other, key) : nullptr;
        c.result = found != nullptr && c.same(*c.map.element, value, found);
      },
      &context);
  return context.result;
}

// A key that is not said is the one that the server sets.
bool same_keys(const Type& record, std::span<const std::string_view> keys, const void* wanted, const void* there) {
  const void* sample = detail::sample_of(record);
  return std::ranges::all_of(keys, [&](std::string_view key) {
    const Field* field = detail::find_field(record, key);
    if (field == nullptr) return false;
    const void *ours = detail::member(wanted, *field), *theirs = detail::member(there, *field);
    if (field->default_json.empty() || !detail::omitted(*field, ours, detail::sample_of(*field, sample))) {
      return equal(*field->type, ours, theirs);
    }
    std::string text;
    encode_to(text, *field->type, theirs);
    return text == field->default_json;
  });
}

// Every desired item has its match in live, wherever it stands.
bool covers_items(const Type& list, const Field& field, const void* live, const void* desired) {
  const auto [first, count] = list.items(desired);
  const auto [live_first, live_count] = list.items(live);
  for (std::size_t i = 0; i < count; ++i) {
    bool found = false;
    for (std::size_t j = 0; j < live_count && !found; ++j) {
      const void *wanted = detail::item(list, first, i), *there = detail::item(list, live_first, j);
      found = field.topology == Topology::Set
                  ? equal(*list.element, wanted, there)
                  : same_keys(*list.element, field.map_keys, wanted, there) && covers(*list.element, there, wanted);
    }
    if (!found) return false;
  }
  return true;
}

bool covers_field(const Field& field, const void* live, const void* desired) {
  const Type& type = detail::unwrap(*field.type);
  const bool merges =
      type.shape == Shape::List &&
      (field.topology == Topology::Set || (field.topology == Topology::Map && type.element->shape == Shape::Record));
  if (!merges || &type != field.type) return covers(*field.type, live, desired);
  return covers_items(type, field, live, desired);
}

}  // namespace

bool equal(const Type& type, const void* a, const void* b) {
  switch (type.shape) {
    case Shape::Optional:
    case Shape::List: {
      const auto [first, count] = type.items(a);
      const auto [other, other_count] = type.items(b);
      if (count != other_count) return false;
      for (std::size_t i = 0; i < count; ++i)
        if (!equal(*type.element, detail::item(type, first, i), detail::item(type, other, i))) return false;
      return true;
    }
    case Shape::Map:
      return type.size_of(a) == type.size_of(b) &&
             each_entry(type, a, b, [](const Type& t, const void* x, const void* y) { return equal(t, x, y); });
    case Shape::Record:
      return std::ranges::all_of(type.fields, [&](const Field& field) {
        return equal(*field.type, detail::member(a, field), detail::member(b, field));
      });
    default: return equal_leaf(type, a, b);
  }
}

bool covers(const Type& type, const void* live, const void* desired) {
  switch (type.shape) {
    case Shape::Optional:
    case Shape::List: {
      const auto [first, count] = type.items(desired);
      const auto [there, live_count] = type.items(live);
      if (count == 0 && type.shape == Shape::Optional) return true;
      if (count != live_count) return false;
      for (std::size_t i = 0; i < count; ++i)
        if (!covers(*type.element, detail::item(type, there, i), detail::item(type, first, i))) return false;
      return true;
    }
    case Shape::Map:
      return each_entry(type, desired, live,
                        [](const Type& t, const void* wanted, const void* there) { return covers(t, there, wanted); });
    case Shape::Record: {
      const void* sample = detail::sample_of(type);
      return std::ranges::all_of(type.fields, [&](const Field& field) {
        const void* wanted = detail::member(desired, field);
        return detail::omitted(field, wanted, detail::sample_of(field, sample)) ||
               covers_field(field, detail::member(live, field), wanted);
      });
    }
    default: return equal_leaf(type, live, desired);
  }
}

}  // namespace kopper::meta
