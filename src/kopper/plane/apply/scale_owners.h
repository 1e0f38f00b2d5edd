#pragma once

#include <string_view>

#include "kopper/json/value.h"
#include "kopper/plane/apply/field_set.h"

// A Scale is a view of an object, and so are its owners: those of one field.
namespace kopper::plane {

// metadata.managedFields of the Scale: who owns the replicas of the object, which it has at `path`.
json::Value scale_owners(const json::Value& managed_fields, FieldPath path);

// metadata.managedFields of the object after its Scale was applied. Who owns the replicas by `of_scale` owns them here,
// in `api_version`; nobody else does.
json::Value with_scale_owners(const json::Value& managed_fields, const json::Value& of_scale, FieldPath path,
                              std::string_view api_version);

}  // namespace kopper::plane
