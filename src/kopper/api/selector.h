#pragma once

#include <compare>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/labels.h"
#include "kopper/base/error.h"

namespace kopper::api {

namespace metav1 {
struct LabelSelector;
}

// One condition on one label. `values` is sorted and without doubles.
struct Requirement {
  enum class Op : std::uint8_t { Equals, NotEquals, In, NotIn, Exists, DoesNotExist, GreaterThan, LessThan };

  std::string key;
  Op op = Op::Exists;
  std::vector<std::string> values;

  bool matches(const Labels& labels) const;
  // The same for who keeps labels in another way: what `key` has, or nothing.
  bool matches_value(std::optional<std::string_view> value) const;
  std::string str() const;

  // By key first.
  friend auto operator<=>(const Requirement&, const Requirement&) = default;
};

// Selects objects by their labels; all requirements must hold, and none selects everything.
class Selector {
 public:
  Selector() = default;

  // What kubectl and the API take: "a=b,c!=d,e in (x,y),f notin (z),g,!h,i>3". Keys and values are checked.
  static std::expected<Selector, DecodeError> parse(std::string_view text);
  // a=b for each label.
  static Selector of(const Labels& labels);
  // Of a workload or a network policy. An empty one selects everything; what an absent one means is up to its field.
  static std::expected<Selector, DecodeError> from(const metav1::LabelSelector& selector);
  static Selector everything() { return {}; }

  bool matches(const Labels& labels) const;
  bool empty() const { return requirements_.empty(); }
  // Sorted.
  const std::vector<Requirement>& requirements() const { return requirements_; }
  // As a query parameter; parse(str()) is the same selector.
  std::string str() const;

  // Takes a requirement that the caller knows to be valid.
  Selector& add(Requirement requirement);

  friend bool operator==(const Selector&, const Selector&) = default;

 private:
  std::vector<Requirement> requirements_;
};

// Selects objects by fields that the server knows: "status.phase!=Failed,metadata.name=web". In values '\' escapes
// itself,
// ',' and '='.
class FieldSelector {
 public:
  struct Term {
    std::string field;
    bool equal = true;
    std::string value;

    friend auto operator<=>(const Term&, const Term&) = default;
  };

  FieldSelector() = default;
  static std::expected<FieldSelector, DecodeError> parse(std::string_view text);
  static FieldSelector of(std::string field, std::string value);

  // `lookup` gives the field's value; nothing means that there is no such field, which then counts as "".
  bool matches(const std::function<std::optional<std::string>(std::string_view field)>& lookup) const;
  // The value that `field` must have, when the selector says so.
  std::optional<std::string> exact(std::string_view field) const;
  bool empty() const { return terms_.empty(); }
  const std::vector<Term>& terms() const { return terms_; }
  std::string str() const;

  friend bool operator==(const FieldSelector&, const FieldSelector&) = default;

 private:
  std::vector<Term> terms_;  // sorted
};

}  // namespace kopper::api
