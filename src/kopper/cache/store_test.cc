#include "kopper/cache/store.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/cache/mirror.h"
#include "kopper/cache/test_server.h"

namespace kopper::cache {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

RecordRef record(const Key& key, std::uint64_t version, int size, std::string_view more = "") {
  return *Record::make(widget(key, "u", version, size, more));
}
std::vector<std::string> names(const std::vector<RecordRef>& records) {
  std::vector<std::string> out;
  for (const auto& each : records) out.push_back(each->key().str());
  return out;
}

// Objects that have much in common, as those of a kind do.
std::string alike(int i, std::uint64_t version = 1) {
  return widget(Key("n" + std::to_string(i % 3), "w" + std::to_string(i)), "uid-" + std::to_string(i), version, i,
                fmt::format(R"(,"labels":{{"app":"web","part":"{}"}},"annotations":{{"text":"{:0>{}}"}})", i % 5, i,
                            200 + i % 7));
}
void fill(Store& store, int count) {
  Mirror mirror(store, [](const Change&) {});
  mirror.begin();
  for (int i = 0; i < count; ++i) ASSERT_TRUE(mirror.initial(alike(i)));
  mirror.done(1);
}
void finish(Store& store) {
  while (store.tidy()) {
  }
}
// The heap is not measured here (the benchmark does): what the store says of itself is.
void expect_equal(const Store& a, const Store& b) {
  ASSERT_EQ(a.size().objects, b.size().objects);
  a.each([&](const RecordRef& each) {
    const auto other = b.get(each->key());
    ASSERT_TRUE(other);
    EXPECT_EQ(each->json(), other->json());
    EXPECT_EQ(each->labels(), other->labels());
    EXPECT_EQ(each->uid(), other->uid());
    EXPECT_EQ(each->resource_version(), other->resource_version());
  });
}

TEST(Store, FindsByKeyNamespaceAndSelector) {
  Store store;
  store.put(record(Key("b", "x"), 1, 1, R"(,"labels":{"app":"web"})"));
  store.put(record(Key("a", "y"), 2, 2));
  store.put(record(Key("a", "x"), 3, 3, R"(,"labels":{"app":"db"})"));
  EXPECT_EQ(store.get(Key("a", "y"))->resource_version(), 2);
  EXPECT_FALSE(store.get(Key("a", "z")));
  EXPECT_THAT(names(store.list()), ElementsAre("a/x", "a/y", "b/x"));
  EXPECT_THAT(names(store.list({.namespace_ = "a"})), ElementsAre("a/x", "a/y"));
  EXPECT_THAT(names(store.list({.namespace_ = "a", .labels = *api::Selector::parse("app")})), ElementsAre("a/x"));
  EXPECT_THAT(names(store.list({.fields = *api::FieldSelector::parse("spec.size=2")})), ElementsAre("a/y"));
  EXPECT_EQ(store.count({.labels = *api::Selector::parse("app in (web,db)")}), 2);
  store.erase("a", "x");
  EXPECT_THAT(names(store.list({.namespace_ = "a"})), ElementsAre("a/y"));
}

TEST(Store, IndexesAreAddedAtAnyTimeAndFollow) {
  Store store;
  store.put(record(Key("n", "a"), 1, 1));
  store.add_index("size", by_field("spec.size"));
  store.put(record(Key("n", "b"), 2, 1));
  EXPECT_THAT(names(store.by_index("size", "1")), ElementsAre("n/a", "n/b"));
  store.put(record(Key("n", "a"), 3, 7));
  EXPECT_THAT(names(store.by_index("size", "1")), ElementsAre("n/b"));
  EXPECT_THAT(names(store.by_index("size", "7")), ElementsAre("n/a"));
  EXPECT_EQ(store.by_index("size", "7").at(0)->resource_version(), 3);
  store.erase("n", "a");
  EXPECT_THAT(store.by_index("size", "7"), IsEmpty());
  EXPECT_THROW(store.by_index("none", "7"), Error);
  store.add_index("letters", [](const Record& each) {
    return std::vector{std::string(each.name()), std::string(each.namespace_()), std::string(each.name())};
  });
  EXPECT_THAT(names(store.by_index("letters", "b")), ElementsAre("n/b"));
  EXPECT_THAT(names(store.by_index("letters", "n")), ElementsAre("n/b"));
}

TEST(Store, AnIndexFunctionThatThrowsLeavesTheObjectOut) {
  Store store;
  store.add_index("bad", [](const Record& each) -> std::vector<std::string> {
    if (each.name() == "a") throw Error(Code::Internal, "oops");
    return {"x"};
  });
  store.put(record(Key("n", "a"), 1, 1));
  store.put(record(Key("n", "b"), 1, 1));
  EXPECT_THAT(names(store.by_index("bad", "x")), ElementsAre("n/b"));
  EXPECT_TRUE(store.get(Key("n", "a")));
}

TEST(Store, ReadyMadeIndexes) {
  Store store;
  store.add_index("owner", by_controller());
  store.add_index("app", by_label("app"));
  store.put(record(Key("n", "a"), 1, 1,
                   R"(,"labels":{"app":"x"},"ownerReferences":[{"uid":"o","kind":"K","name":"k","controller":true}])"));
  store.put(record(Key("n", "b"), 1, 1));
  EXPECT_THAT(names(store.by_index("owner", "o")), ElementsAre("n/a"));
  EXPECT_THAT(names(store.by_index("app", "x")), ElementsAre("n/a"));
}

TEST(Store, CompressesWithADictionaryAndBack) {
  Store plain(kWidgets, Storage::Raw);
  Store packed(kWidgets, Storage::Compressed);
  packed.add_index("part", by_label("part"));
  fill(plain, 500);
  fill(packed, 500);
  EXPECT_FALSE(plain.tidy());
  finish(packed);
  EXPECT_EQ(packed.size().compressed, 500);
  EXPECT_LT(packed.size().bytes, plain.size().bytes * 3 / 4);
  EXPECT_GT(packed.size().dictionary_bytes, 0);
  expect_equal(plain, packed);
  EXPECT_EQ(packed.by_index("part", "3").size(), 100);

  packed.set_storage(Storage::Raw);
  finish(packed);
  EXPECT_EQ(packed.size().compressed, 0);
  EXPECT_EQ(packed.size().bytes, plain.size().bytes);
  expect_equal(plain, packed);
}

TEST(Store, RecordsOutliveTheStoreAndItsDictionary) {
  RecordRef kept;
  {
    Store store(kWidgets, Storage::Compressed);
    fill(store, 200);
    finish(store);
    kept = store.get(Key("n1", "w1"));
    ASSERT_TRUE(kept->compressed());
  }
  EXPECT_EQ(kept->json(), alike(1));
}

TEST(Store, WhatComesWhileItConvertsIsNotLost) {
  Store store(kWidgets, Storage::Compressed);
  fill(store, 500);
  ASSERT_TRUE(store.tidy());  // the dictionary
  ASSERT_TRUE(store.tidy());  // some records
  store.put(*Record::make(alike(499, 9)));
  store.put(*Record::make(alike(3, 9)));
  store.erase("n1", "w4");
  finish(store);
  EXPECT_EQ(store.size().objects, 499);
  EXPECT_EQ(store.get("n1", "w499")->resource_version(), 9);
  EXPECT_EQ(store.get("n0", "w3")->resource_version(), 9);
  EXPECT_FALSE(store.get("n1", "w4"));
}

TEST(Store, MakesANewDictionaryWhenItHasGrown) {
  Store store(kWidgets, Storage::Compressed);
  fill(store, 100);
  finish(store);
  // Later ones look otherwise, though much like each other.
  std::mt19937_64 random(7);
  std::string look;
  while (look.size() < 3000) look += static_cast<char>('a' + random() % 26);
  const auto other = [&](int i) {
    return widget(Key("z", std::to_string(i)), std::to_string(i), 1, i,
                  fmt::format(R"(,"annotations":{{"look":"{}"}})", look));
  };
  Mirror mirror(store, [](const Change&) {}, "z");
  mirror.begin();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(mirror.initial(other(i)));
    finish(store);
  }
  EXPECT_GT(store.get("z", "5")->bytes(), 1500) << "of the first dictionary";
  EXPECT_LT(store.get("z", "999")->bytes(), 500) << "of one that knows them";
  EXPECT_EQ(store.get("z", "5")->json(), other(5));
  EXPECT_EQ(store.get("z", "999")->json(), other(999));
}

TEST(Store, AutoCompressesOnlyWhatIsMuch) {
  Store store;
  fill(store, 900);
  EXPECT_FALSE(store.tidy());
  EXPECT_EQ(store.size().compressed, 0);
  Mirror mirror(store, [](const Change&) {});
  const std::string filler(20'000, 'x');
  mirror.begin();
  for (int i = 0; i < 1100; ++i) {
    ASSERT_TRUE(mirror.initial(widget(Key("m", std::to_string(i)), std::to_string(i), 1, i,
                                      fmt::format(R"(,"annotations":{{"x":"{}"}})", filler))));
    finish(store);
  }
  EXPECT_GT(store.size().compressed, 1000);
  EXPECT_LT(store.size().bytes, store.size().json_bytes / 4);
}

TEST(Store, WhatDoesNotShrinkStaysPlain) {
  Store store(kWidgets, Storage::Compressed);
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; ++i) {
    std::string noise;
    while (noise.size() < 4000) {
      const auto c = static_cast<char>('#' + random() % 91);
      if (c != '\\') noise += c;
    }
    store.put(record(Key("n", std::to_string(i)), 1, 1, fmt::format(R"(,"annotations":{{"x":"{}"}})", noise)));
  }
  finish(store);
  EXPECT_LT(store.size().compressed, 15) << "but for those of which the dictionary was made";
}

TEST(Store, RelistsWithoutASecondCopy) {
  Store store(kWidgets, Storage::Raw);
  fill(store, 1000);
  const auto before = store.size().bytes;
  std::size_t peak = 0;
  Mirror mirror(store, [](const Change&) {});
  mirror.begin();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(mirror.initial(alike(i, i % 10 == 0 ? 2 : 1)));
    peak = std::max(peak, store.size().bytes);
  }
  mirror.done(2);
  EXPECT_LE(peak, before + before / 10);
}

TEST(ViewMemo, IsBoundedAndDropsWhatIsReplaced) {
  ViewMemo memo(2, 100'000);
  const auto a = record(Key("n", "a"), 1, 1);
  const auto b = record(Key("n", "b"), 1, 1);
  const auto c = record(Key("n", "c"), 1, 1);
  const auto twice = [](ViewMemo& which, const RecordRef& asked) {
    which.get<json::Value>(asked, kWidgets);
    return which.get<json::Value>(asked, kWidgets);
  };
  memo.get<json::Value>(a, kWidgets);
  EXPECT_EQ(memo.size(), 0) << "not everything that is read once is kept";
  const auto view_of_a = memo.get<json::Value>(a, kWidgets);
  twice(memo, b);
  EXPECT_EQ(memo.get<json::Value>(a, kWidgets), view_of_a);
  twice(memo, c);
  EXPECT_EQ(memo.size(), 2);
  EXPECT_EQ(memo.get<json::Value>(a, kWidgets), view_of_a) << "b was used longest ago";
  memo.forget(*a);
  EXPECT_EQ(memo.size(), 1);
  EXPECT_NE(memo.get<json::Value>(a, kWidgets), view_of_a);
  ViewMemo small(100, 1000);
  twice(small, record(Key("n", std::string(600, 'x')), 1, 1));
  EXPECT_EQ(small.size(), 0) << "one object may not push out all others";
}

}  // namespace
}  // namespace kopper::cache
