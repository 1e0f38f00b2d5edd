#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

#include "operators/redis/act.h"
#include "operators/redis/decide.h"
#include "operators/redis/observe.h"
#include "redis/servers.h"

namespace redis::testing {

// The operator's look at Redis, its decisions and what it does about them, on servers that are no pods: what a
// StatefulSet would do, this does.
class Operated {
 public:
  explicit Operated(std::size_t count, ServerOptions options = ServerOptions())
      : servers(0, std::move(options)), pods_(count) {
    wanted.replicas = static_cast<int>(count);
    for (std::size_t i = 0; i < count; ++i) servers.add();
    links = std::make_unique<Links>();
  }

  Servers servers;
  Wanted wanted;
  Decision last;
  std::size_t passes = 0;
  std::size_t cuts = 0;  // passes that died
  // In every so-many-th pass what is being done ends anywhere, as if the process had been killed; 0: never.
  int cut_one_in = 0;
  std::mt19937 random{1};
  std::function<void(const Decision&)> before_act;

  std::vector<std::string> addresses() const {
    auto all = servers.addresses();
    all.resize(pods_);
    return all;
  }

  // One pass; true when there is nothing to do.
  bool pass() {
    ++passes;
    wanted.pods = static_cast<int>(pods_);
    auto model = loop.run(observe(*links, facts(), passes % 10 == 1));
    last = decide(*model, wanted);
    if (last.plan) wanted.plan = *last.plan;
    if (last.calm) {
      wanted.was_running = true;
      return true;
    }
    if (before_act) before_act(last);
    act_on(std::move(model));
    if (static_cast<std::size_t>(last.pods) != pods_) resize(static_cast<std::size_t>(last.pods));
    if (!did_something()) loop.run(kopper::rt::sleep(std::chrono::milliseconds(50)));
    return false;
  }

  // Until there is nothing to do; "" or what was still being done.
  std::string settle(int replicas, std::chrono::seconds patience = std::chrono::seconds(120)) {
    wanted.replicas = replicas;
    const auto end = loop.now() + patience;
    while (loop.now() < end) {
      if (pass()) return {};
    }
    return last.message.empty() ? "busy" : last.message;
  }

 private:
  std::vector<PodFacts> facts() {
    std::vector<PodFacts> out;
    for (std::size_t i = 0; i < pods_; ++i) {
      PodFacts pod;
      pod.name = fmt::format("pod-{}", i);
      pod.ordinal = static_cast<int>(i);
      pod.address = servers[i].address();
      pod.host = fmt::format("host-{}", i % 3);
      pod.ready = true;
      out.push_back(std::move(pod));
    }
    return out;
  }

  bool did_something() const {
    return !last.commands.empty() || !last.failovers.empty() || !last.moves.empty() || !last.rescues.empty();
  }

  void act_on(std::shared_ptr<const Model> model) {
    ActOptions options;
    options.keys_a_migrate = 20;
    options.budget = std::chrono::milliseconds(500);
    auto acting = act(*links, std::move(model), last, options);
    const bool cut = cut_one_in > 0 && random() % static_cast<unsigned>(cut_one_in) == 0 && did_something();
    if (!cut) {
      (void)loop.run(std::move(acting));
      return;
    }
    ++cuts;
    const auto when = std::chrono::microseconds(random() % 60000);
    try {
      (void)loop.run(kopper::rt::timeout(when, std::move(acting)));
    } catch (const kopper::Error&) {
      // it died
    }
    links = std::make_unique<Links>();
  }

  void resize(std::size_t count) {
    while (servers.size() < count) servers.add();
    for (auto i = pods_; i < count; ++i) {
      if (!servers[i].runs()) servers[i].start();
    }
    for (auto i = count; i < pods_; ++i) servers[i].stop();
    pods_ = count;
  }

  std::size_t pods_;

 public:
  kopper::rt::Loop loop;
  std::unique_ptr<Links> links;
};

}  // namespace redis::testing
