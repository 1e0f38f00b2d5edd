#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/json/value.h"
#include "kopper/plane/schema.h"

// The Common Expression Language, as far as the rules in x-kubernetes-validations speak it.
namespace kopper::plane::cel {

enum class Result : std::uint8_t { Bool, String };

// What the names in an expression are.
struct Environment {
  const Schema* self = nullptr;
  bool optional_old_self = false;  // oldSelf is an optional
  // Instead of self and oldSelf: members of the object that run() gets as `self`, of any type.
  std::vector<std::string_view> names;
};

struct Inputs {
  const json::Value* self = nullptr;
  const json::Value* old_self = nullptr;  // null: there is none
  const Schema* schema = nullptr;         // of both
};

struct Answer {
  bool value = false;
  std::string text;
  std::string error;  // "" when it has a value
  bool too_costly = false;
  std::uint64_t cost = 0;
};

// A rule that has been parsed and whose types have been checked. Immutable; cheap to copy.
class Program {
 public:
  // The error is what kube-apiserver says: "compilation failed: ERROR: <input>:1:6: undefined field 'x'\n | …".
  // What this evaluator does not know is such an error as well, never a rule that always holds.
  static std::expected<Program, std::string> compile(std::string_view text, const Environment& environment,
                                                     Result result);

  bool uses_old_self() const;
  // What one run may cost at least by the estimate of kube-apiserver (cost.h).
  double least_cost() const;
  // Stops with an error once it has cost more than `limit`.
  Answer run(const Inputs& inputs, std::uint64_t limit) const;

 private:
  struct Code;
  explicit Program(std::shared_ptr<const Code> code);

  std::shared_ptr<const Code> code_;
};

}  // namespace kopper::plane::cel
