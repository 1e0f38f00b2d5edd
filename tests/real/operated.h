#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "kopper/kopper.h"

#include "real/connect.h"

namespace kopper::testing {

// An operator on the real server, in this process to look inside, watching the test's namespace.
struct Operated : Real {
  void TearDown() override { stop(); }

  void install(const json::Value& crd) {
    const auto applied = cluster().kubectl({"apply", "--server-side", "--force-conflicts", "-f", "-"}, json::dump(crd));
    ASSERT_EQ(applied.exit, 0) << applied.err;
    const auto name = std::string(crd["metadata"].text("name"));
    const auto waited = cluster().kubectl({"wait", "--for=condition=Established", "--timeout=60s", "crd/" + name});
    ASSERT_EQ(waited.exit, 0) << waited.err;
  }

  // Its requests go over `operator_wire`.
  void start(ControllerSpec controller,
             std::shared_ptr<http::Handler> transport = client::make_transport(admin_config())) {
    operator_wire = std::make_shared<Wire>(std::move(transport));
    ManagerOptions options;
    options.name = "operator-manager";
    options.namespaces = {ns};
    manager = std::make_unique<Manager>(operator_wire, options);
    manager->add(std::move(controller));
    running = std::make_unique<rt::Scope>();
    running->spawn(manager->run());
  }
  void stop() {
    if (!manager) return;
    manager->stop();
    run(running->join());
    running.reset();
    manager.reset();
  }

  template <class Condition>
  void wait_until(const std::string& what, Condition condition) {
    using namespace std::chrono_literals;
    const auto end = loop.now() + 1min;
    while (!condition()) {
      ASSERT_LT(loop.now(), end) << "in vain: " << what;
      run(rt::sleep(10ms));
    }
  }
  // Everything that happened was looked at.
  void settle() {
    wait_until("the queue is empty", [&] {
      return manager->waiting_for().empty() && manager->controllers().front()->queue().figures().size() == 0;
    });
  }
  // Without those of events, which come when there is time.
  std::size_t writes() const {
    std::size_t found = 0;
    for (const auto& target : operator_wire->targets) {
      found += target.starts_with("GET ") || target.contains("/events") ? 0U : 1U;
    }
    return found;
  }

  std::shared_ptr<Wire> operator_wire;
  std::unique_ptr<Manager> manager;
  std::unique_ptr<rt::Scope> running;
};

}  // namespace kopper::testing
