#include "kopper/plane/schema.h"

#include <algorithm>
#include <numeric>

#include "kopper/base/error.h"
#include "kopper/meta/reflect.h"
#include "kopper/plane/apply/atomic_types.h"
#include "kopper/plane/builtin/go_json.h"

namespace kopper::plane {
namespace {

using meta::Shape;

// A pointer in Go may be absent; a plain struct, number or required text is always written, and a required list that
// holds nothing is null. Where a table of ours does not say which it is, go_json.h does.
Member::Blank blank_of(const meta::Type& record, const meta::Field& field) {
  if (const builtin::GoField* known = builtin::go_field(record, field.name)) return known->blank;
  switch (field.type->shape) {
    case Shape::Record: return Member::Blank::Always;
    case Shape::Bool:
    case Shape::Int32:
    case Shape::Int64:
    case Shape::Uint32:
    case Shape::Uint64:
    case Shape::Double: return field.omit_zero ? Member::Blank::Omit : Member::Blank::Always;
    case Shape::String: return field.required ? Member::Blank::Always : Member::Blank::Omit;
    case Shape::Bytes:
    case Shape::List:
    case Shape::Map: return field.required ? Member::Blank::Null : Member::Blank::Omit;
    // A time that is no pointer; quantities and ports that are none stand in go_json.h.
    case Shape::Scalar:
      return field.type->schema().text("format") == "date-time" ? Member::Blank::Null : Member::Blank::Keep;
    default: return Member::Blank::Keep;
  }
}

// An order in which most names differ by their length already.
bool shorter_first(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

// Of a scalar with its own text form, from what it tells OpenAPI.
Schema of_scalar(const meta::Type& type) {
  const json::Value said = type.schema();
  Schema out;
  out.format = said.text("format");
  const std::string_view name = said.text("type");
  if (said["x-kubernetes-int-or-string"].as_bool() != nullptr || said["anyOf"].is_array()) {
    out.type = Schema::Type::IntOrString;
    if (out.format.empty()) out.format = "int-or-string";
    if (said["pattern"].is_string()) out.format = "quantity";
  } else if (name == "string") {
    out.type = Schema::Type::String;
  } else if (name == "integer") {
    out.type = Schema::Type::Integer;
  } else if (name == "number") {
    out.type = Schema::Type::Number;
  } else if (name == "object") {
    out.type = Schema::Type::Object;
    out.preserve_unknown = true;
  } else {
    out.preserve_unknown = true;
  }
  return out;
}

}  // namespace

Members::Members(std::vector<Member> members) : list_(std::move(members)), by_name_(list_.size()) {
  std::iota(by_name_.begin(), by_name_.end(), std::uint16_t{0});
  std::ranges::sort(by_name_, shorter_first, [&](std::uint16_t i) { return std::string_view(list_[i].name); });
  always_ = static_cast<std::size_t>(std::ranges::count_if(list_, &Member::is_always));
}

const Member* Members::find(std::string_view name) const {
  const auto at = std::ranges::lower_bound(by_name_, name, shorter_first,
                                           [&](std::uint16_t i) { return std::string_view(list_[i].name); });
  return at != by_name_.end() && list_[*at].name == name ? &list_[*at] : nullptr;
}

const Member* Members::find(std::string_view name, std::size_t& guess) const {
  constexpr std::size_t kAhead = 3;
  const Member* found = nullptr;
  for (std::size_t i = guess; found == nullptr && i < std::min(guess + kAhead, list_.size()); ++i)
    if (list_[i].name == name) found = &list_[i];
  if (found == nullptr) found = find(name);
  if (found != nullptr) guess = static_cast<std::size_t>(found - list_.data()) + 1;
  return found;
}

const Schema* Schema::child(std::string_view name) const {
  if (members != nullptr)
    if (const Member* member = members->find(name)) return member->schema;
  return values;
}

Schema& SchemaPool::add(Schema schema) { return schemas_.emplace_back(std::move(schema)); }

const Members* SchemaPool::add(std::vector<Member> members) { return &members_.emplace_back(std::move(members)); }

const Schema& BuiltinSchemas::of(const meta::Type& type) {
  if (type.shape == Shape::Optional) return of(*type.element);
  const auto known = known_.find(&type);
  if (known != known_.end()) return *known->second;
  Schema& out = pool_.add();
  known_.emplace(&type, &out);  // before its members: types hold themselves
  const auto simple = [&](Schema::Type t, const char* format) {
    out.type = t;
    out.format = format;
  };
  switch (type.shape) {
    case Shape::Bool: simple(Schema::Type::Boolean, ""); break;
    case Shape::Int32: simple(Schema::Type::Integer, "int32"); break;
    case Shape::Int64:
    case Shape::Uint32:
    case Shape::Uint64: simple(Schema::Type::Integer, "int64"); break;
    case Shape::Double: simple(Schema::Type::Number, "double"); break;
    case Shape::String:
    case Shape::Enum: simple(Schema::Type::String, ""); break;
    case Shape::Bytes: simple(Schema::Type::String, "byte"); break;
    case Shape::Scalar:
    case Shape::Custom: out = of_scalar(type); break;
    case Shape::Value:
    case Shape::Optional: out.preserve_unknown = true; break;
    case Shape::List:
      out.type = Schema::Type::List;
      out.items = &of(*type.element);
      break;
    case Shape::Map:
      out.type = Schema::Type::Object;
      out.values = &of(*type.element);
      break;
    case Shape::Record: {
      out.type = Schema::Type::Object;
      out.atomic = is_atomic_type(type);
      std::vector<Member> members;
      members.reserve(type.fields.size() + 2);
      if (type.kind != nullptr) {
        const Schema& text = of(meta::type_of<std::string>());
        members.push_back({.name = "kind", .schema = &text});
        members.push_back({.name = "apiVersion", .schema = &text});
      }
      for (const meta::Field& field : type.fields) {
        Member member{.name = std::string(field.name), .schema = &of_field(field), .required = field.required};
        member.blank = blank_of(type, field);
        if (!field.default_json.empty()) {
          auto value = json::parse(field.default_json);
          if (!value) throw_error(value.error(), field.name);
          member.default_value = std::move(*value);
        }
        members.push_back(std::move(member));
      }
      out.members = pool_.add(std::move(members));
      break;
    }
  }
  out.builtin = &type;
  return out;
}

// How a list or object merges is said by the field, not by its type.
const Schema& BuiltinSchemas::of_field(const meta::Field& field) {
  const Schema& plain = of(*field.type);
  if (field.topology == Topology::Default || field.topology == Topology::Granular) return plain;
  Schema own = plain;  // a record that is being made has no members yet; none of those is atomic inside itself
  if (field.topology == Topology::Atomic) {
    own.atomic = true;
  } else if (own.type == Schema::Type::List) {
    own.list = field.topology == Topology::Set ? Schema::List::Set : Schema::List::Map;
    own.keys.assign(field.map_keys.begin(), field.map_keys.end());
  }
  return pool_.add(std::move(own));
}

}  // namespace kopper::plane
