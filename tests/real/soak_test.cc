// Random life on a real server, with what goes wrong in real life: connections that break, other writers, a server that
// restarts. At the end the cache is what the server has, the queue is empty, and memory did not grow.
// KOPPER_SOAK_SECONDS says how long; `make soak` takes 30 minutes and a release build.
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/kopper.h"

#include "operators/memcached/types.h"
#include "real/connect.h"

namespace kopper::testing {
namespace {

using namespace std::chrono_literals;
using memcached::Memcached;

constexpr int kNames = 60;

double resident_megabytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * 4096 / 1e6;
}

std::chrono::seconds duration() {
  const char* given = std::getenv("KOPPER_SOAK_SECONDS");
  return std::chrono::seconds(given != nullptr ? std::atoi(given) : 20);
}

struct Soak : Real {
  void SetUp() override {
    Real::SetUp();
    const auto crd = json::dump(meta::crd<Memcached>());
    ASSERT_EQ(cluster().kubectl({"apply", "--server-side", "--force-conflicts", "-f", "-"}, crd).exit, 0);
    ASSERT_EQ(cluster().kubectl({"wait", "--for=condition=Established", "crd/memcacheds.cache.example.com"}).exit, 0);
    ManagerOptions options;
    options.name = "operator-manager";
    options.namespaces = {ns};
    manager.emplace(operator_wire, options);
    manager->add(memcached::memcached());
    running.spawn(manager->run());
  }

  std::string name() { return fmt::format("m-{}", random() % kNames); }

  // One thing that somebody does. What the server refuses at the moment is part of life.
  Task<> step() {
    ++counts["steps"];
    try {
      switch (random() % 10) {
        case 0:
        case 1:
        case 2: {
          Memcached mc;
          mc.metadata.name = name();
          mc.metadata.namespace_ = ns;
          mc.spec.size = static_cast<std::int32_t>(random() % 5);
          const auto made = co_await client.of<Memcached>().create_if_absent(mc);
          counts["created"] += made ? 1 : 0;
          break;
        }
        case 3:
        case 4:
        case 5: {
          const auto size = static_cast<std::int32_t>(random() % 5);
          std::function<void(Memcached&)> change = [size](Memcached& mc) { mc.spec.size = size; };
          co_await client.of<Memcached>().modify(key(name()), change);
          ++counts["updated"];
          break;
        }
        case 6: {  // somebody else scales the Deployment
          json::Value patch;
          patch["spec"]["replicas"] = static_cast<int>(random() % 9);
          co_await client.of<Deployment>().patch(key(name()), client::PatchType::Merge, patch);
          ++counts["drift"];
          break;
        }
        case 7: {
          const bool gone = co_await client.of<Deployment>().remove(key(name()));
          counts["Deployments deleted"] += gone ? 1 : 0;
          break;
        }
        default: {
          const bool gone = co_await client.of<Memcached>().remove(key(name()));
          counts["deleted"] += gone ? 1 : 0;
        }
      }
    } catch (const Error& error) {
      if (error.code != Code::NotFound && error.code != Code::Conflict && error.code != Code::Unavailable) throw;
      ++counts["refused"];
    }
  }

  // What a garbage collector does, which does not run here.
  void collect_garbage() {
    client::ListOptions here;
    here.namespace_ = ns;
    const auto children = run(client.of<Deployment>().list(here)).items;
    std::set<std::string> alive;
    for (const auto& mc : run(client.of<Memcached>().list(here)).items) alive.insert(mc.metadata.uid);
    for (const auto& child : children) {
      const auto* owner = api::controller_of(child.metadata);
      if (owner == nullptr || alive.contains(owner->uid)) continue;
      client::DeleteOptions that;
      that.uid = child.metadata.uid;
      run(client.of<Deployment>().remove(api::key_of(child), that));
      ++counts["collected"];
    }
  }

  void cut_for_a_while() {
    operator_wire->cut();
    run(rt::sleep(std::chrono::milliseconds(random() % 1500)));
    operator_wire->mend();
    ++counts["cuts"];
  }

  template <class Condition>
  void wait_until(const std::string& what, Condition condition) {
    const auto end = loop.now() + 2min;
    while (!condition()) {
      ASSERT_LT(loop.now(), end) << "in vain: " << what;
      run(rt::sleep(20ms));
    }
  }
  runtime::Queue& queue() { return manager->controllers().front()->queue(); }

  // What the cache has, and what the server has, by name: the version of each.
  template <class T>
  std::map<std::string, std::string> cached() {
    std::map<std::string, std::string> found;
    manager->cluster().cache.informer<T>().store().each([&](const cache::RecordRef& record) {
      found[std::string(record->name())] = std::to_string(record->resource_version());
    });
    return found;
  }
  template <class T>
  std::map<std::string, std::string> stored() {
    client::ListOptions here;
    here.namespace_ = ns;
    std::map<std::string, std::string> found;
    for (const auto& object : run(client.of<T>().list(here)).items) {
      found[object.metadata.name] = object.metadata.resourceVersion;
    }
    return found;
  }
  // Nothing moves any more: no orphan, no child missing, sizes as wanted.
  bool converged() {
    collect_garbage();
    if (queue().figures().size() != 0) return false;
    client::ListOptions here;
    here.namespace_ = ns;
    const auto objects = run(client.of<Memcached>().list(here)).items;
    for (const auto& mc : objects) {
      const auto child = run(client.of<Deployment>().find(key(mc.metadata.name)));
      if (!child || child->spec.replicas != mc.spec.size) return false;
      if (!api::is_controlled_by(child->metadata, mc.metadata.uid)) return false;
    }
    return cached<Memcached>() == stored<Memcached>() && cached<Deployment>() == stored<Deployment>();
  }

  std::mt19937 random{static_cast<unsigned>(duration().count())};
  std::map<std::string, int> counts;
  std::shared_ptr<Wire> operator_wire = std::make_shared<Wire>(client::make_transport(admin_config()));
  std::optional<Manager> manager;
  rt::Scope running;
};

TEST_F(Soak, CacheIsTheServerAndMemoryIsFlat) {
  const auto began = loop.now();
  const auto total = duration();
  const auto part = total / 10;
  auto next_restart = began + total / 3;
  auto next_sample = began + part;
  std::vector<double> megabytes;
  while (loop.now() - began < total) {
    run(step());
    if (random() % 100 == 0) cut_for_a_while();
    if (random() % 50 == 0) collect_garbage();
    if (loop.now() >= next_restart) {
      cluster().restart_apiserver();
      next_restart += total / 3;
      ++counts["restarts"];
    }
    if (loop.now() >= next_sample) {
      megabytes.push_back(resident_megabytes());
      for (auto* seen : {&operator_wire->targets, &wire->targets}) std::exchange(*seen, {});  // the test's own memory
      fmt::print("{:5.0f} s  {:6.1f} MB  {} in the queue, {} objects\n",
                 std::chrono::duration<double>(loop.now() - began).count(), megabytes.back(), queue().figures().size(),
                 cached<Memcached>().size());
      std::fflush(stdout);
      next_sample += part;
    }
  }
  wait_until("all is as wanted", [&] { return converged(); });
  EXPECT_EQ(cached<Memcached>(), stored<Memcached>());
  EXPECT_EQ(cached<Deployment>(), stored<Deployment>());
  EXPECT_EQ(queue().figures().size(), 0U);
  for (const auto& [what, count] : counts) fmt::print("{}: {}\n", what, count);
  EXPECT_GT(counts["restarts"], 0);
  if (total >= 10min) {
    // In the first half, what is remembered of events fills up to its bound.
    EXPECT_LE(megabytes.back(), megabytes.at(megabytes.size() / 2) * 1.1) << "memory grows";
  }
  manager->stop();
  run(running.join());
}

}  // namespace
}  // namespace kopper::testing
