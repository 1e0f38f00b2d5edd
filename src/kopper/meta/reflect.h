#pragma once

#include <map>
#include <optional>
#include <type_traits>
#include <vector>

#include "kopper/meta/box.h"
#include "kopper/meta/detail/bind.h"
#include "kopper/meta/type.h"

// Makes the tables of type.h for the types that have no table of their own. Everything here happens in the compiler.
namespace kopper::meta::detail {

// Stands for any member while members are counted.
struct Any {
  template <class T>
  operator T() const noexcept {
    __builtin_trap();
  }
};
template <std::size_t>
using AnyAt = Any;

template <class T, std::size_t... I>
consteval bool takes(std::index_sequence<I...>) {
  return requires { T{AnyAt<I>{}...}; };
}

// How many members: the largest count of initialisers that T takes, by bisection.
template <class T, std::size_t Low = 0, std::size_t High = (sizeof(T) < kMaxMembers ? sizeof(T) : kMaxMembers) + 1>
consteval std::size_t arity() {
  if constexpr (High - Low <= 1) {
    return Low;
  } else {
    constexpr std::size_t middle = Low + (High - Low) / 2;
    if constexpr (takes<T>(std::make_index_sequence<middle>{}))
      return arity<T, middle, High>();
    else
      return arity<T, Low, middle>();
  }
}

template <auto P>
using MemberType = std::remove_cvref_t<decltype(*P)>;

// What rules(…) says of a member that the codec and the merges must know too.
constexpr void apply_rules(Field& field, std::span<const Rule> rules) {
  for (const Rule& rule : rules) {
    const RuleData& d = rule.data();
    if (d.target != RuleData::Target::Field || d.field != field.name) continue;
    field.required = field.required || d.required;
    if (d.topology == Topology::Default) continue;
    field.topology = d.topology;
    field.map_keys = {d.map_keys.begin(), d.map_keys.end()};
  }
}

template <class T>
concept HasRules = requires { std::span<const Rule>(T::rules); };

template <class T, auto... P>
consteval auto make_fields(Members<P...>) {
  std::array<Field, sizeof...(P)> out{
      Field{.name = name_of<P>(), .offset = 0, .type = &TypeOf<MemberType<P>>::type}...};
  // Members lie one after another, each at the next multiple of its alignment; the check below makes sure of it.
  std::size_t end = 0, widest = 1, i = 0;
  [[maybe_unused]] const auto place = [&](std::size_t size, std::size_t align) {
    const std::size_t offset = (end + align - 1) / align * align;
    out[i++].offset = static_cast<std::uint32_t>(offset);
    end = offset + size;
    widest = align > widest ? align : widest;
  };
  (place(sizeof(MemberType<P>), alignof(MemberType<P>)), ...);
  const std::size_t size = end == 0 ? 1 : (end + widest - 1) / widest * widest;
  if (size != sizeof(T) || widest != alignof(T))
    throw "alignas, bit-fields and [[no_unique_address]] are not supported";
  if constexpr (HasRules<T>)
    for (Field& field : out) apply_rules(field, T::rules);
  return out;
}

template <class T>
inline constexpr auto fields_of = make_fields<T>(decltype(bind<T, arity<T>()>()){});

template <class T>
consteval bool rules_match() {
  if constexpr (HasRules<T>) {
    for (const Rule& rule : T::rules) {
      bool found = rule.data().target == RuleData::Target::Whole;
      for (const Field& field : fields_of<T>) found = found || field.name == rule.data().field;
      if (!found) return false;
    }
  }
  return true;
}

template <class T>
const void* defaults_of() {
  static const T value{};
  return &value;
}

template <class T>
consteval Type reflect() {
  static_assert(std::is_class_v<T> && std::is_aggregate_v<T>,
                "not a type that JSON can hold: use a plain struct, or specialise kopper::meta::Codec");
  static_assert(!takes<T>(std::make_index_sequence<kMaxMembers + 1>{}),
                "more members than detail/bind.h counts to: group some of them in a struct");
  static_assert(rules_match<T>(), "rules names a member of another struct");
  Type t = record<T>(fields_of<T>);
  if constexpr (std::is_default_constructible_v<T>) t.defaults = defaults_of<T>;
  return t;
}

inline constexpr int kMaxEnumerators = 64;

template <class E, int... I>
consteval auto enumerators(std::integer_sequence<int, I...>) {
  return std::array<std::string_view, sizeof...(I)>{name_of<static_cast<E>(I)>()...};
}
template <class E>
inline constexpr auto enumerators_of = enumerators<E>(std::make_integer_sequence<int, kMaxEnumerators>{});

template <class T>
consteval Type enumeration() {
  static_assert(std::is_scoped_enum_v<T>, "only an enum class has names in JSON");
  return {.shape = Shape::Enum, .size = sizeof(T), .names = enumerators_of<T>};
}

template <class T>
constexpr Type optional_like() {
  return {.shape = Shape::Optional,
          .size = sizeof(T),
          .element = &TypeOf<typename T::value_type>::type,
          .add = [](void* c, std::string_view) -> void* { return &static_cast<T*>(c)->emplace(); },
          .clear = [](void* c) { static_cast<T*>(c)->reset(); },
          .items = [](const void* c) -> std::pair<const void*, std::size_t> {
            const T& optional = *static_cast<const T*>(c);
            return {optional.has_value() ? &*optional : nullptr, optional.has_value() ? 1 : 0};
          }};
}

template <class T>
constexpr Type list() {
  static_assert(!std::is_same_v<typename T::value_type, bool>, "std::vector<bool> has no elements to point to");
  return {.shape = Shape::List,
          .size = sizeof(T),
          .element = &TypeOf<typename T::value_type>::type,
          .add = [](void* c, std::string_view) -> void* { return &static_cast<T*>(c)->emplace_back(); },
          .clear = [](void* c) { static_cast<T*>(c)->clear(); },
          .items = [](const void* c) -> std::pair<const void*, std::size_t> {
            return {static_cast<const T*>(c)->data(), static_cast<const T*>(c)->size()};
          }};
}

template <class T>
constexpr Type map() {
  // Servers send maps sorted, so the end is the right place to try first.
  return {.shape = Shape::Map,
          .size = sizeof(T),
          .element = &TypeOf<typename T::mapped_type>::type,
          .add = [](void* c, std::string_view key) -> void* {
            T& map = *static_cast<T*>(c);
            return &map.try_emplace(map.end(), std::string(key))->second;
          },
          .clear = [](void* c) { static_cast<T*>(c)->clear(); },
          .size_of = [](const void* c) -> std::size_t { return static_cast<const T*>(c)->size(); },
          .each =
              [](const void* c, Type::Visit visit, void* context) {
                for (const auto& [key, value] : *static_cast<const T*>(c)) visit(context, key, &value);
              },
          .find = [](const void* c, const std::string& key) -> const void* {
            const T& map = *static_cast<const T*>(c);
            const auto it = map.find(key);
            return it == map.end() ? nullptr : &it->second;
          }};
}

template <class T>
constexpr Type codec() {
  using C = Codec<T>;
  Type t{.shape = Shape::Custom, .size = sizeof(T)};
  if constexpr (requires(T& out, Token token) { C::read(token, out); }) {
    t.shape = Shape::Scalar;
    t.read = [](Token token, void* out) -> bool { return C::read(token, *static_cast<T*>(out)); };
    t.write = [](const void* v, json::Writer& out) { C::write(*static_cast<const T*>(v), out); };
  } else {
    t.from_value = [](const json::Value& value, void* out) -> std::string {
      auto result = C::from_value(value);
      if (!result) return result.error();
      *static_cast<T*>(out) = std::move(*result);
      return {};
    };
    t.to_value = [](const void* v) -> json::Value { return C::to_value(*static_cast<const T*>(v)); };
  }
  if constexpr (requires(const T& v) { C::empty(v); })
    t.empty = [](const void* v) -> bool { return C::empty(*static_cast<const T*>(v)); };
  t.equal = [](const void* a, const void* b) -> bool { return *static_cast<const T*>(a) == *static_cast<const T*>(b); };
  t.schema = [] { return C::schema(); };
  return t;
}

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_optional<Box<T>> = true;
template <class T>
inline constexpr bool is_list = false;
template <class T, class A>
inline constexpr bool is_list<std::vector<T, A>> = true;
template <class T>
inline constexpr bool is_map = false;
template <class T, class L, class A>
inline constexpr bool is_map<std::map<std::string, T, L, A>> = true;

template <class T>
constexpr Type make_type() {
  constexpr auto plain = [](Shape shape) { return Type{.shape = shape, .size = sizeof(T)}; };
  if constexpr (requires { &Codec<T>::schema; })
    return codec<T>();
  else if constexpr (std::is_same_v<T, bool>)
    return plain(Shape::Bool);
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return plain(Shape::Int32);
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return plain(Shape::Int64);
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return plain(Shape::Uint32);
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return plain(Shape::Uint64);
  else if constexpr (std::is_same_v<T, double>)
    return plain(Shape::Double);
  else if constexpr (std::is_same_v<T, std::string>)
    return plain(Shape::String);
  else if constexpr (std::is_same_v<T, Bytes>)
    return plain(Shape::Bytes);
  else if constexpr (std::is_same_v<T, json::Value>)
    return plain(Shape::Value);
  else if constexpr (std::is_enum_v<T>)
    return enumeration<T>();
  else if constexpr (is_optional<T>)
    return optional_like<T>();
  else if constexpr (is_list<T>)
    return list<T>();
  else if constexpr (is_map<T>)
    return map<T>();
  else
    return reflect<T>();
}

}  // namespace kopper::meta::detail

namespace kopper::meta {

template <class T>
constinit const Type TypeOf<T>::type = detail::make_type<T>();

}  // namespace kopper::meta
