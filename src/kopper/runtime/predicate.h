#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

#include "kopper/cache/record.h"
#include "kopper/cache/view.h"

namespace kopper::runtime {

// Whether a change of a watched object matters: what it says no to is never queued. Pure.
//   generation_changed() || annotations_changed()
//   where<Pod>([](const Pod& pod) { return pod.status.phase == "Running"; }) && !deleted()
// What is sent through a channel is not asked: who sends it knows.
class Predicate {
 public:
  Predicate() = default;  // everything matters
  template <std::predicate<const cache::Change&> Fn>
    requires(!std::same_as<std::remove_cvref_t<Fn>, Predicate>)
  Predicate(Fn fn) : fn_(std::move(fn)) {}

  bool operator()(const cache::Change& change) const { return !fn_ || fn_(change); }

  friend Predicate operator&&(Predicate a, Predicate b);
  friend Predicate operator||(Predicate a, Predicate b);
  friend Predicate operator!(Predicate a);

 private:
  std::function<bool(const cache::Change&)> fn_;
};

// What happened. A resync, which replays what is known, is neither of the three.
Predicate created();
Predicate updated();
Predicate deleted();
bool is_resync(const cache::Change& change);

// Asks `then` about changes of one sort; all others matter.
Predicate on_create(Predicate then);
Predicate on_update(Predicate then);
Predicate on_delete(Predicate then);

// About updates; all else matters, resyncs too. An object that was deleted and made again has always changed.
// Asking for the deletion of an object matters to all of them.
Predicate generation_changed();  // the spec; always true of kinds that have no generation, such as ConfigMap
Predicate labels_changed();
Predicate annotations_changed();
// Resyncs do not matter to this one.
Predicate resource_version_changed();

// Any question about the newest state of the object. One that T cannot hold matters, so that somebody reports it.
template <class T>
Predicate where(std::function<bool(const T&)> fn) {
  return [fn = std::move(fn)](const cache::Change& change) {
    const auto object = cache::decode<T>(change.object());
    return !object || fn(*object);
  };
}

// Any question about an update; all else matters, and so does what T cannot hold.
template <class T>
Predicate changed(std::function<bool(const T& before, const T& after)> fn) {
  return on_update([fn = std::move(fn)](const cache::Change& change) {
    const auto before = cache::decode<T>(*change.before);
    const auto after = cache::decode<T>(*change.after);
    return !before || !after || fn(*before, *after);
  });
}

}  // namespace kopper::runtime
