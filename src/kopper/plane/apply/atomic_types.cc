#include "kopper/plane/apply/atomic_types.h"

#include "kopper/api/gen/admissionregistration_v1.h"
#include "kopper/api/gen/core_v1.h"
#include "kopper/api/gen/meta_v1.h"

namespace kopper::plane {

bool is_atomic_type(const meta::Type& type) {
  return &type == &meta::type_of<api::metav1::OwnerReference>() ||
         &type == &meta::type_of<api::corev1::ObjectReference>() ||
         &type == &meta::type_of<api::corev1::LocalObjectReference>() ||
         &type == &meta::type_of<api::corev1::EvictionResponder>() ||
         &type == &meta::type_of<api::admissionregistrationv1::Variable>();
}

}  // namespace kopper::plane
