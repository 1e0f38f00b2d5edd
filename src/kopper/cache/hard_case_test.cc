#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/cache/cache.h"
#include "kopper/cache/test_fixture.h"

// What bit the caches of others, each case by its number in the list of hard cases.
namespace kopper::cache {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

struct HardCase : InformerFixture {};

TEST_F(HardCase, 01_DeleteAndRecreateWhileDisconnected) {
  server->put(kA, 1);
  start();
  told.clear();
  server->pause_watches(true);
  const auto old = server->uid(kA);
  server->remove(kA);
  server->put(kA, 2);
  server->forget_history();
  server->break_watches();
  pass_until([&] { return !told.empty(); });
  EXPECT_NE(server->uid(kA), old);
  EXPECT_THAT(news(), ElementsAre("-n/a:101 missed", "+n/a:103"));
  EXPECT_EQ(informer->store().get(kA)->uid(), server->uid(kA));
}

TEST_F(HardCase, 02_TombstoneWithStaleObject) {
  server->put(kA, 1);
  server->put(kB, 1);
  start();
  informer->add_index("size", by_field("spec.size"));
  told.clear();
  server->pause_watches(true);
  server->put(kA, 2);  // never seen
  server->remove(kA);
  server->forget_history();
  server->break_watches();
  pass_until([&] { return !told.empty(); });
  EXPECT_THAT(news(), ElementsAre("-n/a:101 missed")) << "the last that was seen";
  EXPECT_EQ(informer->store().by_index("size", "1").size(), 1);
}

TEST_F(HardCase, 03_WatchEndsAtOnceRepeatedly) {
  server->watch_list = false;
  server->short_watches = true;
  start();
  server->seen.clear();
  loop.advance(60s);
  EXPECT_LT(server->count("watch=true"), 12) << "paced";
  EXPECT_GT(server->count("watch=true"), 2) << "but not given up";
  EXPECT_EQ(server->count("limit="), 0) << "and no list for it";
  server->short_watches = false;
  server->put(kA);
  pass_until([&] { return !told.empty(); });
  EXPECT_THAT(news(), ElementsAre("+n/a:101"));
}

TEST_F(HardCase, 04_GoneOnFirstWatchAfterASlowList) {
  server->watch_list = false;
  server->put(kA);
  server->put(kB);
  server->pause_lists(true);
  start();
  server->put(kA, 2);
  server->remove(kB);
  server->forget_history();
  server->pause_lists(false);
  loop.poll();
  EXPECT_TRUE(informer->synced());
  pass_until([&] { return informer->stats().relists > 0; });
  EXPECT_EQ(size_of(kA), 2);
  EXPECT_FALSE(informer->store().get(kB));
  EXPECT_EQ(server->count("limit="), 2);
  EXPECT_EQ(informer->stats().last_error, "");
}

TEST_F(HardCase, 05_TooLargeResourceVersionAfterSwitchingServer) {
  server->put(kA, 1);
  server->put(kB, 1);
  start();
  told.clear();
  // The one that answers now was restored from a backup: older versions, and an object less.
  server->go_back_to(50);
  server->remove(kB);
  server->put(kA, 9);
  pass_until([&] { return informer->stats().relists > 0; });
  EXPECT_EQ(size_of(kA), 9);
  EXPECT_FALSE(informer->store().get(kB));
  server->put(kA, 10);
  loop.poll();
  EXPECT_EQ(size_of(kA), 10) << "news of the new server is not taken for old";
}

TEST_F(HardCase, 06_OutOfOrderAddedAtTheStart) {
  server->put(kA);
  server->put(kB);
  server->put(kA, 2);
  start();
  EXPECT_THAT(news(), ElementsAre("+n/b:102 initial", "+n/a:103 initial"));
  server->seen.clear();
  server->break_watches();
  pass_until([&] { return !server->seen.empty(); });
  EXPECT_THAT(server->seen.at(0), HasSubstr("resourceVersion=103")) << "not the version of the last object that came";
}

TEST_F(HardCase, 07_BookmarkOnlyTrafficForHoursThenResume) {
  server->put(kA);
  start();
  for (int minute = 0; minute < 240; ++minute) {
    server->version += 1000;  // others change
    server->bookmark();
    loop.advance(1min);
    if (minute % 7 == 0) server->end_watches();
  }
  EXPECT_EQ(informer->stats().last_event, loop.now() - 1min);
  server->forget_history();
  server->seen.clear();
  server->break_watches();
  told.clear();
  pass_until([&] { return !server->seen.empty(); });
  server->put(kB);
  loop.poll();
  EXPECT_THAT(news(), ElementsAre("+n/b:240102"));
  EXPECT_EQ(server->count("sendInitialEvents"), 0) << "resumed from the last bookmark";
  EXPECT_EQ(informer->stats().relists, 0);
}

TEST_F(HardCase, 11_CrdMissingAtTheStart) {
  server->missing_message = "the server could not find the requested resource";
  start();
  loop.run(informer->wait_settled());
  EXPECT_TRUE(informer->missing());
  EXPECT_FALSE(informer->synced());
  EXPECT_EQ(Reader<Widget>(*informer).get(kA), nullptr) << "there is none, for sure";
  server->missing_message.clear();
  server->put(kA);
  pass_until([&] { return informer->synced(); });
  EXPECT_FALSE(informer->missing());
  EXPECT_THAT(news(), ElementsAre("+n/a:101 initial"));
}

TEST_F(HardCase, 11_CrdDeletedAndRecreated) {
  server->put(kA);
  start();
  told.clear();
  server->missing_message = "gone";
  server->break_watches();
  pass_until([&] { return informer->missing(); });
  EXPECT_TRUE(informer->store().get(kA)) << "a server that restarts says so too";
  pass_until([&] { return !told.empty(); });
  EXPECT_THAT(news(), ElementsAre("-n/a:101 missed"));
  EXPECT_FALSE(informer->synced());
  server->missing_message.clear();
  pass_until([&] { return informer->synced(); });
  EXPECT_THAT(news(), ElementsAre("+n/a:101 initial"));
}

// What the server says of the group, with one version.
void serve_only(TestServer& server, const std::string& version) {
  server.served = version;
  server.documents = {
      {"/apis/example.com",
       fmt::format(R"({{"kind":"APIGroup","versions":[{{"version":"{0}"}}],"preferredVersion":{{"version":"{0}"}}}})",
                   version)},
      {"/apis/example.com/" + version,
       R"({"kind":"APIResourceList","resources":[{"name":"widgets/status"},{"name":"widgets"}]})"}};
}

TEST_F(HardCase, 11_CrdRecreatedWithAnotherVersion) {
  server->put(kA, 1);
  InformerOptions options;
  options.any_version = true;
  start(options);
  told.clear();
  serve_only(*server, "v2");
  server->break_watches();
  pass_until([&] { return !told.empty(); });
  EXPECT_THAT(news(), ElementsAre("~n/a:101")) << "the same object in another form";
  EXPECT_EQ(informer->resource().version, "v2");
  EXPECT_FALSE(informer->missing());
  server->put(kB);
  loop.poll();
  EXPECT_THAT(news(), ElementsAre("+n/b:102"));
}

TEST_F(HardCase, 11_CrdRecreatedWithoutTheVersionOfTheType) {
  server->put(kA, 1);
  start();
  serve_only(*server, "v2");
  server->break_watches();
  pass_until([&] { return !informer->store().get(kA); });
  EXPECT_TRUE(informer->missing());
  EXPECT_THAT(informer->stats().last_error, HasSubstr("widgets.example.com in version v2, but not in v1"));
  serve_only(*server, "v1");
  pass_until([&] { return informer->synced(); });
  EXPECT_EQ(size_of(kA), 1);
}

TEST_F(HardCase, 12_HandlerSlowerThanTheEventRate) {
  start();
  std::size_t most = 0;
  const auto slow = informer->subscribe([&](const Change& change) {
    most = std::max(most, server->sent_events - (change.object().resource_version() - 100));
  });
  for (int i = 0; i < 20'000; ++i) server->put(Key("n", std::to_string(i % 10)), i);
  loop.poll();
  EXPECT_LE(most, 1) << "nothing is read ahead of those who handle it";
  EXPECT_EQ(informer->store().size().objects, 10);
  EXPECT_LT(informer->store().size().bytes, 5'000);
}

TEST_F(HardCase, 19_NoOpOwnWriteConcurrentWithAForeignChange) {
  server->put(kA, 1);
  start();
  server->pause_watches(true);
  told.clear();
  // Somebody changes it; then we apply something that changes nothing. The answer holds what they did.
  const auto answer = server->put(kA, 42);
  informer->note_write(answer);
  EXPECT_THAT(news(), ElementsAre("~n/a:102")) << "told, though the answer is to us";
  EXPECT_EQ(size_of(kA), 42);
  server->pause_watches(false);
  loop.poll();
  EXPECT_THAT(news(), IsEmpty()) << "and told once";
}

TEST_F(HardCase, 19_OwnWriteOverAForeignChange) {
  server->put(kA, 1);
  start();
  server->pause_watches(true);
  told.clear();
  server->put(kA, 2);                        // foreign
  informer->note_write(server->put(kA, 3));  // ours
  server->put(kA, 4);                        // foreign
  server->pause_watches(false);
  loop.poll();
  EXPECT_THAT(news(), ElementsAre("~n/a:103", "~n/a:104")) << "never back to 102";
  EXPECT_EQ(size_of(kA), 4);
}

TEST_F(HardCase, 19_OwnWriteDuringARelist) {
  server->watch_list = false;
  server->put(kA, 1);
  server->put(kB, 1);
  start();
  server->pause_watches(true);
  server->pause_lists(true);
  server->put(kB, 2);
  server->forget_history();
  server->break_watches();
  pass_until([&] { return server->count("limit=") == 2; });
  told.clear();
  // The list was read before these.
  informer->note_write(server->put(kA, 7));
  informer->note_write(server->put(Key("n", "c"), 7));
  server->pause_lists(false);
  loop.poll();
  EXPECT_EQ(informer->stats().relists, 1);
  EXPECT_EQ(size_of(kA), 7);
  EXPECT_EQ(size_of(Key("n", "c")), 7);
  EXPECT_EQ(size_of(kB), 2);
  server->pause_watches(false);
  loop.poll();
  EXPECT_THAT(news(), ElementsAre("~n/a:104", "+n/c:105", "~n/b:103"));
}

TEST_F(HardCase, 20_NamespacesChangedWhileListsAreInFlight) {
  server->watch_list = false;
  server->put(Key("one", "x"));
  server->put(Key("two", "x"));
  server->put(Key("three", "x"));
  server->pause_lists(true);
  InformerOptions options;
  options.namespaces = {"one", "two"};
  start(options);
  EXPECT_FALSE(informer->synced());
  informer->set_namespaces({"two", "three"});
  loop.poll();
  server->pause_lists(false);
  loop.poll();
  EXPECT_TRUE(informer->synced());
  EXPECT_FALSE(informer->watches("one"));
  EXPECT_THAT(news(),
              ElementsAre("+one/x:101 initial", "+two/x:102 initial", "-one/x:101 missed", "+three/x:103 initial"));

  informer->set_namespaces({"one", "three"});
  loop.poll();
  EXPECT_THAT(news(), ElementsAre("-two/x:102 missed", "+one/x:101 initial"));
  server->put(Key("two", "y"));
  server->put(Key("one", "y"));
  loop.poll();
  EXPECT_THAT(news(), ElementsAre("+one/y:105"));

  informer->set_namespaces({});
  loop.poll();
  EXPECT_TRUE(informer->synced());
  EXPECT_EQ(informer->store().size().objects, 5);
}

TEST_F(HardCase, 20_NamespacesChangedByAHandler) {
  server->put(Key("one", "x"));
  server->put(Key("two", "x"));
  InformerOptions options;
  options.namespaces = {"one"};
  start(options);
  const auto changing = informer->subscribe([this](const Change& change) {
    if (change.object().name() == "go") informer->set_namespaces({"two"});
  });
  server->put(Key("one", "go"));
  loop.poll();
  EXPECT_EQ(informer->store().size().objects, 1);
  EXPECT_TRUE(informer->store().get(Key("two", "x")));
}

TEST_F(HardCase, 21_LargeObjectsAndUnknownFieldsUntouched) {
  const std::string big(1'500'000, 'x');
  const std::string note(256'000, 'y');
  const std::string odd =
      R"("kind":"Widget","x-future":{"e":"NewEnum","oneOf":[1,{"a":null}],"n":12345678901234567890,"f":1e400})";
  const auto object = fmt::format(
      R"({{"metadata":{{"name":"a","namespace":"n","uid":"u","resourceVersion":"5","annotations":{{"note":"{}"}},"futureMeta":[true]}},{},"spec":{{"size":3,"blob":"{}"}}}})",
      note, odd, big);
  Store store;
  Mirror mirror(store, [](const Change&) {});
  mirror.begin();
  ASSERT_TRUE(mirror.initial(object));
  mirror.done(5);
  const auto record = store.get(kA);
  EXPECT_EQ(record->json(), object) << "byte for byte";
  EXPECT_EQ(record->annotations().at("note").size(), note.size());
  EXPECT_EQ(store.view<Widget>(record)->spec.size, 3);
}

}  // namespace
}  // namespace kopper::cache
