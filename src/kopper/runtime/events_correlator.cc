#include "kopper/runtime/events_correlator.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace kopper::runtime {
namespace {

using api::eventsv1::Event;

constexpr std::size_t kMaxNamePrefix = 200;  // of 253, the rest is a point and a number

}  // namespace

EventCorrelator::Object EventCorrelator::object_of(const api::corev1::ObjectReference& reference) {
  return {reference.namespace_, reference.apiVersion + " " + reference.kind, reference.name, reference.uid,
          reference.fieldPath};
}

// After too many different messages the group has one series for all that are new to it.
bool EventCorrelator::too_many_notes(const Group& group, const std::string& note, rt::TimePoint now) {
  if (notes_.size() >= options_.max_series && !notes_.contains(group)) {
    std::erase_if(notes_, [&](const auto& n) { return now - n.second.since >= options_.similar_window; });
    if (notes_.size() >= options_.max_series) notes_.clear();
  }
  auto& notes = notes_[group];
  if (notes.seen.empty() || now - notes.since >= options_.similar_window) {
    notes.seen.clear();
    notes.since = now;
  }
  if (notes.seen.contains(note)) return false;
  if (notes.seen.size() >= options_.similar) return true;
  notes.seen.insert(note);
  return false;
}

bool EventCorrelator::admit(const Object& about, rt::TimePoint now) {
  const auto refilled = [&](const Bucket& bucket) {
    return std::min(options_.burst, bucket.tokens + (std::chrono::duration<double>(now - bucket.at) / options_.refill));
  };
  if (buckets_.size() >= options_.max_series && !buckets_.contains(about)) {
    std::erase_if(buckets_, [&](const auto& b) { return refilled(b.second) >= options_.burst; });
    if (buckets_.size() >= options_.max_series) buckets_.clear();
  }
  auto& bucket = buckets_.try_emplace(about, Bucket{options_.burst, now}).first->second;
  bucket.tokens = refilled(bucket);
  bucket.at = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

// "web.17c5d0a2b3c4d5e6": names of objects may have letters that names of events may not.
std::string EventCorrelator::name_for(const std::string& object, rt::WallTime wall) {
  std::string name = object.substr(0, kMaxNamePrefix);
  for (char& c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) c = c == '.' ? '.' : '-';
  name.erase(0, name.find_first_not_of("-."));
  name.erase(name.find_last_not_of("-.") + 1);
  while (name.contains("..")) name.replace(name.find(".."), 2, ".");
  for (const std::string_view bad : {".-", "-."})
    while (name.contains(bad)) name.replace(name.find(bad), 2, ".");
  if (name.empty()) name = "event";
  last_name_ = std::max<std::int64_t>(last_name_ + 1, wall.time_since_epoch().count());
  return fmt::format("{}.{:x}", name, last_name_);
}

EventCorrelator::Verdict EventCorrelator::add(Event event, rt::TimePoint now, rt::WallTime wall) {
  const Object about = object_of(event.regarding);
  const Object related = event.related ? object_of(*event.related) : Object();
  const Group group{about, related, event.type, event.reason, event.action};
  const bool folded = too_many_notes(group, event.note, now);
  Series key{group, folded ? std::string() : event.note};

  if (const auto found = series_.find(key); found != series_.end() && now - found->second.last < options_.finish) {
    auto& entry = found->second;
    entry.last = now;
    ++entry.count;
    entry.event.series = api::eventsv1::EventSeries{.count = entry.count, .lastObservedTime = api::MicroTime(wall)};
    if (entry.count < 2 * entry.written || !admit(about, now)) return {.fate = Fate::Counted};
    entry.written = entry.count;
    entry.last_written = now;
    return {.fate = Fate::Write, .write = EventWrite{.create = false, .event = entry.event}};
  }

  if (!admit(about, now)) return {.fate = Fate::Spam};
  if (folded) event.note = "(combined from similar events) " + event.note;
  event.metadata.name = name_for(event.regarding.name, wall);
  event.eventTime = api::MicroTime(wall);
  series_.insert_or_assign(std::move(key), Entry{.event = event, .last = now, .last_written = now});
  if (series_.size() > options_.max_series) forget_oldest();
  return {.fate = Fate::Write, .write = EventWrite{.create = true, .event = std::move(event)}};
}

void EventCorrelator::forget_oldest() {
  series_.erase(std::min_element(series_.begin(), series_.end(),
                                 [](const auto& a, const auto& b) { return a.second.last < b.second.last; }));
}

std::vector<EventWrite> EventCorrelator::due(rt::TimePoint now) {
  std::vector<EventWrite> writes;
  for (auto at = series_.begin(); at != series_.end();) {
    auto& entry = at->second;
    const bool over = now - entry.last >= options_.finish;
    if (entry.count > entry.written && (over || now - entry.last_written >= options_.heartbeat)) {
      entry.written = entry.count;
      entry.last_written = now;
      writes.push_back({.create = false, .event = entry.event});
    }
    at = over ? series_.erase(at) : std::next(at);
  }
  return writes;
}

std::vector<EventWrite> EventCorrelator::finish() {
  std::vector<EventWrite> writes;
  for (auto& [key, entry] : series_)
    if (entry.count > entry.written) writes.push_back({.create = false, .event = std::move(entry.event)});
  series_.clear();
  return writes;
}

}  // namespace kopper::runtime
