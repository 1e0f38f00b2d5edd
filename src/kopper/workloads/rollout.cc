#include "kopper/workloads/rollout.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "kopper/api/int_or_string.h"
#include "kopper/base/stable_hash.h"
#include "kopper/meta/encode.h"

namespace kopper::workloads {

using api::appsv1::Deployment;
using api::appsv1::DeploymentCondition;
using api::appsv1::DeploymentStatus;
using api::appsv1::ReplicaSet;
using api::corev1::PodTemplateSpec;

namespace {

std::int32_t wanted(const Deployment& deployment) { return deployment.spec.replicas.value_or(1); }
std::int32_t replicas_of(const ReplicaSet& set) { return set.spec.replicas.value_or(1); }
std::int32_t available_of(const ReplicaSet& set) { return set.status.availableReplicas; }

template <class Number>
Number total(const Sets& sets, Number (*of)(const ReplicaSet&)) {
  Number sum = sets.current ? of(*sets.current) : Number();
  for (const auto& set : sets.old) sum += of(*set);
  return sum;
}

std::int64_t number(const api::metav1::ObjectMeta& metadata, std::string_view annotation) {
  const auto found = metadata.annotations.find(std::string(annotation));
  std::int64_t value = 0;
  if (found == metadata.annotations.end()) return 0;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  return value;
}

const DeploymentCondition* find(const DeploymentStatus& status, std::string_view type) {
  const auto found = std::ranges::find(status.conditions, type, &DeploymentCondition::type);
  return found == status.conditions.end() ? nullptr : &*found;
}

void add_if_different(std::vector<Resize>& steps, const ReplicaSetRef& set, std::int32_t replicas) {
  if (replicas_of(*set) != replicas) steps.push_back({set, replicas});
}

// Pods of old sets go: first those that do not serve, then as many as may be missed.
std::vector<Resize> shrink_old(const Deployment& deployment, const Sets& sets) {
  std::vector<Resize> steps;
  const auto limits = limits_of(deployment);
  const auto least = wanted(deployment) - limits.unavailable;
  const auto unavailable_new = replicas_of(*sets.current) - available_of(*sets.current);
  auto may_go = total(sets, replicas_of) - least - unavailable_new;
  if (may_go <= 0) return steps;
  std::vector<std::int32_t> left;
  for (const auto& set : sets.old) {
    const auto broken = std::clamp(replicas_of(*set) - available_of(*set), 0, may_go);
    may_go -= broken;
    left.push_back(replicas_of(*set) - broken);
  }
  auto spare = total(sets, available_of) - least;
  for (std::size_t i = 0; i < sets.old.size(); ++i) {
    const auto go = std::clamp(std::min(left[i], available_of(*sets.old[i])), 0, std::max(spare, 0));
    spare -= go;
    left[i] -= go;
    add_if_different(steps, sets.old[i], left[i]);
  }
  return steps;
}

DeploymentCondition settle(const DeploymentStatus& before, DeploymentCondition condition, api::Time now,
                           bool progressed = false) {
  const auto* old = find(before, condition.type);
  const bool same = old != nullptr && old->status == condition.status && old->reason == condition.reason;
  condition.lastUpdateTime = same && !progressed ? old->lastUpdateTime : now;
  condition.lastTransitionTime = old != nullptr && old->status == condition.status ? old->lastTransitionTime : now;
  return condition;
}

}  // namespace

std::string template_hash(const PodTemplateSpec& template_, std::int32_t collisions) {
  return name_letters(stable_hash(meta::encode(template_) + fmt::format("/{}", collisions)), 10);
}

bool same_template(const PodTemplateSpec& a, const PodTemplateSpec& b) {
  auto left = a;
  auto right = b;
  left.metadata.labels.erase(std::string(kTemplateHash));
  right.metadata.labels.erase(std::string(kTemplateHash));
  return left == right;
}

RollingLimits limits_of(const Deployment& deployment) {
  RollingLimits limits{1, 1};
  const auto replicas = wanted(deployment);
  if (deployment.spec.strategy.type == "Recreate") return {0, replicas};
  if (const auto& rolling = deployment.spec.strategy.rollingUpdate) {
    const auto zero = api::IntOrString(0);
    limits.surge = api::scaled(rolling->maxSurge.value_or(zero), replicas, api::Rounding::Up).value_or(0);
    limits.unavailable = api::scaled(rolling->maxUnavailable.value_or(zero), replicas, api::Rounding::Down).value_or(0);
  }
  // With neither nothing could ever move.
  if (limits.surge == 0 && limits.unavailable == 0) limits.unavailable = 1;
  limits.unavailable = std::min(limits.unavailable, replicas);
  return limits;
}

std::int64_t revision_of(const ReplicaSet& set) { return number(set.metadata, kRevision); }

Sets sort_sets(const Deployment& deployment, std::vector<ReplicaSetRef> all) {
  std::ranges::sort(all, {}, [](const ReplicaSetRef& set) {
    return std::pair(set->metadata.creationTimestamp, std::string_view(set->metadata.name));
  });
  Sets sets;
  for (auto& set : all) {
    if (!sets.current && same_template(set->spec.template_, deployment.spec.template_)) {
      sets.current = std::move(set);
    } else {
      sets.old.push_back(std::move(set));
    }
  }
  return sets;
}

ReplicaSet new_set(const Deployment& deployment, const Sets& sets) {
  ReplicaSet set;
  const auto hash = template_hash(deployment.spec.template_, deployment.status.collisionCount.value_or(0));
  const std::string label(kTemplateHash);
  set.metadata.name = fmt::format("{}-{}", deployment.metadata.name, hash);
  set.metadata.labels = deployment.spec.template_.metadata.labels;
  set.metadata.labels[label] = hash;
  for (const auto& [key, value] : deployment.metadata.annotations) {
    if (key != kRevision && key != "kubectl.kubernetes.io/last-applied-configuration") {
      set.metadata.annotations[key] = value;
    }
  }
  set.spec.minReadySeconds = deployment.spec.minReadySeconds;
  set.spec.selector = deployment.spec.selector;
  set.spec.selector.matchLabels[label] = hash;
  set.spec.template_ = deployment.spec.template_;
  set.spec.template_.metadata.labels[label] = hash;
  const auto limits = limits_of(deployment);
  const auto room = wanted(deployment) + limits.surge - total(sets, replicas_of);
  const bool recreate = deployment.spec.strategy.type == "Recreate";
  const bool first = total(sets, replicas_of) == 0;
  set.spec.replicas = recreate ? (first ? wanted(deployment) : 0) : std::clamp(room, 0, wanted(deployment));
  return set;
}

std::vector<Resize> rolling_steps(const Deployment& deployment, const Sets& sets) {
  const auto limits = limits_of(deployment);
  const auto size = replicas_of(*sets.current);
  std::vector<Resize> steps;
  if (size > wanted(deployment)) {
    add_if_different(steps, sets.current, wanted(deployment));
  } else if (size < wanted(deployment)) {
    const auto room = wanted(deployment) + limits.surge - total(sets, replicas_of);
    add_if_different(steps, sets.current, std::clamp(size + std::max(room, 0), size, wanted(deployment)));
  }
  if (!steps.empty()) return steps;
  return shrink_old(deployment, sets);
}

std::vector<Resize> recreate_steps(const Deployment& deployment, const Sets& sets) {
  std::vector<Resize> steps;
  bool pods_left = false;
  for (const auto& set : sets.old) {
    add_if_different(steps, set, 0);
    pods_left = pods_left || set->status.replicas > 0 || set->status.terminatingReplicas.value_or(0) > 0 ||
                set->status.observedGeneration < set->metadata.generation;
  }
  if (steps.empty() && !pods_left) add_if_different(steps, sets.current, wanted(deployment));
  return steps;
}

bool was_scaled(const Deployment& deployment, const Sets& sets) {
  const auto differs = [&](const ReplicaSetRef& set) {
    return set && replicas_of(*set) > 0 && set->metadata.annotations.contains(std::string(kDesiredReplicas)) &&
           number(set->metadata, kDesiredReplicas) != wanted(deployment);
  };
  return differs(sets.current) || std::ranges::any_of(sets.old, differs);
}

std::vector<Resize> scale_steps(const Deployment& deployment, const Sets& sets) {
  std::vector<Resize> steps;
  std::vector<ReplicaSetRef> active;
  if (sets.current && replicas_of(*sets.current) > 0) active.push_back(sets.current);
  for (const auto& set : sets.old) {
    if (replicas_of(*set) > 0) active.push_back(set);
  }
  // One set, or none: it gets everything.
  if (active.size() <= 1) {
    const auto& only = active.empty() ? (sets.current ? sets.current : (sets.old.empty() ? nullptr : sets.old.back()))
                                      : active.front();
    if (only) add_if_different(steps, only, wanted(deployment));
    return steps;
  }
  const auto limits = limits_of(deployment);
  const auto allowed = wanted(deployment) > 0 ? wanted(deployment) + limits.surge : 0;
  const auto now = total(sets, replicas_of);
  auto left = allowed - now;
  // The largest first; what rounding leaves goes to the first.
  std::ranges::stable_sort(active, std::greater(), [](const ReplicaSetRef& set) { return replicas_of(*set); });
  std::vector<std::int32_t> sizes;
  for (const auto& set : active) {
    const auto share = static_cast<std::int32_t>(std::int64_t{allowed - now} * replicas_of(*set) / std::max(now, 1));
    const auto add = left >= 0 ? std::clamp(share, 0, left) : std::clamp(share, left, 0);
    left -= add;
    sizes.push_back(replicas_of(*set) + add);
  }
  sizes.front() = std::max(0, sizes.front() + left);
  for (std::size_t i = 0; i < active.size(); ++i) add_if_different(steps, active[i], std::max(0, sizes[i]));
  return steps;
}

std::vector<ReplicaSetRef> surplus_history(const Deployment& deployment, const Sets& sets) {
  const auto keep = static_cast<std::size_t>(deployment.spec.revisionHistoryLimit.value_or(10));
  std::vector<ReplicaSetRef> empty;
  for (const auto& set : sets.old) {
    if (replicas_of(*set) == 0 && set->status.replicas == 0 && !set->metadata.deletionTimestamp.is_set() &&
        set->status.observedGeneration >= set->metadata.generation) {
      empty.push_back(set);
    }
  }
  if (empty.size() <= keep) return {};
  std::ranges::stable_sort(empty, {}, [](const ReplicaSetRef& set) { return revision_of(*set); });
  empty.resize(empty.size() - keep);
  return empty;
}

bool is_complete(const Deployment& deployment, const DeploymentStatus& status) {
  return status.updatedReplicas == wanted(deployment) && status.replicas == wanted(deployment) &&
         status.availableReplicas == wanted(deployment);
}

DeploymentStatus observed(const Deployment& deployment, const Sets& sets, api::Time now) {
  const auto& before = deployment.status;
  DeploymentStatus status;
  status.observedGeneration = deployment.metadata.generation;
  status.collisionCount = before.collisionCount;
  status.replicas = total<std::int32_t>(sets, [](const ReplicaSet& set) { return set.status.replicas; });
  status.updatedReplicas = sets.current ? sets.current->status.replicas : 0;
  status.readyReplicas = total<std::int32_t>(sets, [](const ReplicaSet& set) { return set.status.readyReplicas; });
  status.availableReplicas = total(sets, available_of);
  status.unavailableReplicas = std::max(0, total(sets, replicas_of) - status.availableReplicas);
  status.terminatingReplicas =
      total<std::int32_t>(sets, [](const ReplicaSet& set) { return set.status.terminatingReplicas.value_or(0); });

  const bool enough = status.availableReplicas >= wanted(deployment) - limits_of(deployment).unavailable;
  status.conditions.push_back(settle(
      before,
      {.type = "Available",
       .status = enough ? "True" : "False",
       .reason = enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
       .message = enough ? "Deployment has minimum availability." : "Deployment does not have minimum availability."},
      now));

  const ReplicaSet* failing = nullptr;
  const auto fails = [](const ReplicaSetRef& set) {
    return set && std::ranges::any_of(set->status.conditions, [](const auto& one) {
             return one.type == "ReplicaFailure" && one.status == "True";
           });
  };
  if (fails(sets.current)) failing = sets.current.get();
  for (const auto& set : sets.old) {
    if (failing == nullptr && fails(set)) failing = set.get();
  }
  if (failing != nullptr) {
    const auto& why =
        *std::ranges::find(failing->status.conditions, "ReplicaFailure", &api::appsv1::ReplicaSetCondition::type);
    status.conditions.push_back(settle(
        before, {.type = "ReplicaFailure", .status = "True", .reason = why.reason, .message = why.message}, now));
  }

  if (!deployment.spec.progressDeadlineSeconds ||
      *deployment.spec.progressDeadlineSeconds == std::numeric_limits<std::int32_t>::max()) {
    return status;
  }
  const auto* progress = find(before, "Progressing");
  const auto name = sets.current ? sets.current->metadata.name : std::string();
  DeploymentCondition next{.type = "Progressing", .status = "True"};
  if (deployment.spec.paused.value_or(false)) {
    next.status = "Unknown";
    next.reason = "DeploymentPaused";
    next.message = "Deployment is paused";
    status.conditions.push_back(settle(before, std::move(next), now));
    return status;
  }
  const bool resumed = progress != nullptr && progress->reason == "DeploymentPaused";
  if (is_complete(deployment, status) && sets.current) {
    next.reason = "NewReplicaSetAvailable";
    next.message = fmt::format("ReplicaSet \"{}\" has successfully progressed.", name);
    status.conditions.push_back(settle(before, std::move(next), now));
    return status;
  }
  const bool moved = status.updatedReplicas > before.updatedReplicas || status.readyReplicas > before.readyReplicas ||
                     status.availableReplicas > before.availableReplicas ||
                     status.replicas - status.updatedReplicas < before.replicas - before.updatedReplicas;
  const bool fresh = progress == nullptr || resumed || progress->reason == "NewReplicaSetAvailable";
  if (moved || fresh) {
    next.reason = resumed ? "DeploymentResumed" : (moved && !fresh) ? "ReplicaSetUpdated" : "NewReplicaSetCreated";
    next.message = resumed           ? "Deployment is resumed"
                   : moved && !fresh ? fmt::format("ReplicaSet \"{}\" is progressing.", name)
                                     : fmt::format("Created new replica set \"{}\"", name);
    status.conditions.push_back(settle(before, std::move(next), now, true));
    return status;
  }
  next = *progress;
  const auto deadline =
      progress->lastUpdateTime.point() + std::chrono::seconds(*deployment.spec.progressDeadlineSeconds);
  if (progress->status == "True" && now.point() >= deadline) {
    next.status = "False";
    next.reason = "ProgressDeadlineExceeded";
    next.message = fmt::format("ReplicaSet \"{}\" has timed out progressing.", name);
    next = settle(before, std::move(next), now);
  }
  status.conditions.push_back(std::move(next));
  return status;
}

std::optional<api::Time> deadline_of(const Deployment& deployment, const DeploymentStatus& status) {
  const auto* progress = find(status, "Progressing");
  if (progress == nullptr || progress->status != "True" || is_complete(deployment, status)) return std::nullopt;
  return api::Time(progress->lastUpdateTime.point() + std::chrono::seconds(*deployment.spec.progressDeadlineSeconds));
}

}  // namespace kopper::workloads
