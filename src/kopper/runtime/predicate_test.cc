#include "kopper/runtime/predicate.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kopper/api/object.h"

namespace kopper::runtime {
namespace {

using cache::Change;
using cache::Record;
using cache::RecordRef;

struct Spec {
  std::int32_t size = 0;
};
struct Widget {
  api::metav1::ObjectMeta metadata;
  Spec spec;
};

RecordRef object(std::string_view metadata, std::string_view spec = "{}") {
  return *Record::make(fmt::format(R"({{"metadata":{{"name":"a","namespace":"n",{}}},"spec":{}}})", metadata, spec));
}

Change update(RecordRef before, RecordRef after) { return {.before = std::move(before), .after = std::move(after)}; }

const auto kOld = object(R"("uid":"u","resourceVersion":"1","generation":1)");

TEST(Predicate, GenerationChanged) {
  const auto p = generation_changed();
  EXPECT_FALSE(p(update(kOld, object(R"("uid":"u","resourceVersion":"2","generation":1)"))));
  EXPECT_TRUE(p(update(kOld, object(R"("uid":"u","resourceVersion":"2","generation":2)"))));
  EXPECT_TRUE(p(Change{.before = {}, .after = kOld}));
  EXPECT_TRUE(p(Change{.before = kOld, .after = {}}));
  EXPECT_TRUE(p(update(kOld, kOld))) << "a resync is asked for";
}

TEST(Predicate, GenerationChangedDoesNotSilenceKindsWithoutOne) {
  EXPECT_TRUE(generation_changed()(update(object(R"("resourceVersion":"1")"), object(R"("resourceVersion":"2")"))));
}

TEST(Predicate, DeletionAndRecreationAlwaysMatter) {
  const auto deleting =
      object(R"("uid":"u","resourceVersion":"2","generation":1,"deletionTimestamp":"2026-01-01T00:00:00Z")");
  const auto another = object(R"("uid":"v","resourceVersion":"3","generation":1)");
  for (const auto& p : {generation_changed(), labels_changed(), annotations_changed()}) {
    EXPECT_TRUE(p(update(kOld, deleting)));
    EXPECT_TRUE(p(update(kOld, another)));
  }
}

TEST(Predicate, LabelsAndAnnotationsChanged) {
  const auto labelled = object(R"("uid":"u","generation":1,"labels":{"a":"b"})");
  const auto annotated = object(R"("uid":"u","generation":1,"annotations":{"a":"b"})");
  EXPECT_TRUE(labels_changed()(update(kOld, labelled)));
  EXPECT_FALSE(labels_changed()(update(kOld, annotated)));
  EXPECT_FALSE(annotations_changed()(update(kOld, labelled)));
  EXPECT_TRUE(annotations_changed()(update(kOld, annotated)));
}

TEST(Predicate, ResourceVersionChangedIsTheOneThatStopsResyncs) {
  EXPECT_FALSE(resource_version_changed()(update(kOld, kOld)));
  EXPECT_TRUE(resource_version_changed()(update(kOld, object(R"("uid":"u","resourceVersion":"2")"))));
}

TEST(Predicate, AndOrNot) {
  const Predicate yes;
  const Predicate no = [](const Change&) { return false; };
  const Change change = update(kOld, kOld);
  EXPECT_TRUE((yes && yes)(change));
  EXPECT_FALSE((yes && no)(change));
  EXPECT_TRUE((no || yes)(change));
  EXPECT_FALSE((no || no)(change));
  EXPECT_TRUE((!no)(change));
}

TEST(Predicate, BySortOfChange) {
  const Change create{.before = {}, .after = kOld};
  const Change removal{.before = kOld, .after = {}};
  const Change modify = update(kOld, object(R"("uid":"u","resourceVersion":"2")"));
  const Predicate no = [](const Change&) { return false; };
  EXPECT_TRUE(created()(create) && !created()(removal) && !created()(modify));
  EXPECT_TRUE(!deleted()(create) && deleted()(removal) && !deleted()(modify));
  EXPECT_TRUE(!updated()(create) && !updated()(removal) && updated()(modify));
  EXPECT_FALSE(updated()(update(kOld, kOld)));
  EXPECT_TRUE(!on_create(no)(create) && on_create(no)(removal) && on_create(no)(modify));
  EXPECT_TRUE(on_update(no)(create) && on_update(no)(removal) && !on_update(no)(modify));
  EXPECT_TRUE(on_delete(no)(create) && !on_delete(no)(removal) && on_delete(no)(modify));
}

TEST(Predicate, AnyFunctionOfTypedObjects) {
  const auto one = object(R"("uid":"u")", R"({"size":1})");
  const auto three = object(R"("uid":"u")", R"({"size":3})");
  const auto bad = object(R"("uid":"u")", R"({"size":"large"})");
  const auto large = where<Widget>([](const Widget& w) { return w.spec.size > 2; });
  EXPECT_TRUE(large(update(one, three)));
  EXPECT_FALSE(large(update(three, one)));
  EXPECT_TRUE(large(Change{.before = three, .after = {}}));
  EXPECT_TRUE(large(update(one, bad))) << "so that somebody reports it";

  const auto grew = changed<Widget>([](const Widget& b, const Widget& a) { return a.spec.size > b.spec.size; });
  EXPECT_TRUE(grew(update(one, three)));
  EXPECT_FALSE(grew(update(three, one)));
  EXPECT_TRUE(grew(Change{.before = {}, .after = one}));
  EXPECT_TRUE(grew(update(bad, one)));
}

}  // namespace
}  // namespace kopper::runtime
