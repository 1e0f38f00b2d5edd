#pragma once

#include "kopper/api/gen/meta_v1.h"

namespace kopper::client {

// All that a metadata-only client knows of an object.
struct PartialObject {
  api::metav1::ObjectMeta metadata;
};

}  // namespace kopper::client
