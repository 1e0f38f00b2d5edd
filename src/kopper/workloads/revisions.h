#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kopper/api/gen/apps_v1.h"
#include "kopper/runtime/context.h"
#include "kopper/workloads/rollout.h"

// The templates that a StatefulSet or DaemonSet had, as ControllerRevisions: what `kubectl rollout undo` goes back to.
namespace kopper::workloads {

using RevisionRef = std::shared_ptr<const api::appsv1::ControllerRevision>;

inline constexpr std::string_view kRevisionLabel = "controller-revision-hash";  // of pods

// What a revision keeps of a template: a patch that brings it back.
json::Value revision_data(const api::corev1::PodTemplateSpec& template_);
// Throws Error{Invalid} when somebody else's data is in it.
api::corev1::PodTemplateSpec template_of(const api::appsv1::ControllerRevision& revision);
// The newest of this template, or null.
RevisionRef find_revision(const std::vector<RevisionRef>& history, const api::corev1::PodTemplateSpec& template_);
// 0 when there is none.
std::int64_t highest_revision(const std::vector<RevisionRef>& history);
// What is beyond `keep` old ones, but for those that are named `live`.
std::vector<RevisionRef> surplus_revisions(std::vector<RevisionRef> history, const std::set<std::string>& live,
                                           std::size_t keep);

// The revision of the owner's template, with the highest number of all: an older one, a new one, or the one that has it
// already. Its hash is also in the label `hash_label`. A template whose hash another one has costs a pass: the owner's
// collisionCount goes up.
template <class Owner>
Task<RevisionRef> ensure_revision(runtime::Context<Owner> owner, std::vector<RevisionRef> history,
                                  std::string_view hash_label) {  // outlives: a constant
  const auto& wanted = owner->spec.template_;
  const auto highest = highest_revision(history);
  const auto found = find_revision(history, wanted);
  if (found && found->revision == highest) co_return found;
  if (found) {
    json::Value patch = json::Object{};
    patch["revision"] = highest + 1;
    auto moved = co_await owner.patch(*found, std::move(patch));
    if (!moved) throw Error(Code::Conflict, fmt::format("ControllerRevision {} is gone", found->metadata.name));
    co_return std::make_shared<const api::appsv1::ControllerRevision>(std::move(*moved));
  }
  const auto hash = template_hash(wanted, owner->status.collisionCount.value_or(0));
  api::appsv1::ControllerRevision made;
  made.metadata.name = fmt::format("{}-{}", owner->metadata.name, hash);
  made.metadata.labels = wanted.metadata.labels;
  made.metadata.labels[std::string(hash_label)] = hash;
  made.metadata.annotations = owner->metadata.annotations;
  made.metadata.annotations.erase("kubectl.kubernetes.io/last-applied-configuration");
  made.data = revision_data(wanted);
  made.revision = highest + 1;
  auto live = co_await owner.create(std::move(made));
  if (!same_template(template_of(live), wanted)) {
    auto status = owner->status;
    status.collisionCount = status.collisionCount.value_or(0) + 1;
    co_await owner.set_status(std::move(status));
    throw Error(Code::Conflict, fmt::format("ControllerRevision {} is of another template", live.metadata.name));
  }
  co_return std::make_shared<const api::appsv1::ControllerRevision>(std::move(live));
}

// Deletes revisions beyond the owner's history limit.
template <class Owner>
Task<> forget_revisions(runtime::Context<Owner> owner, std::set<std::string> live) {
  const auto keep = static_cast<std::size_t>(std::max(owner->spec.revisionHistoryLimit.value_or(10), 0));
  const auto history = owner.template children<api::appsv1::ControllerRevision>();
  for (const auto& one : surplus_revisions(history, live, keep)) co_await owner.remove(*one);
}

}  // namespace kopper::workloads
