#include <algorithm>
#include <map>

#include "chaos.h"
#include "operators/memcached/types.h"

namespace chaos {
namespace {

using kopper::Deployment;
using memcached::Memcached;

class MemcachedChaos : public Chaos {
 protected:
  MemcachedChaos() : Chaos(memcached::memcached(), {"deployments", "memcacheds", "memcacheds/status", "pods"}) {}

  void people() override {
    const std::string name = fmt::format("demo-{}", any(4));
    switch (any(5)) {
      case 0:
      case 1: return resize(name, any(6));
      case 2:
        cluster_.remove<Memcached>(name);
        sizes_.erase(name);
        return;
      case 3: return drift(name);
      default: cluster_.remove<Deployment>(name);
    }
  }
  void resize(const std::string& name, std::int32_t size) {
    Memcached wanted;
    wanted.metadata.name = name;
    wanted.spec.size = size;
    cluster_.apply(wanted);
    sizes_[name] = size;
  }
  void drift(const std::string& name) {
    if (!cluster_.find<Deployment>(name)) return;
    cluster_.modify<Deployment>(name, [this](Deployment& it) {
      it.spec.replicas = 10 + any(10);
      it.spec.template_.spec.containers.at(0).image = "evil:1";
    });
  }

  bool is_right() override {
    const auto found = cluster_.list<Deployment>();
    if (found.size() != sizes_.size()) return false;
    return std::ranges::all_of(found, [&](const Deployment& it) {
      const auto wanted = sizes_.find(it.metadata.name);
      if (wanted == sizes_.end()) return false;
      const auto mc = cluster_.get<Memcached>(it.metadata.name);
      return it.spec.replicas == wanted->second &&
             it.spec.template_.spec.containers.at(0).image == "memcached:1.6-alpine" &&
             kopper::api::is_controlled_by(it.metadata, mc.metadata.uid) &&
             mc.status.observedGeneration == mc.metadata.generation;
    });
  }

  std::map<std::string, std::int32_t> sizes_;
};

TEST_P(MemcachedChaos, EndsInOrder) { run(); }

INSTANTIATE_TEST_SUITE_P(Seeds, MemcachedChaos, seeds());

}  // namespace
}  // namespace chaos
