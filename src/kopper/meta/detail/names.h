#pragma once

#include <array>
#include <cstddef>
#include <string_view>

// Names out of the compiler's own spelling of a template argument. The two spellings that occur:
//   g++:   "… [with auto P = (& fake<S>.Holder<S>::value.S::size); std::string_view = …]", "… = &S::size; …"
//   clang: "… [P = &fake.value.size]"
namespace kopper::meta::detail {

template <auto P>
consteval std::string_view spelling() {
  std::string_view s = __PRETTY_FUNCTION__;
  if (const auto semicolon = s.find(';'); semicolon != std::string_view::npos) s = s.substr(0, semicolon);
  while (s.ends_with(')') || s.ends_with(']')) s.remove_suffix(1);
  return s;
}

// The last identifier, without the underscore that keeps it apart from a C++ keyword: template_ -> template.
consteval std::string_view last_name(std::string_view s) {
  s.remove_prefix(s.find_last_of(":.") + 1);
  while (s.size() > 1 && s.ends_with('_')) s.remove_suffix(1);
  return s;
}

// A copy, so that the binary keeps the name and not the whole spelling.
template <auto P>
inline constexpr auto stored_name = [] {
  constexpr std::string_view name = last_name(spelling<P>());
  std::array<char, name.size()> out{};
  for (std::size_t i = 0; i < name.size(); ++i) out[i] = name[i];
  return out;
}();

// P: a pointer to a member, or to a member of a static object.
template <auto P>
consteval std::string_view member_name() {
  return {stored_name<P>.data(), stored_name<P>.size()};
}

// "" when no enumerator has this value: the compiler then spells a cast, "(E)7".
template <auto E>
consteval std::string_view enumerator_name() {
  constexpr std::string_view s = spelling<E>();
  constexpr auto colon = s.rfind(':');
  if constexpr (colon == std::string_view::npos || s.find(')', colon) != std::string_view::npos)
    return {};
  else
    return {stored_name<E>.data(), stored_name<E>.size()};
}

}  // namespace kopper::meta::detail
