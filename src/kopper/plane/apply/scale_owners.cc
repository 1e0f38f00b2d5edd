#include "kopper/plane/apply/scale_owners.h"

#include "kopper/plane/apply/managers.h"

namespace kopper::plane {
namespace {

constexpr const char* kVersion = "autoscaling/v1";

const FieldSet& replicas_of_scale() {
  static const FieldSet kReplicas = FieldSet::of({{"spec", "replicas"}});
  return kReplicas;
}

Managers decoded(const json::Value& managed_fields) { return Managers::decode(managed_fields).value_or(Managers()); }

}  // namespace

json::Value scale_owners(const json::Value& managed_fields, FieldPath path) {
  Managers out;
  const Managers all = decoded(managed_fields);
  for (ManagedEntry entry : all.entries()) {
    if (!entry.fields.contains(path)) continue;
    entry.fields = replicas_of_scale();
    entry.api_version = kVersion;
    out.entries().push_back(std::move(entry));
  }
  return out.encode();
}

json::Value with_scale_owners(const json::Value& managed_fields, const json::Value& of_scale, FieldPath path,
                              std::string_view api_version) {
  FieldSet replicas;
  replicas.insert(path);
  Managers out = decoded(managed_fields);
  for (ManagedEntry& entry : out.entries()) entry.fields -= replicas;
  const Managers owners = decoded(of_scale);
  for (ManagedEntry owner : owners.entries()) {
    if ((owner.fields & replicas_of_scale()).empty()) continue;
    owner.api_version = api_version;
    owner.fields = replicas;
    if (ManagedEntry* there = out.find(owner)) {
      there->fields |= replicas;
    } else {
      out.entries().push_back(std::move(owner));
    }
  }
  std::erase_if(out.entries(), [](const ManagedEntry& entry) { return entry.fields.empty(); });
  return out.encode();
}

}  // namespace kopper::plane
