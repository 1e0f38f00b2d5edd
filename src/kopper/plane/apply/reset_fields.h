#pragma once

#include <string_view>

#include "kopper/plane/apply/field_set.h"

namespace kopper::plane {

// Which fields an endpoint writes, and therefore gives owners. Empty: all.
struct FieldFilter {
  const FieldSet* reset = nullptr;  // these, with all below, are not written
  const FieldSet* only = nullptr;   // nothing else is written

  void narrow(FieldSet& fields) const {
    if (reset != nullptr) fields.exclude(*reset);
    if (only != nullptr) fields.only(*only);
  }
};

// Of a built-in resource (its plural) and a subresource ("" for the object itself): `status` is written through
// `deployments/status` and nowhere else.
FieldFilter field_filter(std::string_view group, std::string_view resource, std::string_view subresource);
// Of a custom resource.
FieldFilter custom_field_filter(bool has_status_subresource, std::string_view subresource);

}  // namespace kopper::plane
