#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace kopper {

// A short list inside a constant. Writing more than N elements does not compile.
template <class T, std::size_t N>
class ConstList {
 public:
  constexpr ConstList() = default;
  constexpr ConstList(std::initializer_list<T> items) {
    for (const T& item : items) push_back(item);
  }

  constexpr void push_back(const T& item) { items_.at(size_++) = item; }

  constexpr const T* begin() const { return items_.data(); }
  constexpr const T* end() const { return items_.data() + size_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T& operator[](std::size_t i) const { return items_[i]; }

 private:
  std::array<T, N> items_{};
  std::size_t size_ = 0;
};

enum class Scope : unsigned char { Namespaced, Cluster };

// A column of `kubectl get`. An empty name, type or path is not allowed by the server.
struct Column {
  std::string_view name;
  std::string_view type;  // integer, number, string, boolean, date
  std::string_view path;  // ".spec.size"
  int priority = 0;       // above 0: only with -o wide
  std::string_view description{};
  std::string_view format{};
};

// Where the scale subresource finds its numbers. All empty: no scale subresource.
struct Scale {
  std::string_view spec_replicas{};    // ".spec.replicas"
  std::string_view status_replicas{};  // ".status.replicas"
  std::string_view selector{};         // ".status.selector"
};

// Names an API type and says what the server must know of it. Constant, so that it lives inside the type:
//
//   struct Memcached {
//     static constexpr kopper::Kind kind{"cache.example.com", "v1alpha1", "Memcached"};
//     static constexpr kopper::Kind kind{.group = "ualter.com", .version = "v1beta1", .kind = "Podbuggertool",
//                                        .short_names = {"pbt"}, .columns = {{"Ready", "integer", ".status.ready"}}};
//
// Everything after `kind` matters only for the types that we define (see crd.h), but for plural and scope.
struct Kind {
  std::string_view group{};  // "" for core
  std::string_view version{};
  std::string_view kind{};
  std::string_view plural{};    // default: the English plural of kind, lower-case
  std::string_view singular{};  // default: kind, lower-case
  ConstList<std::string_view, 6> short_names{};
  ConstList<std::string_view, 6> categories{};
  Scope scope = Scope::Namespaced;
  ConstList<Column, 12> columns{};
  Scale scale{};
  bool served = true;
  bool storage = true;            // of several versions, crd<V1, V2>() wants exactly one with true
  std::string_view deprecated{};  // a warning for those who use this version

  // "apps/v1", or "v1" for core.
  std::string api_version() const;
  std::string plural_name() const;
  std::string singular_name() const;
  // "memcacheds.cache.example.com", the name of its CustomResourceDefinition.
  std::string resource_name() const;
};

// The same type: group, version and kind.
constexpr bool operator==(const Kind& a, const Kind& b) {
  return a.group == b.group && a.version == b.version && a.kind == b.kind;
}

}  // namespace kopper
