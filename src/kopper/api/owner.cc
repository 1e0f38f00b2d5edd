#include "kopper/api/owner.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/base/error.h"

namespace kopper::api {

metav1::OwnerReference owner_reference(const Kind& kind, const metav1::ObjectMeta& owner) {
  return {.apiVersion = kind.api_version(), .kind = std::string(kind.kind), .name = owner.name, .uid = owner.uid};
}

metav1::OwnerReference controller_reference(const Kind& kind, const metav1::ObjectMeta& owner) {
  auto out = owner_reference(kind, owner);
  out.controller = true;
  out.blockOwnerDeletion = true;
  return out;
}

const metav1::OwnerReference* controller_of(const metav1::ObjectMeta& metadata) {
  const auto it = std::ranges::find_if(metadata.ownerReferences,
                                       [](const metav1::OwnerReference& r) { return r.controller.value_or(false); });
  return it == metadata.ownerReferences.end() ? nullptr : &*it;
}

bool is_owned_by(const metav1::ObjectMeta& metadata, std::string_view owner_uid) {
  return std::ranges::find(metadata.ownerReferences, owner_uid, &metav1::OwnerReference::uid) !=
         metadata.ownerReferences.end();
}

bool is_controlled_by(const metav1::ObjectMeta& metadata, std::string_view owner_uid) {
  const auto* controller = controller_of(metadata);
  return controller != nullptr && controller->uid == owner_uid;
}

void set_controller(metav1::ObjectMeta& child, const Kind& kind, const metav1::ObjectMeta& owner) {
  if (owner.uid.empty()) {
    throw Error(Code::Invalid, fmt::format("{} {} has no uid: only an object of the server owns others", kind.kind,
                                           key_of(owner).str()));
  }
  if (!owner.namespace_.empty() && owner.namespace_ != child.namespace_) {
    throw Error(Code::Invalid, fmt::format("{} {} cannot own {}: another namespace", kind.kind, key_of(owner).str(),
                                           key_of(child).str()));
  }
  if (const auto* other = controller_of(child); other != nullptr && other->uid != owner.uid) {
    throw Error(Code::Conflict,
                fmt::format("{} is controlled by {} {}", key_of(child).str(), other->kind, other->name));
  }
  auto reference = controller_reference(kind, owner);
  const auto it = std::ranges::find(child.ownerReferences, owner.uid, &metav1::OwnerReference::uid);
  if (it == child.ownerReferences.end())
    child.ownerReferences.push_back(std::move(reference));
  else
    *it = std::move(reference);
}

}  // namespace kopper::api
