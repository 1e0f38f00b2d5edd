#pragma once

#include <cstddef>
#include <string_view>

// Names out of the compiler's own spelling of a template argument. It ends in one of
//   g++:   "… [with auto P = (& fake<S>.Holder<S>::value.S::size)]", "… = &S::size]", "… = Mode::Fast]", "… = (Mode)7]"
//   clang: "… [P = &fake.value.size]", …
// Plain loops over characters: the compiler runs this for every member of every type.
namespace kopper::meta::detail {

struct Piece {  // std::string_view would be spelled out in the text that we read
  const char* data;
  std::size_t size;
};

// The identifier at the end, without the underscore that keeps it apart from a C++ keyword: template_ -> template.
// Empty when there is none, as for an enum's value that has no name.
template <auto P>
consteval Piece last_name() {
  const char* const text = __PRETTY_FUNCTION__;
  std::size_t end = sizeof __PRETTY_FUNCTION__ - 1;
  while (text[end - 1] == ']' || text[end - 1] == ')') --end;
  std::size_t begin = end;
  while (text[begin - 1] != ':' && text[begin - 1] != '.' && text[begin - 1] != ')' && text[begin - 1] != ' ') --begin;
  if (text[begin - 1] != ':' && text[begin - 1] != '.') return {text, 0};
  while (end - begin > 1 && text[end - 1] == '_') --end;
  return {text + begin, end - begin};
}

// A copy, so that the binary keeps the name and not the whole spelling.
template <std::size_t N>
struct Stored {
  char text[N + 1];
};
template <auto P, std::size_t N = last_name<P>().size>
consteval Stored<N> store() {
  Stored<N> out{};
  const Piece name = last_name<P>();
  for (std::size_t i = 0; i < N; ++i) out.text[i] = name.data[i];
  return out;
}
// The type is an argument of its own: g++ 12 takes two enums of one name in two anonymous namespaces for the same
// otherwise.
template <auto P, class = decltype(P)>
inline constexpr auto stored_name = store<P>();

// P: a pointer to a member or to a member of a static object, or an enumerator.
template <auto P>
consteval std::string_view name_of() {
  return {stored_name<P>.text, sizeof stored_name<P>.text - 1};
}

}  // namespace kopper::meta::detail
