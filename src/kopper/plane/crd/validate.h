#pragma once

#include "kopper/json/value.h"
#include "kopper/plane/crd/crd_schema.h"
#include "kopper/plane/problems.h"

namespace kopper::plane {

struct CustomCheck {
  // Of an update: what was stored. What did not change is not held against it, and rules see it as oldSelf.
  const json::Value* old = nullptr;
  // An update of the status subresource: the schema of `status` only, all rules.
  bool status_only = false;
  // `subresources.scale` of the version, when it has one.
  const json::Value* scale = nullptr;
};

// What is wrong with a custom resource by its schema, in the words of kube-apiserver: types, bounds, formats, embedded
// resources, lists that are sets or maps, and the rules in x-kubernetes-validations. Names and the rest of metadata
// are the caller's.
Problems check_custom_resource(const json::Value& object, const CrdSchema& schema, CustomCheck how = CustomCheck());

}  // namespace kopper::plane
