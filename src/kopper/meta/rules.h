#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

#include "kopper/meta/detail/names.h"
#include "kopper/meta/kind.h"

namespace kopper {

// A number that stays an integer when it was written as one.
class Number {
 public:
  constexpr Number(std::integral auto v) : integer_(static_cast<std::int64_t>(v)), is_integer_(true) {}
  constexpr Number(double v) : real_(v) {}

  constexpr bool is_integer() const { return is_integer_; }
  constexpr std::int64_t integer() const { return integer_; }
  constexpr double real() const { return is_integer_ ? static_cast<double>(integer_) : real_; }

 private:
  std::int64_t integer_ = 0;
  double real_ = 0;
  bool is_integer_ = false;
};

// A rule in the Common Expression Language, checked by the API server.
struct Cel {
  std::string_view rule;
  std::string_view message{};
};

// How server-side apply merges a list or an object; Default is atomic for lists and granular for objects.
enum class Topology : unsigned char { Default, Atomic, Set, Map, Granular };

// What a rule says, as data; empty means nothing said. Read by schema.h.
struct RuleData {
  enum class Target : unsigned char { Field, Items, Whole };
  Target target = Target::Field;
  std::string_view field{};  // JSON name
  std::optional<Number> minimum{}, maximum{}, multiple_of{};
  bool exclusive_minimum = false, exclusive_maximum = false;
  std::optional<std::int64_t> min_length{}, max_length{}, min_items{}, max_items{}, min_properties{}, max_properties{};
  std::string_view pattern{}, format{}, doc{}, default_json{};
  ConstList<std::string_view, 24> one_of{};
  ConstList<Cel, 6> cel{};
  Topology topology = Topology::Default;
  ConstList<std::string_view, 4> map_keys{};
  bool required = false, nullable = false, no_default = false;
  bool preserve_unknown = false, embedded_resource = false, int_or_string = false;
};

// What the API server must check of a field, one short word a constraint, in any order:
//
//   struct Spec {
//     int32_t size = 1;
//     std::vector<Port> ports;
//     static constexpr auto rules = kopper::rules(kopper::field<&Spec::size>.min(1).max(5).doc("How many."),
//                                                 kopper::field<&Spec::ports>.list_map({"name"}),
//                                                 kopper::object.cel("self.size > 0 || self.ports.size() == 0"));
//   };
class Rule {
 public:
  constexpr explicit Rule(RuleData data) : d_(data) {}
  constexpr const RuleData& data() const { return d_; }

  // clang-format off
  constexpr Rule min(Number v) const { auto r = *this; r.d_.minimum = v; return r; }
  constexpr Rule max(Number v) const { auto r = *this; r.d_.maximum = v; return r; }
  constexpr Rule above(Number v) const { auto r = *this; r.d_.minimum = v; r.d_.exclusive_minimum = true; return r; }
  constexpr Rule below(Number v) const { auto r = *this; r.d_.maximum = v; r.d_.exclusive_maximum = true; return r; }
  constexpr Rule multiple_of(Number v) const { auto r = *this; r.d_.multiple_of = v; return r; }

  constexpr Rule min_length(std::int64_t v) const { auto r = *this; r.d_.min_length = v; return r; }
  constexpr Rule max_length(std::int64_t v) const { auto r = *this; r.d_.max_length = v; return r; }
  constexpr Rule pattern(std::string_view re2) const { auto r = *this; r.d_.pattern = re2; return r; }
  constexpr Rule format(std::string_view v) const { auto r = *this; r.d_.format = v; return r; }
  constexpr Rule one_of(std::initializer_list<std::string_view> v) const { auto r = *this; r.d_.one_of = v; return r; }

  constexpr Rule min_items(std::int64_t v) const { auto r = *this; r.d_.min_items = v; return r; }
  constexpr Rule max_items(std::int64_t v) const { auto r = *this; r.d_.max_items = v; return r; }
  constexpr Rule min_properties(std::int64_t v) const { auto r = *this; r.d_.min_properties = v; return r; }
  constexpr Rule max_properties(std::int64_t v) const { auto r = *this; r.d_.max_properties = v; return r; }

  // How server-side apply merges the list: items told apart by keys; a set of scalars; or as one value (the default).
  constexpr Rule list_map(std::initializer_list<std::string_view> keys) const {
    auto r = *this; r.d_.topology = Topology::Map; r.d_.map_keys = keys; return r;
  }
  constexpr Rule list_set() const { auto r = *this; r.d_.topology = Topology::Set; return r; }
  // A list, map or object that has one owner as a whole.
  constexpr Rule atomic() const { auto r = *this; r.d_.topology = Topology::Atomic; return r; }

  constexpr Rule required() const { auto r = *this; r.d_.required = true; return r; }
  constexpr Rule nullable() const { auto r = *this; r.d_.nullable = true; return r; }
  // The default in the schema, as JSON, instead of the member initialiser's value; no_default(): none.
  constexpr Rule default_json(std::string_view json) const { auto r = *this; r.d_.default_json = json; return r; }
  constexpr Rule no_default() const { auto r = *this; r.d_.no_default = true; return r; }

  constexpr Rule cel(std::string_view rule, std::string_view message = {}) const {
    auto r = *this; r.d_.cel.push_back({rule, message}); return r;
  }
  // May not change once it is set.
  constexpr Rule immutable() const { return cel("self == oldSelf", "is immutable"); }

  constexpr Rule doc(std::string_view text) const { auto r = *this; r.d_.doc = text; return r; }
  // The server keeps members that the schema does not name.
  constexpr Rule preserve_unknown() const { auto r = *this; r.d_.preserve_unknown = true; return r; }
  // A whole Kubernetes object: the server checks its apiVersion, kind and metadata.
  constexpr Rule embedded_resource() const { auto r = *this; r.d_.embedded_resource = true; return r; }
  constexpr Rule int_or_string() const { auto r = *this; r.d_.int_or_string = true; return r; }
  // clang-format on

 private:
  RuleData d_;
};

// The rules of a member: field<&Spec::size>.min(1).
template <auto Member>
inline constexpr Rule field{RuleData{.field = meta::detail::name_of<Member>()}};
// The rules of each element of a list or map member: items<&Spec::hosts>.pattern("^[a-z]+$").
template <auto Member>
inline constexpr Rule items{RuleData{.target = RuleData::Target::Items, .field = meta::detail::name_of<Member>()}};
// The rules of the struct as a whole: object.cel("self.min <= self.max").
inline constexpr Rule object{RuleData{.target = RuleData::Target::Whole}};

template <std::same_as<Rule>... R>
constexpr std::array<Rule, sizeof...(R)> rules(R... all) {
  return {all...};
}

}  // namespace kopper
