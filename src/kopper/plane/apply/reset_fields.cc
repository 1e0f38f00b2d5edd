#include "kopper/plane/apply/reset_fields.h"

#include <algorithm>
#include <array>

namespace kopper::plane {
namespace {

const FieldSet& status_only() {
  static const FieldSet kFields = FieldSet::of({{"status"}});
  return kFields;
}

const FieldSet& spec_only() {
  static const FieldSet kFields = FieldSet::of({{"spec"}});
  return kFields;
}

const FieldSet& metadata_and_spec() {
  static const FieldSet kFields = FieldSet::of({{"metadata"}, {"spec"}});
  return kFields;
}

// Groups whose /status also leaves the metadata alone; the older ones let labels and finalizers through.
bool status_keeps_metadata(std::string_view group, std::string_view resource) {
  constexpr std::array<std::string_view, 8> kGroups = {"admissionregistration.k8s.io",
                                                       "flowcontrol.apiserver.k8s.io",
                                                       "internal.apiserver.k8s.io",
                                                       "lifecycle.k8s.io",
                                                       "resource.k8s.io",
                                                       "scheduling.k8s.io",
                                                       "storage.k8s.io",
                                                       "storagemigration.k8s.io"};
  return std::ranges::find(kGroups, group) != kGroups.end() || resource == "servicecidrs" ||
         resource == "podcertificaterequests" || resource == "apiservices";
}

FieldFilter pod_filter(std::string_view subresource) {
  static const FieldSet kStatus =
      FieldSet::of({{"spec"}, {"metadata", "deletionTimestamp"}, {"metadata", "ownerReferences"}});
  static const FieldSet kEphemeral = FieldSet::of({{"spec", "ephemeralContainers"}});
  static const FieldSet kResize = FieldSet::of({{"spec", "containers", "*", "resources"},
                                                {"spec", "containers", "*", "resizePolicy"},
                                                {"spec", "initContainers", "*", "resources"},
                                                {"spec", "initContainers", "*", "resizePolicy"}});
  if (subresource == "status") return {.reset = &kStatus};
  if (subresource == "ephemeralcontainers") return {.only = &kEphemeral};
  if (subresource == "resize") return {.only = &kResize};
  return {.reset = &status_only()};
}

FieldFilter signing_request_filter(std::string_view subresource) {
  static const FieldSet kMain = FieldSet::of({{"spec"}, {"status"}});
  static const FieldSet kStatus = FieldSet::of({{"spec"}, {"status", "conditions"}});
  static const FieldSet kApproval = FieldSet::of({{"spec"}, {"status", "certificate"}});
  if (subresource == "status") return {.reset = &kStatus};
  return {.reset = subresource == "approval" ? &kApproval : &kMain};
}

}  // namespace

FieldFilter field_filter(std::string_view group, std::string_view resource, std::string_view subresource) {
  if (subresource == "scale") return {};  // writes the one number
  if (group.empty() && resource == "pods") return pod_filter(subresource);
  if (resource == "certificatesigningrequests") return signing_request_filter(subresource);
  if (subresource != "status") return {.reset = &status_only()};
  static const FieldSet kDeployment = FieldSet::of({{"spec"}, {"metadata", "labels"}});
  if (group == "apps" && resource == "deployments") return {.reset = &kDeployment};
  return {.reset = status_keeps_metadata(group, resource) ? &metadata_and_spec() : &spec_only()};
}

FieldFilter custom_field_filter(bool has_status_subresource, std::string_view subresource) {
  if (!has_status_subresource || subresource == "scale") return {};
  return {.reset = subresource == "status" ? &metadata_and_spec() : &status_only()};
}

}  // namespace kopper::plane
