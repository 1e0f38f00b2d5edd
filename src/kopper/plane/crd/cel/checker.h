#pragma once

#include <vector>

#include "kopper/plane/crd/cel/ast.h"
#include "kopper/plane/crd/cel/program.h"
#include "kopper/plane/crd/cel/type.h"

namespace kopper::plane::cel {

struct Checked {
  Type type;
  bool uses_old_self = false;
  std::vector<Issue> issues;
};

// Finds the types of an expression; rewrites names of members and of functions with a prefix to what they stand for.
Checked check(Node& root, const Environment& environment);

}  // namespace kopper::plane::cel
