#include "types.h"

namespace memcached {

namespace {

kopper::Task<kopper::Next> reconcile(kopper::Context<Memcached> mc) {
  const auto live = co_await mc.apply(desired(*mc));
  co_await mc.set_status(observed(*mc, live, mc.list<kopper::Pod>(labels_of(*mc))));
  co_return kopper::Next::wait();
}

// A pod belongs to a ReplicaSet, and that to the Deployment: the label is the short way.
std::vector<kopper::Key> owner_of(const kopper::Pod& pod) {
  const auto owner = pod.metadata.labels.find("memcached_cr");
  if (owner == pod.metadata.labels.end()) return {};
  return {kopper::Key(pod.metadata.namespace_, owner->second)};
}

}  // namespace

kopper::ControllerSpec memcached() {
  return kopper::controller<Memcached>()
      .owns<kopper::Deployment>()
      .watches<kopper::Pod>(owner_of)
      .select({.label_selector = "app=memcached,memcached_cr"})
      .reconcile(reconcile);
}

}  // namespace memcached
