#include "kopper/cache/informer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/cache/cache.h"
#include "kopper/cache/test_fixture.h"

namespace kopper::cache {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

struct InformerTest : InformerFixture {};

// Other ideas of what a widget is.
struct Small {
  static constexpr Kind kind{"example.com", "v1", "Widget"};
  api::metav1::ObjectMeta metadata;
};
struct StrictSpec {
  std::string size;
};
struct Strict {
  static constexpr Kind kind{"example.com", "v1", "Widget"};
  api::metav1::ObjectMeta metadata;
  StrictSpec spec;
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

TEST_F(InformerTest, ASecondSubscriberGetsWhatIsThere) {
  server->put(kA);
  server->put(kB);
  start();
  told.clear();
  const auto second = informer->subscribe([this](const Change& change) { tell(change); });
  EXPECT_THAT(news(), ElementsAre("+n/a:101 initial", "+n/b:102 initial"));
  server->remove(kA);
  loop.poll();
  EXPECT_THAT(news(), ElementsAre("-n/a:101", "-n/a:101"));
}

TEST_F(InformerTest, ASubscriptionEndsWithItsOwner) {
  start();
  subscription = Subscription();
  server->put(kA);
  loop.poll();
  EXPECT_THAT(news(), IsEmpty());
}

TEST_F(InformerTest, HandlersMaySubscribeAndUnsubscribe) {
  start();
  Subscription inner;
  const auto outer = informer->subscribe([&](const Change& change) {
    subscription = Subscription();
    if (!change.deleted()) inner = informer->subscribe([this](const Change& each) { tell(each); });
  });
  server->put(kA);
  server->put(kB);
  loop.poll();
  // Told once each, though the second subscriber was made amid the first change.
  EXPECT_EQ(std::ranges::count(told, "+n/a:101 initial"), 2);
  EXPECT_EQ(std::ranges::count(told, "+n/b:102"), 0);
  EXPECT_EQ(told.front(), "+n/a:101");
}

TEST_F(InformerTest, AThrowingSubscriberStopsNobody) {
  start();
  const auto bad = informer->subscribe([](const Change&) { throw Error(Code::Internal, "oops"); });
  server->put(kA);
  server->put(kB);
  loop.poll();
  EXPECT_THAT(news(), ElementsAre("+n/a:101", "+n/b:102"));
}

TEST_F(InformerTest, StopsAndRunsAgain) {
  server->put(kA);
  informer.emplace(client::Client(server), kWidgets);
  subscription = informer->subscribe([this](const Change& change) { tell(change); });
  {
    rt::Scope once;
    once.spawn(informer->run());
    loop.poll();
    EXPECT_TRUE(informer->synced());
  }
  server->put(kB);
  scope.spawn(informer->run());
  loop.poll();
  EXPECT_THAT(news(), ElementsAre("+n/a:101 initial", "+n/b:102 initial"));
}

TEST_F(InformerTest, ReadsItsOwnWrites) {
  server->put(kA);
  start();
  server->pause_watches(true);
  told.clear();
  informer->note_write(server->put(kA, 5));
  EXPECT_EQ(size_of(kA), 5);
  EXPECT_THAT(news(), ElementsAre("~n/a:102"));
  loop.advance(3s);
  server->pause_watches(false);
  loop.poll();
  EXPECT_THAT(news(), IsEmpty()) << "the echo is no news";
  EXPECT_EQ(informer->stats().lag, 3s);
}

TEST_F(InformerTest, ReadsItsOwnDeletes) {
  const auto old = server->put(kA);
  start();
  server->pause_watches(true);
  told.clear();
  server->put(kA, 2);
  const auto uid = server->uid(kA);
  server->remove(kA);
  informer->note_delete(kA, R"({"kind":"Status","status":"Success","details":{"name":"a","uid":")" + uid + R"("}})");
  EXPECT_FALSE(informer->store().get(kA));
  EXPECT_THAT(news(), ElementsAre("-n/a:101"));
  informer->note_write(old);
  server->pause_watches(false);
  loop.poll();
  EXPECT_THAT(news(), IsEmpty()) << "the change before the delete does not bring it back";
  server->put(kA);
  loop.poll();
  EXPECT_THAT(news(), ElementsAre("+n/a:104"));
}

TEST_F(InformerTest, ADeleteThatWaitsForFinalizersIsAWrite) {
  server->put(kA);
  start();
  server->pause_watches(true);
  informer->note_delete(kA, server->put(kA, 1, R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")"));
  ASSERT_TRUE(informer->store().get(kA));
  EXPECT_TRUE(informer->store().get(kA)->deleting());
}

TEST_F(InformerTest, ADeleteMayAnswerWithTheLastStateOfWhatIsGone) {
  server->put(kA);
  start();
  server->pause_watches(true);
  informer->note_delete(kA, server->put(kA, 2));
  EXPECT_FALSE(informer->store().get(kA));
}

TEST_F(InformerTest, AnAnswerThatIsLateDoesNotBringBackWhatIsGone) {
  start();
  const auto answer = server->put(kA);
  server->remove(kA);
  loop.poll();
  told.clear();
  informer->note_write(answer);
  EXPECT_FALSE(informer->store().get(kA));
  EXPECT_THAT(news(), IsEmpty());
}

TEST_F(InformerTest, OwnWritesThatAreNotSelectedStayOut) {
  InformerOptions options;
  options.label_selector = "app=web";
  server->put(kA, 1, R"(,"labels":{"app":"web"})");
  start(options);
  EXPECT_TRUE(server->seen.at(0).contains("labelSelector=app%3Dweb"));
  server->pause_watches(true);
  told.clear();
  informer->note_write(server->put(kB));
  EXPECT_FALSE(informer->store().get(kB));
  informer->note_write(server->put(kA, 2, R"(,"labels":{"app":"db"})"));
  EXPECT_FALSE(informer->store().get(kA)) << "it left the selection";
  EXPECT_THAT(news(), ElementsAre("-n/a:101"));
}

TEST_F(InformerTest, OwnWritesAndFieldsThatOnlyTheServerKnows) {
  InformerOptions options;
  options.field_selector = "spec.phase=Good";
  server->put(kA, 1);
  start(options);
  EXPECT_TRUE(server->seen.at(0).contains("fieldSelector=spec.phase%3DGood"));
  server->pause_watches(true);
  informer->note_write(server->put(kA, 2));
  EXPECT_EQ(size_of(kA), 2) << "it was selected, as far as we know";
  informer->note_write(server->put(kB, 2));
  EXPECT_EQ(size_of(kB), std::nullopt) << "nobody can tell";
}

TEST_F(InformerTest, ABookmarkTellsThatAnAnswerIsOld) {
  start();
  server->pause_watches(true);
  const auto answer = server->put(kA);
  server->go_back_to(server->version);  // the watch that goes on begins after this
  server->bookmark();
  server->pause_watches(false);
  loop.advance(5s);
  told.clear();
  server->version += 10;
  server->bookmark();
  loop.poll();
  informer->note_write(answer);
  EXPECT_THAT(news(), IsEmpty());
}

TEST_F(InformerTest, AnAnswerOfAnotherKindIsNotTheObject) {
  server->put(kA, 4);
  start();
  informer->note_write(
      R"({"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"a","namespace":"n","uid":"uid-1","resourceVersion":"900"}})");
  EXPECT_EQ(size_of(kA), 4);
}

TEST_F(InformerTest, AMetadataOnlyCacheStaysOne) {
  InformerOptions options;
  options.metadata_only = true;
  server->put(kA, 4);
  start(options);
  server->pause_watches(true);
  informer->note_write(server->put(kA, 5, R"(,"labels":{"x":"1"})"));
  EXPECT_EQ(informer->store().get(kA)->label("x"), "1");
  EXPECT_FALSE(informer->store().get(kA)->json().contains("spec"));
}

TEST_F(InformerTest, AnErrorThatPassedIsNotShown) {
  server->put(kA);
  start();
  server->break_watches();
  loop.poll();
  EXPECT_THAT(informer->stats().last_error, HasSubstr("connection reset"));
  EXPECT_EQ(informer->stats().failures, 1);
  loop.advance(5s);
  server->bookmark();
  loop.poll();
  EXPECT_EQ(informer->stats().last_error, "");
}

TEST_F(InformerTest, StorageIsSwitchedWhileItRuns) {
  for (int i = 0; i < 300; ++i)
    server->put(Key("n", std::to_string(i)), i,
                R"(,"annotations":{"a":"some text that all of them have, and some more of it"})");
  InformerOptions options;
  options.storage = Storage::Raw;
  start(options);
  EXPECT_EQ(informer->stats().size.compressed, 0);
  informer->set_storage(Storage::Compressed);
  loop.poll();
  EXPECT_GT(informer->stats().size.compressed, 250);
  EXPECT_EQ(size_of(Key("n", "7")), 7);
  informer->set_storage(Storage::Raw);
  loop.poll();
  EXPECT_EQ(informer->stats().size.compressed, 0);
}

TEST_F(InformerTest, KeepsOnlyWhatATypeHas) {
  InformerOptions options;
  options.keep = keep_only<Small>();
  server->put(kA, 7, R"(,"labels":{"x":"1"},"managedFields":[{"manager":"m"}])");
  start(options);
  const auto record = informer->store().get(kA);
  EXPECT_FALSE(record->json().contains("spec"));
  EXPECT_FALSE(record->json().contains("managedFields"));
  EXPECT_EQ(record->label("x"), "1");
  EXPECT_EQ(record->resource_version(), 101);
}

TEST_F(InformerTest, WhatDoesNotFitIsKeptWholeAndCounted) {
  InformerOptions options;
  options.keep = keep_only<Strict>();
  server->put(kA, 7);
  start(options);
  EXPECT_EQ(informer->stats().unprojectable, 1);
  EXPECT_EQ(size_of(kA), 7);
}

TEST_F(InformerTest, AnObjectThatDoesNotDecodeStopsNobody) {
  server->put(kA);
  start();
  const Reader<Strict> reader(*informer);
  EXPECT_THAT(reader.list(), IsEmpty());
  try {
    reader.get(kA);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::Invalid);
    EXPECT_THAT(error.what(), HasSubstr("n/a: spec.size"));
  }
  EXPECT_EQ(informer->stats().undecodable, 2);
}

TEST_F(InformerTest, FallsBackToAListInPages) {
  server->watch_list = false;
  for (int i = 0; i < 5; ++i) server->put(Key("n", std::to_string(i)));
  InformerOptions options;
  options.page_size = 2;
  start(options);
  EXPECT_TRUE(informer->synced());
  EXPECT_EQ(informer->store().size().objects, 5);
  EXPECT_EQ(server->count("limit=2"), 3);
}

TEST_F(InformerTest, WaitersWakeWhenItIsSynced) {
  server->watch_list = false;
  server->pause_lists(true);
  server->put(kA);
  start();
  bool woke = false;
  struct Wait {
    static Task<> synced(Informer* informer, bool* woke) {
      co_await informer->wait_synced();
      *woke = true;
    }
  };
  scope.spawn(Wait::synced(&*informer, &woke));
  loop.poll();
  EXPECT_FALSE(woke);
  EXPECT_THROW(Reader<Widget>(*informer).get(kA), Error) << "nothing is known yet";
  server->pause_lists(false);
  loop.poll();
  EXPECT_TRUE(woke);
}

struct CacheTest : InformerFixture {
  Cache cache{client::Client(server, {.max_retries = 0})};
  rt::Scope running;
};

TEST_F(CacheTest, SharesOneInformer) {
  auto& one = cache.informer<Widget>();
  auto& two = cache.informer<Widget>();
  EXPECT_EQ(&one, &two);
  InformerOptions selective;
  selective.label_selector = "a=b";
  EXPECT_NE(&cache.informer<Widget>(selective), &one);
  EXPECT_EQ(cache.find(kWidgets), &one);
  EXPECT_THAT(cache.informers(), testing::SizeIs(2));
}

TEST_F(CacheTest, WatchesTheNamespacesOfAllWhoAsked) {
  InformerOptions a;
  a.namespaces = {"a"};
  InformerOptions b;
  b.namespaces = {"b"};
  auto& shared = cache.informer<Widget>(a);
  cache.informer<Widget>(b);
  EXPECT_THAT(shared.namespaces(), ElementsAre("a", "b"));
  cache.informer<Widget>();
  EXPECT_THAT(shared.namespaces(), IsEmpty());
}

TEST_F(CacheTest, KeepsWholeObjectsUnlessAllWantTheSamePart) {
  InformerOptions small;
  small.keep = keep_only<Small>();
  auto& shared = cache.informer<Small>(small);
  cache.informer<Small>(small);
  EXPECT_TRUE(shared.options().keep);
  cache.informer<Widget>();
  EXPECT_FALSE(shared.options().keep);
  InformerOptions selected = small;
  selected.label_selector = "a=b";
  cache.informer<Small>(selected);
  running.spawn(cache.run());
  loop.poll();
  selected.keep = {};
  EXPECT_THROW(cache.informer<Widget>(selected), Error);
}

TEST_F(CacheTest, APlainReadStartsNothingAndSaysWhatToAdd) {
  running.spawn(cache.run());
  loop.poll();
  try {
    cache.reader<Widget>();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("widgets.example.com"));
    EXPECT_THAT(error.what(), HasSubstr("cache.informer<Widget>()"));
  }
  loop.poll();
  EXPECT_THAT(server->seen, IsEmpty());
}

TEST_F(CacheTest, ReadsTypedObjects) {
  server->put(kA, 1, R"(,"labels":{"app":"x"})");
  server->put(kB, 2);
  server->put(Key("m", "c"), 2);
  running.spawn(cache.run());
  loop.poll();
  auto& made = cache.informer<Widget>();  // while it runs
  loop.run(cache.wait_synced());
  const auto reader = cache.reader<Widget>();
  EXPECT_EQ(reader.get(kA)->spec.size, 1);
  const auto a = reader.get(kA);
  EXPECT_EQ(a, reader.get(kA)) << "asked for again: kept";
  EXPECT_EQ(reader.get(Key("n", "none")), nullptr);
  EXPECT_EQ(reader.list().size(), 3);
  EXPECT_EQ(reader.list({.namespace_ = "n"}).size(), 2);
  EXPECT_EQ(reader.list({.labels = *api::Selector::parse("app=x")}).at(0), a);
  EXPECT_EQ(reader.list({.fields = *api::FieldSelector::parse("spec.size=2")}).size(), 2);
  made.add_index("size", by<Widget>([](const Widget& w) { return std::vector{std::to_string(w.spec.size)}; }));
  EXPECT_EQ(reader.by_index("size", "2", {.namespace_ = "n"}).at(0)->metadata.name, "b");
  EXPECT_THROW(reader.by_index("none", "2"), Error);
  server->put(kA, 9);
  loop.poll();
  EXPECT_EQ(a->spec.size, 1) << "what was read stays as it was";
  EXPECT_EQ(reader.by_index("size", "9").size(), 1);
  const auto dynamic = cache.reader(kWidgets).get(kA);
  EXPECT_EQ(dynamic->text("kind"), "Widget");
}

TEST_F(CacheTest, ANamespaceThatIsNotWatchedIsNoAnswer) {
  InformerOptions options;
  options.namespaces = {"n"};
  cache.informer<Widget>(options);
  running.spawn(cache.run());
  loop.run(cache.wait_synced());
  EXPECT_EQ(cache.reader<Widget>().get(kA), nullptr);
  try {
    cache.reader<Widget>().get(Key("other", "a"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("namespace \"other\""));
  }
}

}  // namespace
}  // namespace kopper::cache
