#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/plane/crd/cel/value.h"
#include "kopper/plane/crd/pattern.h"

namespace kopper::plane::cel {

struct Node;
using NodePtr = std::unique_ptr<Node>;

enum class Macro : std::uint8_t {
  All,
  Exists,
  ExistsOne,
  Map,
  Filter,
  SortBy,
  TransformList,
  TransformMap,
  OptMap,
  OptFlatMap
};

// Operators are calls of functions named as the specification names them: "_+_", "!_", "_[_]", "@in".
struct Node {
  enum class Kind : std::uint8_t {
    Literal,
    Name,
    Select,  // args[0].name; `optional`: args[0].?name
    Has,     // has(args[0].name)
    Call,    // name(args…)
    Method,  // args[0].name(args[1]…)
    And,     // of all args
    Or,
    Choose,  // args[0] ? args[1] : args[2]
    List,
    Map,   // args: key, value, key, value …
    Fold,  // a macro over args[0]; the bodies see `variables`
  };

  Kind kind;
  std::size_t at = 0;  // where in the text, in characters; what an error points at
  std::string name;
  Value literal;
  std::vector<NodePtr> args;
  std::vector<bool> optionals;  // List, Map: entries written with a question mark
  bool optional = false;
  Macro macro = Macro::All;
  std::vector<std::string> variables;
  std::size_t depth = 1;
  std::optional<Pattern> pattern;  // Call, Method of matches: when it is written out
};

struct Issue {
  std::size_t at = 0;
  std::string what;
};

// "ERROR: <input>:1:6: what\n | the line\n | .....^", one after another.
std::string issues_text(std::string_view source, const std::vector<Issue>& issues);

std::expected<NodePtr, std::vector<Issue>> parse(std::string_view text);

}  // namespace kopper::plane::cel
