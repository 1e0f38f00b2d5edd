#pragma once

#include "kopper/json/value.h"
#include "kopper/plane/problems.h"
#include "kopper/plane/schema.h"

namespace kopper::plane {

// Sets what kube-apiserver sets: names.singular, names.listKind, conversion, the port of its service.
void default_crd(json::Value& crd);

// What is wrong with a CustomResourceDefinition that has its defaults, in the words of kube-apiserver: names, versions,
// schemas (structural, defaults that fit, list types), printer columns, subresources, selectable fields, conversion,
// and rules that do not compile. `old`: what is stored, of an update.
Problems check_crd(const json::Value& crd, BuiltinSchemas& builtins, const json::Value* old = nullptr);

}  // namespace kopper::plane
