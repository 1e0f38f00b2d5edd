#include "finalize.h"

#include <chrono>
#include <string>
#include <utility>

#include "kopper/api/gen/policy_v1.h"

#include "desired.h"

namespace redis {

namespace {

using kopper::Next;
using kopper::StatefulSet;
using kopper::Task;
using kopper::api::policyv1::PodDisruptionBudget;
using Self = kopper::Context<RedisCluster>;

constexpr std::chrono::milliseconds kLookAgain(500);

// Nobody's from now on: they stay when the cluster's object goes.
Task<> let_go(Self self) {
  kopper::json::Value patch;
  patch["metadata"]["ownerReferences"] = kopper::json::Array();
  const auto& ns = self.key().namespace_;
  const auto set = self.find<StatefulSet>(self->metadata.name);
  const auto service = self.find<kopper::Service>(self->metadata.name);
  const auto settings = co_await self.live<kopper::ConfigMap>().find(kopper::Key(ns, settings_name(*self)));
  const auto auth = co_await self.live<kopper::Secret>().find(kopper::Key(ns, auth_name(*self)));
  const auto budget = self.find<PodDisruptionBudget>(self->metadata.name);
  if (set) co_await self.patch(*set, patch);
  if (service) co_await self.patch(*service, patch);
  if (settings) co_await self.patch(*settings, patch);
  if (auth) co_await self.patch(*auth, patch);
  if (budget) co_await self.patch(*budget, patch);
}

Task<> remove_claims(Self self) {
  kopper::client::ListOptions options;
  options.namespace_ = self.key().namespace_;
  options.label_selector = "app=" + self->metadata.name;
  const auto claims = co_await self.live<kopper::PersistentVolumeClaim>().list(options);
  for (const auto& claim : claims.items) {
    if (claim.metadata.name.starts_with("data-" + self->metadata.name + "-")) co_await self.remove(claim);
  }
}

}  // namespace

Task<Next> finalize(Self self) {
  const auto& how = self->spec.finalizers;
  if (how == "orphan") {
    co_await let_go(self);
    co_return Next::wait();
  }
  if (how == "foreground") {
    if (self->status.phase != "Deleting") {
      auto status = self->status;
      status.phase = "Deleting";
      co_await self.set_status(std::move(status));
    }
    const auto set = self.find<StatefulSet>(self->metadata.name);
    if (set && !set->metadata.deletionTimestamp.is_set()) co_await self.remove(*set);
    const kopper::Labels labels{{"app", self->metadata.name}};
    if (set || !self.list<kopper::Pod>(labels).empty()) co_return Next::in(kLookAgain);
  }
  if (self->spec.storage && self->spec.storage->retain == "Delete") co_await remove_claims(self);
  co_return Next::wait();
}

}  // namespace redis
