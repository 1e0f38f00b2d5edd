// The cache against a real server: it syncs, reads its own writes, and survives what real servers do.
#include "kopper/cache/cache.h"

#include <functional>

#include "kopper/meta/crd.h"

#include "real/connect.h"

namespace kopper::testing {
namespace {

using cache::Cache;
using cache::Informer;
using cache::InformerOptions;
using namespace std::chrono_literals;

struct GizmoSpec {
  std::int32_t size = 1;
};
struct Gizmo {
  static constexpr Kind kind{"cache.suite.example.com", "v1", "Gizmo"};
  ObjectMeta metadata;
  GizmoSpec spec;
};
struct GizmoV2 {
  static constexpr Kind kind{"cache.suite.example.com", "v2", "Gizmo"};
  ObjectMeta metadata;
  GizmoSpec spec;
};

const client::Resource kCrds{.group = "apiextensions.k8s.io",
                             .version = "v1",
                             .plural = "customresourcedefinitions",
                             .kind = "CustomResourceDefinition",
                             .namespaced = false};
const Key kGizmoCrd("", "gizmos.cache.suite.example.com");

struct Cached : Real {
  void start() {
    running.emplace();
    running->spawn(cache.run());
    run(cache.wait_synced());
  }
  void until(const std::function<bool()>& holds) { run(poll(&holds)); }
  static Task<> poll(const std::function<bool()>* holds) {
    while (!(*holds)()) co_await rt::sleep(5ms);
  }
  InformerOptions here() const {
    InformerOptions options;
    options.namespaces = {ns};
    return options;
  }

  Cache cache{client};
  std::optional<rt::Scope> running;
};

TEST_F(Cached, SyncsAndReadsItsOwnWrites) {
  run(client.of<ConfigMap>().create(config_map("a")));
  auto& maps = cache.informer<ConfigMap>(here());
  std::vector<std::string> told;
  const auto subscription = maps.subscribe([&](const cache::Change& change) {
    if (change.object().name() == "kube-root-ca.crt") return;
    told.push_back((change.deleted() ? "-" : change.added() ? "+" : "~") + std::string(change.object().name()));
  });
  start();
  const auto reader = cache.reader<ConfigMap>();
  ASSERT_NE(reader.get(key("a")), nullptr);
  EXPECT_FALSE(maps.store().get(key("a"))->json().contains("managedFields"));

  const auto raw = client.of<ConfigMap>().raw();
  const auto answer = run(raw.create(key("b"), client::to_json(config_map("b")), {}));
  cache.note_write(maps.resource(), answer);
  EXPECT_EQ(reader.get(key("b"))->data.at("key"), "v");
  const auto changed = run(raw.patch(key("b"), client::PatchType::Merge, R"({"data":{"key":"w"}})", {}));
  cache.note_write(maps.resource(), changed);
  EXPECT_EQ(reader.get(key("b"))->data.at("key"), "w");
  const auto removed = run(raw.remove_with_answer(key("b"), {}));
  ASSERT_TRUE(removed);
  cache.note_delete(maps.resource(), key("b"), *removed);
  EXPECT_EQ(reader.get(key("b")), nullptr);
  run(client.of<ConfigMap>().create(config_map("c")));
  until([&] { return reader.get(key("c")) != nullptr; });
  EXPECT_THAT(told, ::testing::ElementsAre("+a", "+b", "~b", "-b", "+c")) << "the echoes of b told nothing";
  EXPECT_TRUE(maps.stats().lag.has_value());
}

TEST_F(Cached, SurvivesARestartOfTheServer) {
  auto& maps = cache.informer<ConfigMap>(here());
  for (int i = 0; i < 20; ++i) run(client.of<ConfigMap>().create(config_map(std::to_string(i))));
  start();
  cluster().restart_apiserver();
  run(client.of<ConfigMap>().remove(key("3")));
  run(client.of<ConfigMap>().create(config_map("new")));
  const auto reader = cache.reader<ConfigMap>();
  until([&] { return reader.get(key("new")) != nullptr && reader.get(key("3")) == nullptr; });
  const auto live = run(client.of<ConfigMap>().list({.namespace_ = ns}));
  EXPECT_EQ(reader.list({.namespace_ = ns}).size(), live.items.size());
  EXPECT_GE(maps.stats().failures, 1);
}

TEST_F(Cached, AKindComesGoesAndComesBackInAnotherVersion) {
  auto& gizmos = cache.informer<Gizmo>(here());
  auto following = here();
  following.any_version = true;
  following.label_selector = "!none";  // an informer of its own
  auto& any = cache.informer(client::resource_of<Gizmo>(), following);
  start();
  EXPECT_TRUE(gizmos.missing());

  run(client.of(kCrds).apply(meta::crd<Gizmo>()));
  until([&] { return gizmos.synced() && any.synced(); });
  Gizmo one;
  one.metadata.name = "one";
  one.metadata.namespace_ = ns;
  run(client.of<Gizmo>().create(one));
  until([&] { return gizmos.store().get(key("one")) && any.store().get(key("one")); });

  run(client.of(kCrds).remove(kGizmoCrd));
  until([&] { return !gizmos.store().get(key("one")) && gizmos.missing() && any.missing(); });

  run(client.of(kCrds).apply(meta::crd<GizmoV2>()));
  until([&] { return any.synced() && !any.missing(); });
  EXPECT_EQ(any.resource().version, "v2");
  until([&] { return gizmos.stats().last_error.contains("in version v2, but not in v1"); });
  GizmoV2 two;
  two.metadata.name = "two";
  two.metadata.namespace_ = ns;
  run(client.of<GizmoV2>().create(two));
  until([&] { return static_cast<bool>(any.store().get(key("two"))); });
  EXPECT_EQ(any.store().view<json::Value>(any.store().get(key("two")))->text("apiVersion"),
            "cache.suite.example.com/v2");
  run(client.of(kCrds).remove(kGizmoCrd));
}

}  // namespace
}  // namespace kopper::testing
