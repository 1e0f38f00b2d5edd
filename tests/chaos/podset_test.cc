#include <algorithm>
#include <map>

#include "chaos.h"
#include "operators/podset/types.h"

namespace chaos {
namespace {

using kopper::Pod;
using podset::PodSet;

class PodSetChaos : public Chaos {
 protected:
  PodSetChaos() : Chaos(podset::podset(), {"pods", "podsets", "podsets/status"}) {}

  void people() override {
    const std::string name = fmt::format("set-{}", any(3));
    switch (any(6)) {
      case 0:
      case 1: return resize(name, any(6));
      case 2:
        cluster_.remove<PodSet>(name);
        sizes_.erase(name);
        return;
      case 3: return stray(name);
      default: return meddle();
    }
  }
  void resize(const std::string& name, std::int32_t size) {
    PodSet wanted;
    wanted.metadata.name = name;
    wanted.spec.size = size;
    const auto uid = cluster_.apply(wanted).metadata.uid;
    sizes_[name] = size;
    most_[uid] = std::max(most_[uid], size);
  }
  // A pod that looks like one of the set's.
  void stray(const std::string& set) {
    PodSet of;
    of.metadata.name = set;
    auto pod = podset::desired(of, fmt::format("stray-{}", ++strays_));
    pod.metadata.namespace_ = "default";
    cluster_.run(cluster_.client().of<Pod>().create(std::move(pod)));
  }
  // A pod ends, or is deleted.
  void meddle() {
    const auto pods = cluster_.list<Pod>();
    if (pods.empty()) return;
    const std::string name = any_of(pods).metadata.name;
    if (any(2) == 0) {
      cluster_.remove<Pod>(name);
    } else {
      cluster_.set_status<Pod>(name, [](Pod& it) { it.status.phase = "Failed"; });
    }
  }

  // How many of its own making a set has that count.
  std::map<std::string, std::int32_t> active(bool strays) {
    std::map<std::string, std::int32_t> by_owner;
    for (const Pod& pod : cluster_.list<Pod>()) {
      const auto* owner = kopper::api::controller_of(pod.metadata);
      if (owner == nullptr || !kopper::api::is_active(pod)) continue;
      if (strays || !pod.metadata.name.starts_with("stray")) ++by_owner[owner->uid];
    }
    return by_owner;
  }
  void expect_safe() override {
    for (const auto& [uid, count] : active(false)) EXPECT_LE(count, most_[uid]) << "more pods than it was ever to have";
  }
  bool is_right() override {
    auto pods = active(true);
    for (const auto& [name, size] : sizes_) {
      const auto set = cluster_.get<PodSet>(name);
      const auto there = pods.find(set.metadata.uid);
      if ((there == pods.end() ? 0 : there->second) != size || set.status.replicas != size) return false;
      if (there != pods.end()) pods.erase(there);
    }
    return pods.empty();
  }

  std::map<std::string, std::int32_t> sizes_;
  std::map<std::string, std::int32_t> most_;  // by uid
  int strays_ = 0;
};

TEST_P(PodSetChaos, EndsInOrder) { run(); }

INSTANTIATE_TEST_SUITE_P(Seeds, PodSetChaos, seeds());

}  // namespace
}  // namespace chaos
