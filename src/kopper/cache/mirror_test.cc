#include "kopper/cache/mirror.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/cache/test_server.h"

namespace kopper::cache {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Key kA("n", "a");
const Key kB("n", "b");

struct MirrorTest : testing::Test {
  void list(const std::vector<std::string>& objects, std::uint64_t version) {
    mirror.begin();
    for (const auto& each : objects) EXPECT_TRUE(mirror.initial(each));
    mirror.done(version);
  }
  std::vector<std::string> news() { return std::exchange(told, {}); }
  std::uint64_t version_of(const Key& key) {
    const auto record = store.get(key);
    return record ? record->resource_version() : 0;
  }

  Store store;
  std::vector<std::string> told;
  Mirror mirror{store, [this](const Change& change) {
                  told.push_back((change.deleted() ? "-"
                                  : change.added() ? "+"
                                                   : "~") +
                                 change.object().key().str() + ":" +
                                 std::to_string(change.object().resource_version()) +
                                 (change.initial ? " initial" : "") + (change.missed ? " missed" : ""));
                }};
};

TEST_F(MirrorTest, AListReplacesWhatWasKnown) {
  list({widget(kA, "ua", 1), widget(kB, "ub", 2)}, 3);
  EXPECT_THAT(news(), ElementsAre("+n/a:1 initial", "+n/b:2 initial"));
  list({widget(kA, "ua", 1)}, 5);
  EXPECT_THAT(news(), ElementsAre("-n/b:2 missed")) << "what did not change is no news";
  EXPECT_EQ(mirror.version(), 5);
}

TEST_F(MirrorTest, AListThatBrokeOffCountsForNothing) {
  list({widget(kA, "ua", 1), widget(kB, "ub", 2)}, 3);
  news();
  mirror.begin();
  ASSERT_TRUE(mirror.initial(widget(kA, "ua", 1)));
  EXPECT_TRUE(store.get(kB)) << "still there while the list comes in";
  list({widget(kB, "ub", 2), widget(kA, "ua", 1)}, 6);
  EXPECT_THAT(news(), IsEmpty());
}

TEST_F(MirrorTest, AnEventThatIsOlderIsDropped) {
  list({}, 10);
  ASSERT_TRUE(mirror.note_write(widget(kA, "ua", 20)));
  news();
  ASSERT_TRUE(mirror.apply(widget(kA, "ua", 15)));
  ASSERT_TRUE(mirror.remove(widget(kA, "before", 18))) << "of an earlier one of the same name";
  EXPECT_EQ(version_of(kA), 20);
  EXPECT_THAT(news(), IsEmpty());
  ASSERT_TRUE(mirror.apply(widget(kA, "ua", 20)));
  EXPECT_THAT(news(), IsEmpty());
  ASSERT_TRUE(mirror.remove(widget(kA, "ua", 21)));
  EXPECT_THAT(news(), ElementsAre("-n/a:20"));
}

TEST_F(MirrorTest, AnAnswerThatTheWatchHasPassedIsDropped) {
  list({}, 10);
  ASSERT_TRUE(mirror.apply(widget(kA, "ua", 12)));
  ASSERT_TRUE(mirror.remove(widget(kA, "ua", 14)));
  news();
  ASSERT_TRUE(mirror.note_write(widget(kA, "ua", 12)));
  EXPECT_FALSE(store.get(kA));
  mirror.advance(30);
  ASSERT_TRUE(mirror.note_write(widget(kB, "ub", 25)));
  EXPECT_FALSE(store.get(kB)) << "made and deleted, and a bookmark told so";
  EXPECT_THAT(news(), IsEmpty());
}

TEST_F(MirrorTest, ADeleteOfOursIsRememberedUntilTheWatchPassesIt) {
  list({widget(kA, "ua", 5)}, 10);
  mirror.note_delete(kA, "ua");
  mirror.note_delete(kB, "ub");  // made by us too, and not seen yet
  news();
  ASSERT_TRUE(mirror.apply(widget(kA, "ua", 11)));
  ASSERT_TRUE(mirror.apply(widget(kB, "ub", 12)));
  EXPECT_THAT(news(), IsEmpty());
  EXPECT_EQ(mirror.tombstones(), 2);
  ASSERT_TRUE(mirror.apply(widget(kA, "another", 14))) << "a new one of the name is news";
  EXPECT_THAT(news(), ElementsAre("+n/a:14"));
  ASSERT_TRUE(mirror.remove(widget(kA, "ua", 13)));
  EXPECT_EQ(version_of(kA), 14);
  ASSERT_TRUE(mirror.remove(widget(kB, "ub", 15)));
  EXPECT_EQ(mirror.tombstones(), 0);
}

TEST_F(MirrorTest, AListEndsTheMemoryOfDeletes) {
  list({widget(kA, "ua", 5)}, 10);
  mirror.note_delete(kA, "ua");
  list({}, 20);
  EXPECT_EQ(mirror.tombstones(), 0);
}

TEST_F(MirrorTest, ASweepSparesWhatWeWroteAfterTheListWasRead) {
  list({widget(kA, "ua", 5)}, 10);
  mirror.begin();
  ASSERT_TRUE(mirror.note_write(widget(kB, "ub", 40)));
  ASSERT_TRUE(mirror.note_write(widget(kA, "ua", 41)));
  ASSERT_TRUE(mirror.initial(widget(kA, "ua", 5)));
  mirror.done(30);
  EXPECT_EQ(version_of(kA), 41);
  EXPECT_EQ(version_of(kB), 40);
  list({}, 50);
  EXPECT_EQ(store.size().objects, 0);
}

TEST_F(MirrorTest, AServerThatWentBackIsRightEvenAboutOurWrites) {
  list({widget(kA, "ua", 50), widget(kB, "ub", 51)}, 60);
  ASSERT_TRUE(mirror.note_write(widget(kA, "ua", 70)));
  list({widget(kA, "ua", 20), widget(kB, "ub", 21)}, 30);
  EXPECT_EQ(version_of(kA), 20);
  EXPECT_EQ(version_of(kB), 21);
}

TEST_F(MirrorTest, ManyDeletesAreNotRememberedForEver) {
  list({}, 10);
  for (int i = 0; i < 10'000; ++i) mirror.note_delete(kA, std::to_string(i));
  EXPECT_LE(mirror.tombstones(), 4096);
}

// Own writes, watch events, bookmarks and lists of one history, interleaved at random: in the end the store is the
// server, no object was ever told to go back, and each change was told once.
TEST(MirrorProperty, AnyInterleavingEndsAtTheServersState) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return random() % n; };
    Store store;
    std::map<Key, std::pair<std::string, std::uint64_t>> known;  // by the changes alone
    Mirror mirror(store, [&](const Change& change) {
      const auto key = change.object().key();
      if (change.deleted()) {
        EXPECT_EQ(known.erase(key), 1) << "seed " << seed;
        return;
      }
      auto& [uid, version] = known[key];
      EXPECT_TRUE(uid != change.after->uid() || version < change.after->resource_version()) << "seed " << seed;
      uid = change.after->uid();
      version = change.after->resource_version();
    });
    struct Event {
      bool removed;
      std::uint64_t version;
      std::string json;
    };
    std::vector<Event> history;
    std::map<Key, std::pair<std::string, std::uint64_t>> server;
    std::uint64_t version = 1;
    std::size_t sent = 0;  // of the history
    mirror.begin();
    mirror.done(version);
    for (int i = 0; i < 120; ++i) {
      const Key key("n", std::to_string(below(4)));
      switch (below(6)) {
        case 0:
        case 1: {  // somebody writes; maybe us
          auto& [uid, at] = server[key];
          if (uid.empty()) uid = "u" + std::to_string(version);
          at = ++version;
          history.push_back({false, version, widget(key, uid, version)});
          if (below(2) == 0) {
            ASSERT_TRUE(mirror.note_write(history.back().json));
          }
          break;
        }
        case 2: {  // somebody deletes; maybe us
          const auto found = server.find(key);
          if (found == server.end()) break;
          const auto uid = found->second.first;
          history.push_back({true, ++version, widget(key, uid, version)});
          server.erase(found);
          if (below(2) == 0) mirror.note_delete(key, uid);
          break;
        }
        case 3:
        case 4:
          for (auto left = below(4); left > 0 && sent < history.size(); --left) {
            const auto& event = history[sent++];
            ASSERT_TRUE(event.removed ? mirror.remove(event.json) : mirror.apply(event.json));
          }
          break;
        default:  // the watch was lost
          if (below(3) != 0) break;
          mirror.begin();
          for (const auto& [each, object] : server)
            ASSERT_TRUE(mirror.initial(widget(each, object.first, object.second)));
          mirror.done(version);
          sent = history.size();
      }
    }
    for (; sent < history.size(); ++sent) {
      const auto& event = history[sent];
      ASSERT_TRUE(event.removed ? mirror.remove(event.json) : mirror.apply(event.json));
    }
    EXPECT_EQ(known, server) << "seed " << seed;
    EXPECT_EQ(store.size().objects, server.size()) << "seed " << seed;
    EXPECT_EQ(mirror.tombstones(), 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace kopper::cache
