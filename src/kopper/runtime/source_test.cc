#include "kopper/runtime/source.h"

#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/object.h"
#include "kopper/base/error.h"
#include "kopper/cache/test_server.h"
#include "kopper/client/client.h"
#include "kopper/rt/scope.h"

namespace kopper::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Widget {
  static constexpr Kind kind{"example.com", "v1", "Widget"};
  api::metav1::ObjectMeta metadata;
};

class SourceTest : public ::testing::Test {
 protected:
  // "key (priority): reasons" of all that is ready.
  std::vector<std::string> queued() {
    std::vector<std::string> all;
    while (const auto lease = queue_.try_next()) {
      all.push_back(fmt::format("{} ({}): {}", lease->key().str(), lease->priority(), lease->reasons().str()));
    }
    return all;
  }
  void listen(Source& source) {
    informer_.emplace(client::Client(server_, {.max_retries = 0}), cache::kWidgets);
    source.listen(*informer_);
    scope_.spawn(informer_->run());
    scope_.spawn(source.run());
    loop_.poll();
  }
  static cache::RecordRef record(const std::string& name, std::uint64_t version) {
    return *cache::Record::make(cache::widget({"n", name}, "u", version));
  }

  rt::Loop loop_{rt::ClockMode::Manual};
  std::shared_ptr<cache::TestServer> server_ = std::make_shared<cache::TestServer>();
  Queue queue_;
  std::optional<cache::Informer> informer_;
  rt::Scope scope_;
};

TEST_F(SourceTest, CarriesTheInitialListAndWhatFollows) {
  server_->put({"n", "a"});
  Source source(queue_, for_self(Widget::kind));
  listen(source);
  EXPECT_THAT(queued(), ElementsAre("n/a (-100): initial list"));
  server_->put({"n", "b"});
  server_->put({"n", "a"}, 2);
  server_->remove({"n", "b"});
  loop_.poll();
  EXPECT_THAT(queued(), ElementsAre("n/b (0): created; deleted", "n/a (0): updated"));
  EXPECT_TRUE(source.caught_up());
}

TEST_F(SourceTest, StopsListeningWhileItRuns) {
  Source source(queue_, for_self(Widget::kind));
  listen(source);
  source.stop_listening();
  server_->put({"n", "a"});
  loop_.poll();
  EXPECT_THAT(queued(), IsEmpty());
}

TEST_F(SourceTest, ResyncsNowAndThenAtLowPriority) {
  server_->put({"n", "a"});
  server_->put({"n", "b"});
  Source source(queue_, for_self(Widget::kind), {.resync = 1h});
  listen(source);
  EXPECT_EQ(queued().size(), 2U);
  loop_.advance(53min);
  EXPECT_THAT(queued(), IsEmpty());
  loop_.advance(14min);
  EXPECT_THAT(queued(), ::testing::UnorderedElementsAre("n/a (-100): resync", "n/b (-100): resync"));
  loop_.advance(10h);
  EXPECT_EQ(queued().size(), 2U) << "again and again, merged";
}

std::vector<Key> refuses(const Widget&) { throw Error(Code::Internal, "no idea"); }

TEST_F(SourceTest, AMapThatThrowsCostsOnlyItsChange) {
  Source source(queue_, for_mapped<Widget>(refuses));
  source.on_change({.before = {}, .after = record("a", 1)});
  EXPECT_EQ(source.failures(), 1U);
  EXPECT_THAT(queued(), IsEmpty());
}

// Asks something that answers after a second, and fails as often as it is told.
struct Oracle {
  int asked = 0;
  int fails = 0;
  Code code = Code::Unavailable;
};

Task<std::vector<Key>> ask(Oracle* oracle, std::shared_ptr<const Widget> widget) {
  ++oracle->asked;
  co_await rt::sleep(1s);
  if (oracle->fails-- > 0) throw Error(oracle->code, "away");
  std::vector<Key> keys{Key("n", "user-of-" + widget->metadata.name)};
  co_return keys;
}

class AsyncSourceTest : public SourceTest {
 protected:
  Trigger trigger() {
    return for_mapped_async<Widget>([this](std::shared_ptr<const Widget> w) { return ask(&oracle_, std::move(w)); });
  }
  Oracle oracle_;
};

TEST_F(AsyncSourceTest, MapsInTheBackground) {
  Source source(queue_, trigger());
  rt::Scope scope;
  scope.spawn(source.run());
  source.on_change({.before = {}, .after = record("a", 1)});
  EXPECT_FALSE(source.caught_up());
  EXPECT_THAT(queued(), IsEmpty());
  loop_.advance(1s);
  EXPECT_THAT(queued(), ElementsAre("n/user-of-a (0): Widget n/a created"));
  EXPECT_TRUE(source.caught_up());
}

TEST_F(AsyncSourceTest, HardCase12_AMapSlowerThanItsEventsHoldsEachObjectOnce) {
  Source source(queue_, trigger());
  rt::Scope scope;
  for (std::uint64_t version = 1; version <= 1000; ++version) {
    source.on_change(
        {.before = version > 1 ? record("a", version - 1) : cache::RecordRef(), .after = record("a", version)});
  }
  source.on_change({.before = record("b", 1), .after = {}});
  scope.spawn(source.run());
  loop_.advance(10s);
  EXPECT_EQ(oracle_.asked, 2);
  EXPECT_THAT(queued(), ElementsAre("n/user-of-a (0): Widget n/a created", "n/user-of-b (0): Widget n/b deleted"));
}

TEST_F(AsyncSourceTest, WhatCameAndWentIsStillTold) {
  Source source(queue_, trigger());
  source.on_change({.before = {}, .after = record("a", 1)});
  source.on_change({.before = record("a", 1), .after = {}});
  rt::Scope scope;
  scope.spawn(source.run());
  loop_.advance(1s);
  EXPECT_THAT(queued(), ElementsAre("n/user-of-a (0): Widget n/a deleted"));
}

TEST_F(AsyncSourceTest, TriesAgainWhenThatMayHelp) {
  oracle_.fails = 2;
  Source source(queue_, trigger());
  rt::Scope scope;
  scope.spawn(source.run());
  source.on_change({.before = {}, .after = record("a", 1)});
  loop_.advance(10s);
  EXPECT_EQ(oracle_.asked, 3);
  EXPECT_EQ(source.failures(), 2U);
  EXPECT_EQ(queued().size(), 1U);

  oracle_ = {.asked = 0, .fails = 1, .code = Code::Invalid};
  source.on_change({.before = {}, .after = record("b", 1)});
  loop_.advance(10s);
  EXPECT_EQ(oracle_.asked, 1);
  EXPECT_THAT(queued(), IsEmpty());
  EXPECT_TRUE(source.caught_up());
}

TEST_F(SourceTest, AChannelFeedsKeysAndRequests) {
  rt::Channel<Key> keys(10);
  rt::Channel<Request> requests(10);
  scope_.spawn(feed(&keys, &queue_));
  scope_.spawn(feed(&requests, &queue_));
  keys.try_send(Key("n", "a"));
  requests.try_send(Request({"n", "b"}, "the disk is full", 10));
  loop_.poll();
  EXPECT_THAT(queued(), ElementsAre("n/b (10): the disk is full", "n/a (0): external event"));
  keys.close();
  requests.close();
  loop_.poll();
  EXPECT_TRUE(scope_.empty());
}

}  // namespace
}  // namespace kopper::runtime
