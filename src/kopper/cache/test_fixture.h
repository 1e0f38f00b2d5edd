#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kopper/api/gen/meta_v1.h"
#include "kopper/cache/informer.h"
#include "kopper/cache/test_server.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

// For the tests of this module: an informer against a TestServer, with a manual clock.
namespace kopper::cache {

struct WidgetSpec {
  std::int32_t size = 0;
};
struct Widget {
  static constexpr Kind kind{"example.com", "v1", "Widget"};
  api::metav1::ObjectMeta metadata;
  WidgetSpec spec;
};

inline const Key kA("n", "a");
inline const Key kB("n", "b");

struct InformerFixture : testing::Test {
  void start(InformerOptions options = InformerOptions()) {
    informer.emplace(client::Client(server, {.max_retries = 0}), kWidgets, std::move(options));
    subscription = informer->subscribe([this](const Change& change) { tell(change); });
    scope.spawn(informer->run());
    loop.poll();
  }
  void tell(const Change& change) {
    std::string text = change.deleted() ? "-" : change.added() ? "+" : "~";
    text += change.object().key().str() + ":" + std::to_string(change.object().resource_version());
    if (change.initial) text += " initial";
    if (change.missed) text += " missed";
    told.push_back(text);
  }
  // Time passes, a second at a time, until `done` or for a while.
  void pass_until(const std::function<bool()>& done) {
    for (int i = 0; i < 200 && !done(); ++i) loop.advance(std::chrono::seconds(1));
  }
  std::vector<std::string> news() { return std::exchange(told, {}); }
  std::optional<int> size_of(const Key& key) {
    const auto widget = informer->store().view<Widget>(informer->store().get(key));
    if (!widget) return std::nullopt;
    return widget->spec.size;
  }

  rt::Loop loop{rt::ClockMode::Manual};
  std::shared_ptr<TestServer> server = std::make_shared<TestServer>();
  std::optional<Informer> informer;
  Subscription subscription;
  std::vector<std::string> told;
  rt::Scope scope;
};

}  // namespace kopper::cache
