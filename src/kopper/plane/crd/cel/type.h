#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kopper/plane/schema.h"

namespace kopper::plane::cel {

// What the checker knows of a value before there is one.
struct Type {
  enum class Kind : std::uint8_t {
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    List,
    Map,
    Object,
    Duration,
    Timestamp,
    Quantity,
    Ip,
    Cidr,
    Url,
    Semver,
    Optional,
    TypeType,
    Param,
    Error,
  };

  Kind kind = Kind::Dyn;
  std::vector<Type> of;            // List: items; Map: keys and values; Optional: what it holds
  const Schema* schema = nullptr;  // Object
  char param = 0;                  // Param, in the signatures of functions

  bool is(Kind k) const { return kind == k; }
  std::string str() const;
  friend bool operator==(const Type&, const Type&) = default;
};

Type list_of(Type items);
Type map_of(Type keys, Type values);
Type optional_of(Type inner);

// Of what a schema describes; nothing when rules cannot see it.
std::optional<Type> type_of(const Schema& schema);

}  // namespace kopper::plane::cel
