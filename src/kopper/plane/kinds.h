#pragma once

#include "kopper/plane/resource.h"

namespace kopper::plane {

// The built-in kinds, served as kube-apiserver serves them. Called by Catalog.
void add_builtin_kinds(Catalog& catalog);

}  // namespace kopper::plane
