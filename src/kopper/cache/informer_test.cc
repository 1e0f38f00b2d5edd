#include "kopper/cache/informer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/gen/meta_v1.h"
#include "kopper/cache/cache.h"
#include "kopper/cache/test_server.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

namespace kopper::cache {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

struct WidgetSpec {
  std::int32_t size = 0;
};
struct Widget {
  static constexpr Kind kind{"example.com", "v1", "Widget"};
  api::metav1::ObjectMeta metadata;
  WidgetSpec spec;
};

const Key kA("n", "a");
const Key kB("n", "b");

struct InformerTest : testing::Test {
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

TEST_F(InformerTest, MirrorsTheServer) {
  server->put(kA, 1);
  start();
  EXPECT_TRUE(informer->synced());
  EXPECT_THAT(news(), ElementsAre("+n/a:101 initial"));
  server->put(kB, 2);
  server->put(kA, 3);
  server->remove(kB);
  loop.poll();
  EXPECT_THAT(news(), ElementsAre("+n/b:102", "~n/a:103", "-n/b:102"));
  EXPECT_EQ(size_of(kA), 3);
  EXPECT_EQ(size_of(kB), std::nullopt);
  EXPECT_EQ(informer->stats().size.objects, 1);
}

}  // namespace
}  // namespace kopper::cache
