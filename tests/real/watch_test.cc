// A watch that survives: 410, a restarted server, a renewed token. Every change is told once.
#include <fstream>
#include <map>

#include "real/account.h"

namespace kopper::testing {
namespace {

using api::corev1::PodTemplate;
using ::testing::Contains;
using ::testing::HasSubstr;

struct Watches : Watching {
  PodTemplate pod_template(std::string name) const {
    PodTemplate made;
    made.metadata.name = std::move(name);
    made.metadata.namespace_ = ns;
    Container container;
    container.name = "main";
    container.image = "busybox";
    made.template_.spec.containers.push_back(container);
    return made;
  }
};

// A server that knows no such thing is asked for a list instead, and nobody has to be told.
TEST_F(Watches, BeginsWithAWatchList) {
  run(other.of<ConfigMap>().create(config_map("a")));
  client::Changes<ConfigMap> changes(client.of<ConfigMap>(), {.namespace_ = ns});
  rt::Scope scope;
  scope.spawn(keep_account(&changes, &account));
  wait([&] { return account.synced == 1; });
  EXPECT_TRUE(told("a", "A"));
  EXPECT_THAT(wire->targets, Contains(HasSubstr("sendInitialEvents=true")));
  if (!cluster().before(32)) {
    EXPECT_THAT(wire->targets, Not(Contains(HasSubstr("limit="))));
  }
  EXPECT_THAT(account.failures, ::testing::IsEmpty());
}

TEST_F(Watches, ListAndWatchTellTheSame) {
  run(other.of<ConfigMap>().create(config_map("a")));
  run(other.of<ConfigMap>().create(config_map("b")));
  client::Changes<ConfigMap> changes(client.of<ConfigMap>(), {.namespace_ = ns, .page_size = 1, .watch_list = false});
  rt::Scope scope;
  scope.spawn(keep_account(&changes, &account));
  wait([&] { return account.synced == 1; });
  run(other.of<ConfigMap>().create(config_map("c")));
  wait([&] { return told("c", "A"); });
  EXPECT_TRUE(told("a", "A") && told("b", "A"));
}

TEST_F(Watches, MetadataAndDynamicObjects) {
  KOPPER_NEEDS_MINOR(32, "sendInitialEvents");
  run(other.of<ConfigMap>().create(config_map("a")));
  auto values = run(client.of(client::resource_of<ConfigMap>())
                        .watch({.namespace_ = ns, .field_selector = kOurs, .initial_events = true}));
  const auto event = run(values.next());
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, client::WatchType::Added);
  EXPECT_EQ(event->object["data"].text("key"), "v");
  const auto end = run(values.next());
  EXPECT_TRUE(end->initial_events_end);
  EXPECT_FALSE(end->resource_version.empty());
}

// What the watch had not seen is compacted away while the wire is cut: the server answers 410, and only the list is
// left.
TEST_F(Watches, SurvivesAForced410WithExactAccounts) {
  const auto templates = other.of<PodTemplate>();
  for (const auto* name : {"same", "changed", "gone", "remade"}) run(templates.create(pod_template(name)));
  client::Changes<PodTemplate> changes(client.of<PodTemplate>(), {.namespace_ = ns});
  rt::Scope scope;
  scope.spawn(keep_account(&changes, &account));
  wait([&] { return account.synced == 1; });

  wire->cut();
  run(templates.create(pod_template("new")));
  run(templates.modify(key("changed"), [](PodTemplate& made) { made.metadata.labels["a"] = "b"; }));
  run(templates.remove(key("gone")));
  run(templates.remove(key("remade")));
  run(templates.create(pod_template("remade")));
  run(templates.create(pod_template("brief")));
  run(templates.remove(key("brief")));
  cluster().compact_etcd();
  wire->mend();

  wait([&] { return account.synced == 2; });
  EXPECT_THAT(account.failures, Contains(HasSubstr("too old")));
  run(templates.create(pod_template("after")));
  wait([&] { return told("after", "A"); });
  const std::map<std::string, std::string> expected{{"same", "A"},     {"changed", "AM"}, {"gone", "AD"},
                                                    {"remade", "ADA"}, {"new", "A"},      {"after", "A"}};
  EXPECT_EQ(account.told, expected);
}

TEST_F(Watches, SurvivesARestartOfTheServerWithExactAccounts) {
  const auto maps = other.of<ConfigMap>();
  client::Changes<ConfigMap> changes(client.of<ConfigMap>(), {.namespace_ = ns});
  rt::Scope scope;
  scope.spawn(keep_account(&changes, &account));
  wait([&] { return account.synced == 1; });

  std::map<std::string, std::string> expected;
  const auto create = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      run(maps.create(config_map("m" + std::to_string(i))));
      expected["m" + std::to_string(i)] = "A";
    }
  };
  create(0, 50);
  cluster().restart_apiserver();
  create(50, 100);
  for (int i = 40; i < 60; ++i) {
    run(maps.remove(key("m" + std::to_string(i))));
    expected["m" + std::to_string(i)] += "D";
  }
  run(maps.create(config_map("last")));
  expected["last"] = "A";
  wait([&] { return told("last", "A"); });
  // An object that came and went while the watch was away leaves no trace; any other is told exactly once.
  for (int i = 50; i < 60; ++i) {
    const auto name = "m" + std::to_string(i);
    if (!account.told.contains(name)) expected.erase(name);
  }
  EXPECT_EQ(account.told, expected);
}

// The first token is withdrawn; the file has the second by then.
TEST_F(Watches, SurvivesARenewedToken) {
  auto config = admin_config();
  config.token.clear();
  config.token_file = cluster().rotating_token_file();
  const client::Client rotating(client::make_transport(config));
  const auto maps = other.of<ConfigMap>();
  client::Changes<ConfigMap> changes(rotating.of<ConfigMap>(), {.namespace_ = ns});
  rt::Scope scope;
  scope.spawn(keep_account(&changes, &account));
  wait([&] { return account.synced == 1; });
  run(maps.create(config_map("before")));
  wait([&] { return told("before", "A"); });

  const auto tokens = read_file(cluster().tokens_file());
  std::string without;
  std::istringstream lines(tokens);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(cluster().rotating_token_1() + ",")) without += line + "\n";
  }
  ASSERT_NE(without, tokens);
  write_file(cluster().rotating_token_file(), cluster().rotating_token_2());
  write_file(cluster().tokens_file(), without);
  cluster().restart_apiserver();
  run(maps.create(config_map("after")));
  wait([&] { return told("after", "A"); });
  EXPECT_EQ(account.told, (std::map<std::string, std::string>{{"before", "A"}, {"after", "A"}}));

  write_file(cluster().rotating_token_file(), cluster().rotating_token_1());
  write_file(cluster().tokens_file(), tokens);
  cluster().restart_apiserver();
}

}  // namespace
}  // namespace kopper::testing
