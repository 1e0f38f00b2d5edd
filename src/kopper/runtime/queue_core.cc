#include "kopper/runtime/queue_core.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kopper::runtime {

void Reasons::add(std::string text) {
  ++total_;
  if (text.empty() || first_.size() == kKept || std::ranges::find(first_, text) != first_.end()) return;
  first_.push_back(std::move(text));
}

std::string Reasons::str() const {
  const std::string kept = fmt::to_string(fmt::join(first_, "; "));
  if (total_ <= first_.size()) return kept;
  return first_.empty() ? fmt::format("{} adds", total_)
                        : fmt::format("{} (and {} more)", kept, total_ - first_.size());
}

template <class T>
void QueueCore::List<T>::push_back(T& one) {
  one.previous = std::exchange(last, &one);
  one.next = nullptr;
  (one.previous != nullptr ? one.previous->next : first) = &one;
}

template <class T>
void QueueCore::List<T>::remove(T& one) {
  (one.previous != nullptr ? one.previous->next : first) = one.next;
  (one.next != nullptr ? one.next->previous : last) = one.previous;
}

QueueCore::~QueueCore() {
  items_.each([](Item& item) { const std::unique_ptr<Item> owned(&item); });
}

// ---- adding ----

QueueCore::Item& QueueCore::find_or_insert(Key key) {
  const auto hash = items_.hash_of(key);
  if (Item* item = items_.find(key, hash)) return *item;
  auto item = std::make_unique<Item>(std::move(key), hash);
  items_.insert(*item);
  return *item.release();
}

bool QueueCore::add(Key key, AddOptions options, Duration delay, TimePoint now) {
  if (shut_down_) return false;
  return merge(find_or_insert(std::move(key)), std::move(options), delay, now);
}

bool QueueCore::add_rate_limited(Key key, AddOptions options, TimePoint now) {
  if (shut_down_) return false;
  Item& item = find_or_insert(std::move(key));
  const double random = policy_.backoff.jitter > 0 ? std::generate_canonical<double, 32>(random_) : 0;
  const auto delay = policy_.backoff.delay(item.failures++, random);
  return merge(item, std::move(options), delay, now);
}

bool QueueCore::merge(Item& item, AddOptions options, Duration delay, TimePoint now) {
  item.reasons.add(std::move(options.reason));
  const int priority = options.priority.value_or(item.priority);
  const bool known = item.pending != Pending::No;
  if (!known) {
    item.priority = priority;
  } else if (priority > item.priority) {
    const bool ready = item.pending == Pending::Ready;
    if (ready) leave_lane(item);
    item.priority = priority;
    if (ready) enter_lane(item);  // as the last of its new level
  }
  if (delay > Duration::zero()) {
    ++retries_;
    const auto due = delay < TimePoint::max() - now ? now + delay : TimePoint::max();
    if (!known || (item.pending == Pending::Delayed && due < item.since)) delay_until(item, due);
  } else if (!known || item.pending == Pending::Delayed) {
    make_pending(item, now);
  }
  return true;
}

// The key shall run now: or when its lease is done.
void QueueCore::make_pending(Item& item, TimePoint now) {
  if (item.pending == Pending::Delayed) undelay(item);
  ++adds_;
  item.since = now;
  if (item.leased) {
    item.pending = Pending::Again;
    ++again_;
  } else {
    enter_lane(item);
  }
}

void QueueCore::forget(const Key& key) {
  if (Item* item = items_.find(key, items_.hash_of(key))) item->failures = 0;
}

unsigned QueueCore::failures(const Key& key) const {
  const Item* item = items_.find(key, items_.hash_of(key));
  return item != nullptr ? item->failures : 0;
}

// ---- ready: priorities, and in each the namespaces in turn ----

void QueueCore::enter_lane(Item& item) {
  Level& level = levels_[item.priority];
  const auto [at, inserted] = level.lanes.try_emplace(item.key.namespace_);
  Lane& lane = at->second;
  if (inserted) {
    lane.name = &at->first;
    level.turns.push_back(lane);
  }
  lane.items.push_back(item);
  item.lane = &lane;
  item.pending = Pending::Ready;
  ++level.size;
  ++ready_;
}

void QueueCore::leave_lane(Item& item) {
  const auto level = levels_.find(item.priority);
  Lane& lane = *item.lane;
  lane.items.remove(item);
  item.lane = nullptr;
  --ready_;
  if (--level->second.size == 0) {
    levels_.erase(level);
  } else if (lane.items.empty()) {
    level->second.turns.remove(lane);
    level->second.lanes.erase(level->second.lanes.find(*lane.name));
  }
}

QueueCore::Levels::iterator QueueCore::choose_level() {
  const auto top = levels_.begin();
  if (levels_.size() == 1 || policy_.lower_share == 0) {
    passed_over_ = 0;
    return top;
  }
  if (++passed_over_ < policy_.lower_share) return top;
  passed_over_ = 0;
  auto level = levels_.upper_bound(favoured_);
  if (level == levels_.end() || level == top) level = std::next(top);
  favoured_ = level->first;
  return level;
}

std::optional<QueueCore::Run> QueueCore::next(TimePoint now) {
  if (ready_ == 0) return std::nullopt;
  Level& level = choose_level()->second;
  Lane& lane = *level.turns.first;
  Item& item = *lane.items.first;
  if (lane.items.first != lane.items.last) {  // more of this namespace: they wait for its next turn
    level.turns.remove(lane);
    level.turns.push_back(lane);
  }
  leave_lane(item);
  item.pending = Pending::No;
  item.leased = true;
  item.started = now;
  running_.push_back(item);
  ++leased_;
  return Run{.item = &item,
             .reasons = std::exchange(item.reasons, Reasons()),
             .priority = item.priority,
             .failures = item.failures,
             .waited = now - item.since};
}

void QueueCore::done(Item& item) {
  running_.remove(item);
  item.leased = false;
  --leased_;
  if (item.pending == Pending::Again) {
    --again_;
    enter_lane(item);
  } else if (item.pending == Pending::No) {
    erase(item);
  }
}

void QueueCore::erase(Item& item) {
  const std::unique_ptr<Item> owned(&item);
  items_.erase(item);
  constexpr std::size_t kKeep = 1024;
  if (items_.empty() && heap_.capacity() > kKeep) heap_ = {};
}

// ---- delayed: a heap that knows where each key is ----

void QueueCore::delay_until(Item& item, TimePoint due) {
  item.since = due;
  if (item.pending != Pending::Delayed) {
    item.pending = Pending::Delayed;
    item.slot = heap_.size();
    heap_.emplace_back();
  }
  place(item.slot, {.due = due, .order = ++order_, .item = &item});
}

void QueueCore::undelay(Item& item) {
  item.pending = Pending::No;
  const Delayed last = heap_.back();
  heap_.pop_back();
  if (last.item != &item) place(item.slot, last);
}

void QueueCore::put(std::size_t slot, Delayed entry) {
  heap_[slot] = entry;
  entry.item->slot = slot;
}

// Fills a slot that is free, up or down from where it is.
void QueueCore::place(std::size_t slot, Delayed entry) {
  constexpr std::size_t kBelow = 4;
  for (std::size_t above = 0; slot > 0 && entry.before(heap_[above = (slot - 1) / kBelow]); slot = above) {
    put(slot, heap_[above]);
  }
  for (std::size_t first = slot * kBelow + 1; first < heap_.size(); first = slot * kBelow + 1) {
    const auto end = std::min(first + kBelow, heap_.size());
    auto least = first;
    for (auto one = first + 1; one < end; ++one) {
      if (heap_[one].before(heap_[least])) least = one;
    }
    if (!heap_[least].before(entry)) break;
    put(slot, heap_[least]);
    slot = least;
  }
  put(slot, entry);
}

std::size_t QueueCore::tick(TimePoint now) {
  const std::size_t before = ready_;
  while (next_due() <= now && !heap_.empty()) {
    const Delayed first = heap_.front();
    make_pending(*first.item, first.due);
  }
  return ready_ - before;
}

// ---- the end, and figures ----

std::vector<Key> QueueCore::shutdown() {
  shut_down_ = true;
  std::vector<Key> dropped;
  dropped.reserve(heap_.size());
  for (const auto& [due, order, item] : std::exchange(heap_, {})) {
    dropped.push_back(item->key);
    item->pending = Pending::No;
    item->reasons = Reasons();
    if (!item->leased) erase(*item);
  }
  return dropped;
}

std::map<int, std::size_t> QueueCore::depths() const {
  std::map<int, std::size_t> depths;
  for (const auto& [priority, level] : levels_) depths[priority] = level.size;
  each_leased([&](const Item& item) {
    if (item.pending == Pending::Again) ++depths[item.priority];
  });
  return depths;
}

void QueueCore::each_leased(const std::function<void(const Item&)>& fn) const {
  for (const Item* item = running_.first; item != nullptr; item = item->next) fn(*item);
}

}  // namespace kopper::runtime
