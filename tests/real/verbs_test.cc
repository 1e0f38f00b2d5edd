// Every verb, and what the options of each do, against a real server.
#include "kopper/client/partial_object.h"
#include "kopper/client/pod_io.h"

#include "real/connect.h"

namespace kopper::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Verbs : Real {};

TEST_F(Verbs, CreateReadUpdateDelete) {
  const auto maps = client.of<ConfigMap>();
  const auto created = run(maps.create(config_map("a")));
  EXPECT_FALSE(created.metadata.uid.empty());
  EXPECT_EQ(error_of(maps.create(config_map("a"))).code, Code::AlreadyExists);
  EXPECT_FALSE(run(maps.create_if_absent(config_map("a"))));
  EXPECT_TRUE(run(maps.create_if_absent(config_map("b"))));

  EXPECT_EQ(run(maps.get(key("a"))), created);
  EXPECT_FALSE(run(maps.find(key("absent"))));
  EXPECT_EQ(error_of(maps.get(key("absent"))).code, Code::NotFound);

  auto changed = created;
  changed.data["key"] = "new";
  const auto updated = run(maps.update(changed));
  ASSERT_TRUE(updated);
  EXPECT_EQ(updated->data.at("key"), "new");
  EXPECT_FALSE(run(maps.update(changed)));  // its resourceVersion is old now
  EXPECT_EQ(run(maps.modify(key("a"), [](ConfigMap& map) { map.data["other"] = "x"; })).data.size(), 2U);

  EXPECT_EQ(run(maps.list({.namespace_ = ns, .field_selector = kOurs})).items.size(), 2U);
  EXPECT_TRUE(run(maps.remove(key("a"))));
  EXPECT_FALSE(run(maps.remove(key("a"))));
}

// Two writers, one field each: nobody's write is lost.
TEST_F(Verbs, ModifySurvivesConflicts) {
  const auto maps = client.of<ConfigMap>();
  run(maps.create(config_map("counter", "0")));
  std::vector<Task<ConfigMap>> writers;
  for (int i = 0; i < 8; ++i) {
    writers.push_back(maps.modify(
        key("counter"), [](ConfigMap& map) { map.data["key"] = std::to_string(std::stoi(map.data["key"]) + 1); }));
  }
  run(rt::all(std::move(writers)));
  EXPECT_EQ(run(maps.get(key("counter"))).data.at("key"), "8");
}

// A type that knows nothing of `data`.
struct Slim {
  static constexpr Kind kind{.group = "", .version = "v1", .kind = "ConfigMap"};
  ObjectMeta metadata;
};

TEST_F(Verbs, UpdateKeepsFieldsThatTheTypeDoesNotKnow) {
  run(client.of<ConfigMap>().create(config_map("a", "kept")));
  run(client.of<Slim>().modify(key("a"), [](Slim& map) { map.metadata.labels["seen"] = "yes"; }));
  const auto map = run(client.of<ConfigMap>().get(key("a")));
  EXPECT_EQ(map.data.at("key"), "kept");
  EXPECT_EQ(map.metadata.labels.at("seen"), "yes");
}

TEST_F(Verbs, DryRunWritesNothing) {
  const auto maps = client.of<ConfigMap>();
  EXPECT_FALSE(run(maps.create(config_map("a"), {.dry_run = true})).metadata.uid.empty());
  EXPECT_FALSE(run(maps.find(key("a"))));
  run(maps.create(config_map("a")));
  EXPECT_TRUE(run(maps.remove(key("a"), {.dry_run = true})));
  EXPECT_TRUE(run(maps.find(key("a"))));
}

TEST_F(Verbs, FieldValidation) {
  KOPPER_NEEDS_MINOR(25, "fieldValidation");
  const auto maps = client.of(client::resource_of<ConfigMap>());
  const auto misspelt = [&](std::string name) {
    return json::Value(json::Object{{"apiVersion", "v1"},
                                    {"kind", "ConfigMap"},
                                    {"metadata", json::Object{{"name", std::move(name)}, {"namespace", ns}}},
                                    {"dta", json::Object{}}});
  };
  const auto refused = error_of(maps.create(misspelt("a"), {.field_validation = client::FieldValidation::Strict}));
  EXPECT_EQ(refused.code, Code::Invalid);
  EXPECT_THAT(refused.what(), HasSubstr("unknown field \"dta\""));
  run(maps.create(misspelt("b"), {.field_validation = client::FieldValidation::Warn}));
  EXPECT_THAT(warnings, ElementsAre("unknown field \"dta\""));
  run(maps.create(misspelt("c"), {.field_validation = client::FieldValidation::Ignore}));
  EXPECT_EQ(warnings.size(), 1U);
}

TEST_F(Verbs, Preconditions) {
  const auto maps = client.of<ConfigMap>();
  const auto map = run(maps.create(config_map("a")));
  EXPECT_EQ(error_of(maps.remove(key("a"), {.uid = "00000000-0000-0000-0000-000000000000"})).code, Code::Conflict);
  EXPECT_EQ(error_of(maps.remove(key("a"), {.resource_version = "1"})).code, Code::Conflict);
  EXPECT_TRUE(run(maps.remove(key("a"), {.uid = map.metadata.uid, .resource_version = map.metadata.resourceVersion})));
}

TEST_F(Verbs, DeleteCollection) {
  const auto maps = client.of<ConfigMap>();
  for (const auto* name : {"a", "b", "c"}) {
    auto map = config_map(name);
    if (name != std::string("c")) map.metadata.labels["group"] = "x";
    run(maps.create(map));
  }
  run(maps.remove_all({.namespace_ = ns, .label_selector = "group=x"}));
  const auto left = run(maps.list({.namespace_ = ns, .field_selector = kOurs}));
  ASSERT_EQ(left.items.size(), 1U);
  EXPECT_EQ(left.items[0].metadata.name, "c");
}

TEST_F(Verbs, Selectors) {
  const auto maps = client.of<ConfigMap>();
  run(maps.create(config_map("a")));
  run(maps.create(config_map("b")));
  EXPECT_EQ(run(maps.list({.namespace_ = ns, .field_selector = "metadata.name=b"})).items.size(), 1U);
  EXPECT_EQ(error_of(maps.list({.label_selector = "a in"})).code, Code::Invalid);
}

TEST_F(Verbs, MetadataOnly) {
  run(client.of<ConfigMap>().create(config_map("a", std::string(10'000, 'x'))));
  const auto partial = client.metadata_of(client::resource_of<ConfigMap>());
  EXPECT_EQ(run(partial.get(key("a"))).metadata.name, "a");
  EXPECT_EQ(run(partial.list({.namespace_ = ns, .field_selector = kOurs})).items.size(), 1U);
  EXPECT_LT(
      run(client.call(client::get_request(client::resource_of<ConfigMap>(), key("a"), {}, client::View::Metadata)))
          .size(),
      5'000U);
  const json::Value label{json::Object{{"metadata", json::Object{{"labels", json::Object{{"l", "v"}}}}}}};
  EXPECT_EQ(run(partial.patch(key("a"), client::PatchType::Merge, label)).metadata.labels.at("l"), "v");
}

Deployment deployment(const std::string& ns, std::string name) {
  const Labels labels{{"app", name}};
  Deployment made;
  made.metadata.name = std::move(name);
  made.metadata.namespace_ = ns;
  made.spec.replicas = 2;
  made.spec.selector.matchLabels = labels;
  made.spec.template_.metadata.labels = labels;
  Container container;
  container.name = "main";
  container.image = "busybox";
  made.spec.template_.spec.containers.push_back(container);
  return made;
}

TEST_F(Verbs, ScaleAndStatusSubresources) {
  const auto deployments = client.of<Deployment>();
  run(deployments.create(deployment(ns, "web")));
  EXPECT_EQ(run(deployments.scale(key("web"))).replicas, 2);
  EXPECT_EQ(run(deployments.set_scale(key("web"), 5)).replicas, 5);
  EXPECT_EQ(run(deployments.get(key("web"))).spec.replicas, 5);

  // A write to /status changes the status alone.
  const auto updated = run(deployments.modify(key("web"),
                                              [](Deployment& live) {
                                                live.status.replicas = 3;
                                                live.spec.replicas = 9;
                                              },
                                              {.subresource = "status"}));
  EXPECT_EQ(updated.status.replicas, 3);
  EXPECT_EQ(updated.spec.replicas, 5);
}

TEST_F(Verbs, Eviction) {
  const auto pods = client.of<Pod>();
  Pod pod;
  pod.metadata.name = "p";
  pod.metadata.namespace_ = ns;
  pod.metadata.labels["app"] = "p";
  Container container;
  container.name = "main";
  container.image = "busybox";
  pod.spec.containers.push_back(container);
  run(pods.create(pod));
  run(pods.modify(key("p"), [](Pod& live) { live.status.phase = "Running"; }, {.subresource = "status"}));

  const std::string version = cluster().before(21) ? "v1beta1" : "v1";
  const json::Value budget{json::Object{
      {"apiVersion", "policy/" + version},
      {"kind", "PodDisruptionBudget"},
      {"metadata", json::Object{{"name", "b"}, {"namespace", ns}}},
      {"spec",
       json::Object{{"minAvailable", 1}, {"selector", json::Object{{"matchLabels", json::Object{{"app", "p"}}}}}}}}};
  const client::Resource budgets{.group = "policy",
                                 .version = version,
                                 .plural = "poddisruptionbudgets",
                                 .kind = "PodDisruptionBudget",
                                 .namespaced = true};
  run(client.of(budgets).create(budget));
  const auto blocked = run(client::evict(client, key("p")));
  EXPECT_EQ(blocked.outcome, client::Eviction::Outcome::Blocked);
  EXPECT_THAT(blocked.message, HasSubstr("disruption budget b"));
  run(client.of(budgets).remove(key("b")));
  EXPECT_EQ(run(client::evict(client, key("p"))).outcome, client::Eviction::Outcome::Evicted);
  EXPECT_EQ(run(client::evict(client, key("absent"))).outcome, client::Eviction::Outcome::Absent);
}

TEST_F(Verbs, AMissingKindIsToldApartFromAMissingObject) {
  const client::Resource widgets{
      .group = "no.example.com", .version = "v1", .plural = "widgets", .kind = "Widget", .namespaced = true};
  const auto error = error_of(client.of(widgets).find(key("a")));
  EXPECT_EQ(error.code, Code::Unsupported);
  EXPECT_EQ(error.http_status, 404);
}

// ---- paging

Task<> create_some(client::Api<ConfigMap> maps, std::string ns, int from, int to) {
  for (int i = from; i < to; ++i) {
    ConfigMap map;
    map.metadata.name = "m" + std::to_string(i);
    map.metadata.namespace_ = ns;
    co_await maps.create(map);
  }
}

TEST_F(Verbs, TwoThousandObjectsInPages) {
  const auto maps = client.of<ConfigMap>();
  std::vector<Task<>> writers;
  for (int i = 0; i < 20; ++i) writers.push_back(create_some(maps, ns, i * 100, (i + 1) * 100));
  loop.run(rt::all(std::move(writers)));

  wire->targets.clear();
  std::set<std::string> names;
  const auto version = run(maps.for_each({.namespace_ = ns, .field_selector = kOurs, .page_size = 300},
                                         [&](ConfigMap map) { names.insert(map.metadata.name); }));
  EXPECT_EQ(names.size(), 2'000U);
  EXPECT_FALSE(version.empty());
  EXPECT_EQ(wire->targets.size(), 7U);
  EXPECT_EQ(run(maps.list({.namespace_ = ns, .field_selector = kOurs})).items.size(), 2'000U);
  run(maps.remove_all({.namespace_ = ns}));
  EXPECT_TRUE(run(maps.list({.namespace_ = ns, .field_selector = kOurs})).items.empty());
}

TEST_F(Verbs, AnExpiredPageBeginsTheListAnew) {
  const auto templates = client.of<api::corev1::PodTemplate>();
  for (const auto* name : {"a", "b", "c"}) {
    api::corev1::PodTemplate made;
    made.metadata.name = name;
    made.metadata.namespace_ = ns;
    Container container;
    container.name = "main";
    container.image = "busybox";
    made.template_.spec.containers.push_back(container);
    run(templates.create(made));
  }
  std::vector<std::string> names;
  int restarts = 0;
  const auto each = [&](const api::corev1::PodTemplate& made) {
    if (restarts == 0) cluster().compact_etcd();
    names.push_back(made.metadata.name);
  };
  const auto restart = [&] {
    ++restarts;
    names.clear();
  };
  run(templates.for_each({.namespace_ = ns, .page_size = 1}, each, nullptr, restart));
  EXPECT_EQ(restarts, 1);
  EXPECT_THAT(names, ElementsAre("a", "b", "c"));
}

}  // namespace
}  // namespace kopper::testing
