#include "kopper/runtime/predicate.h"

namespace kopper::runtime {

namespace {

using cache::Change;
using cache::Record;

bool is_update(const Change& change) { return change.before && change.after && !is_resync(change); }

// An update by which the object went on as another one, or began to go away.
bool always_matters(const Record& before, const Record& after) {
  return before.uid() != after.uid() || before.deleting() != after.deleting();
}

template <class Differ>
Predicate about_updates(Differ differ) {
  return [differ](const Change& change) {
    return !is_update(change) || always_matters(*change.before, *change.after) || differ(*change.before, *change.after);
  };
}

}  // namespace

Predicate operator&&(Predicate a, Predicate b) {
  return [a = std::move(a), b = std::move(b)](const Change& change) { return a(change) && b(change); };
}

Predicate operator||(Predicate a, Predicate b) {
  return [a = std::move(a), b = std::move(b)](const Change& change) { return a(change) || b(change); };
}

Predicate operator!(Predicate a) {
  return [a = std::move(a)](const Change& change) { return !a(change); };
}

bool is_resync(const Change& change) { return change.before && change.before == change.after; }

Predicate created() { return &Change::added; }
Predicate updated() { return is_update; }
Predicate deleted() { return &Change::deleted; }

Predicate on_create(Predicate then) { return !created() || std::move(then); }
Predicate on_update(Predicate then) { return !updated() || std::move(then); }
Predicate on_delete(Predicate then) { return !deleted() || std::move(then); }

Predicate generation_changed() {
  return about_updates([](const Record& before, const Record& after) {
    return before.generation() != after.generation() || after.generation() == 0;
  });
}

Predicate labels_changed() {
  return about_updates([](const Record& before, const Record& after) { return !before.same_labels(after); });
}

Predicate annotations_changed() {
  return about_updates([](const Record& before, const Record& after) { return !before.same_annotations(after); });
}

Predicate resource_version_changed() {
  return [](const Change& change) {
    return !change.before || !change.after || change.before->resource_version() != change.after->resource_version();
  };
}

}  // namespace kopper::runtime
