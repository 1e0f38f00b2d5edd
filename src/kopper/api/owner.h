#pragma once

#include <string_view>

#include "kopper/api/object.h"

namespace kopper::api {

// The reference by which an object's children name it as their owner. The owner must have been read from a server: it
// needs a uid.
metav1::OwnerReference owner_reference(const Kind& kind, const metav1::ObjectMeta& owner);
// The same as controller: the one owner that manages the child, and whose deletion waits for it (blockOwnerDeletion).
metav1::OwnerReference controller_reference(const Kind& kind, const metav1::ObjectMeta& owner);

// The owner that is marked as controller, or null. An object has at most one.
const metav1::OwnerReference* controller_of(const metav1::ObjectMeta& metadata);

// By uid, so that an owner that was deleted and made again under the same name is another one.
bool is_owned_by(const metav1::ObjectMeta& metadata, std::string_view owner_uid);
bool is_controlled_by(const metav1::ObjectMeta& metadata, std::string_view owner_uid);

// Makes `owner` the controller of the object. Throws Error(Conflict) when somebody else is: we never take over. Throws
// Error(Invalid) when owner and child cannot go together: no uid, or an owner in another namespace.
void set_controller(metav1::ObjectMeta& child, const Kind& kind, const metav1::ObjectMeta& owner);

template <ObjectType Owner, ObjectType Child>
void set_controller(Child& child, const Owner& owner) {
  set_controller(child.metadata, Owner::kind, owner.metadata);
}

}  // namespace kopper::api
