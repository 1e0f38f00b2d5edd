#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "kopper/json/value.h"
#include "kopper/meta/kind.h"
#include "kopper/meta/rules.h"

namespace kopper::json {
class Writer;
}

// What the interpreters (decode.h, encode.h, compare.h, schema.h) know of a C++ type: constant tables, no code a type.
//
// type_of<T>() exists for bool, int32_t, int64_t, uint32_t, uint64_t, double, std::string, Bytes, json::Value, scoped
// enums, std::optional, Box, std::vector, std::map<std::string, …>, types with a Codec, and structs of these:
// - a user's aggregate is reflected (include kopper/meta/reflect.h, or decode.h, encode.h …, which do);
// - a generated struct declares its table in its header and defines it in its source, so that users compile nothing:
//
//     struct Labeled { std::string name{}; std::vector<Port> ports{}; };                              // x.h
//     template <> const meta::Type meta::TypeOf<Labeled>::type;
//
//     constexpr std::string_view kPortKeys[] = {"containerPort", "protocol"};                         // x.cc
//     constexpr meta::Field kLabeled[] = {
//         {.name = "name", .offset = offsetof(Labeled, name), .type = &meta::type_of<std::string>(), .required = true},
//         {.name = "ports", .offset = offsetof(Labeled, ports), .type = &meta::type_of<std::vector<Port>>(),
//          .topology = Topology::Map, .map_keys = kPortKeys},
//     };
//     template <> constinit const meta::Type meta::TypeOf<Labeled>::type = meta::record<Labeled>(kLabeled);
//
//   (A struct that holds a std::map needs #pragma GCC diagnostic ignored "-Winvalid-offsetof".)
namespace kopper::meta {

enum class Shape : std::uint8_t {
  Bool,
  Int32,
  Int64,
  Uint32,
  Uint64,
  Double,
  String,
  Bytes,   // base64 in JSON
  Enum,    // the enumerator's name in JSON
  Scalar,  // a string or number that a Codec reads and writes
  Value,   // any JSON
  Custom,  // any JSON that a Codec reads and writes
  Optional,
  List,
  Map,
  Record,
};

struct Type;

struct Field {
  std::string_view name;  // in JSON; at most kMaxName bytes that need no escape
  std::uint32_t offset;
  const Type* type;
  bool required = false;  // in the schema, and written even when empty
  // A plain number, bool or struct that is not written when all of it is 0, false or empty, required or not.
  bool omit_zero = false;

  // Server-side apply: how a list or object merges, and for Map the members that tell items apart.
  Topology topology = Topology::Default;
  std::span<const std::string_view> map_keys{};
  // Strategic merge patch.
  bool patch_merge = false;
  bool patch_retain_keys = false;
  std::string_view patch_merge_key{};

  std::string_view default_json{};  // what the server sets when it is absent
};

inline constexpr std::size_t kMaxName = 128;

// A JSON string (unescaped) or number (as written), for a Codec.
struct Token {
  std::string_view text;
  bool quoted;
};

struct Type {
  Shape shape;
  std::uint32_t size = 0;

  const Type* element = nullptr;              // Optional, List, Map
  std::span<const Field> fields{};            // Record
  std::span<const std::string_view> names{};  // Enum, by value; "" where there is no enumerator
  std::string_view name{};                    // Record: "kopper::api::appsv1::DeploymentSpec"
  const Kind* kind = nullptr;                 // Record that is an object of its own: has apiVersion and kind in JSON
  std::span<const Rule> rules{};              // Record
  const void* (*defaults)() = nullptr;        // Record of a user: one with only member initialisers, for the schema

  // Containers. add() appends to a list, inserts into a map (or finds), fills an optional; it returns the new element.
  void* (*add)(void* container, std::string_view key) = nullptr;
  void (*clear)(void* container) = nullptr;
  std::pair<const void*, std::size_t> (*items)(const void* container) = nullptr;  // Optional (0 or 1), List
  std::size_t (*size_of)(const void* map) = nullptr;
  using Visit = void (*)(void* context, const std::string& key, const void* value);
  void (*each)(const void* map, Visit visit, void* context) = nullptr;
  const void* (*find)(const void* map, const std::string& key) = nullptr;

  // Scalar, Custom.
  bool (*read)(Token token, void* out) = nullptr;
  void (*write)(const void* value, json::Writer& out) = nullptr;
  std::string (*from_value)(const json::Value& value, void* out) = nullptr;  // what is wrong, or ""
  json::Value (*to_value)(const void* value) = nullptr;
  bool (*empty)(const void* value) = nullptr;
  bool (*equal)(const void* a, const void* b) = nullptr;
  json::Value (*schema)() = nullptr;
};

// How a type that is not a struct of known things looks in JSON. Specialise with either
//   static bool read(Token, T&);                     a string or a number; false: not one of these
//   static void write(const T&, json::Writer&);      exactly one value
// or
//   static std::expected<T, std::string> from_value(const json::Value&);
//   static json::Value to_value(const T&);
// and with
//   static json::Value schema();                     {"type": "string", "format": "date-time"}
//   static bool empty(const T&);                     optional: not written when true, unless the field is required
// T must be comparable with ==.
template <class T>
struct Codec;

template <class T>
struct TypeOf {
  static const Type type;  // defined in reflect.h
};

template <class T>
constexpr const Type& type_of() {
  return TypeOf<T>::type;
}

namespace detail {

// Out of "… [with T = kopper::api::appsv1::DeploymentSpec; …]".
template <class T>
constexpr std::string_view name_of() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t from = text.find("T = ") + 4;
  return text.substr(from, text.find_first_of(";]", from) - from);
}

}  // namespace detail

// The table of a struct. T::kind and T::rules are found by themselves.
template <class T>
constexpr Type record(std::span<const Field> fields) {
  Type t{.shape = Shape::Record, .size = sizeof(T), .fields = fields, .name = detail::name_of<T>()};
  if constexpr (requires {
                  { &T::kind } -> std::same_as<const Kind*>;
                })
    t.kind = &T::kind;
  if constexpr (requires { std::span<const Rule>(T::rules); }) t.rules = T::rules;
  return t;
}

}  // namespace kopper::meta

namespace kopper {

// Binary data: base64 in JSON.
struct Bytes {
  std::string data;

  friend bool operator==(const Bytes&, const Bytes&) = default;
};

}  // namespace kopper
