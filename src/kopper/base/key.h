#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace kopper {

// Names one object of a kind. A cluster-scoped object has an empty namespace.
// Not an aggregate on purpose: g++ 12 miscompiles aggregates built inside an awaited call, and
// `co_await api.get({"ns", "name"})` must be right.
struct Key {
  Key() = default;
  Key(std::string ns, std::string n) : namespace_(std::move(ns)), name(std::move(n)) {}

  std::string namespace_;
  std::string name;

  // "namespace/name", or "name" for a cluster-scoped object.
  std::string str() const;
  // The reverse: everything before the first '/' is the namespace.
  static Key parse(std::string_view text);

  friend auto operator<=>(const Key&, const Key&) = default;
};

}  // namespace kopper

template <>
struct std::hash<kopper::Key> {
  std::size_t operator()(const kopper::Key& key) const noexcept;
};
