#pragma once

#include "kopper/plane/crd/cel/ast.h"
#include "kopper/plane/schema.h"

// What a rule may cost, known before there is any object. kube-apiserver estimates the most that it can cost and
// refuses rules that can cost too much. Here the loops are counted and nothing else, so that this is never more than
// the real server's estimate: what is refused by it is refused there as well.
namespace kopper::plane::cel {

double least_cost(const Node& rule, const Schema& self);

// How many items or entries a value can have: what its schema says, else what fits in a request.
double most_items(const Schema& list_or_map);
// How often a value of this schema fits in a request.
double most_in_a_request(const Schema& schema);

}  // namespace kopper::plane::cel
