#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kopper/base/key.h"
#include "kopper/runtime/backoff.h"
#include "kopper/runtime/detail/key_table.h"

namespace kopper::runtime {

// Why a key runs: what every add said since its last run, the first few in full.
class Reasons {
 public:
  static constexpr std::size_t kKept = 4;

  // An empty text and one that is there already are only counted.
  void add(std::string text);
  // At most kKept, distinct, in the order they came.
  const std::vector<std::string>& first() const { return first_; }
  // How many adds were merged.
  std::size_t total() const { return total_; }
  // "created; Deployment default/demo updated (and 3 more)"
  std::string str() const;

 private:
  std::vector<std::string> first_;
  std::size_t total_ = 0;
};

struct AddOptions {
  std::optional<int> priority;  // none: that of the key's lease or of its waiting run, else 0
  std::string reason;
};

struct QueuePolicy {
  Backoff backoff;
  // While keys of a lower priority wait, one of so many hand-outs goes to a lower level, each in turn, so that none
  // starves. 0: strictly by priority.
  unsigned lower_share = 32;
  std::uint32_t seed = 1;  // of the backoff's jitter
};

// The queue of a controller without clock, timer or coroutine: Queue (queue.h) is this on a loop, and says what it
// promises. A key is known while it waits or is leased; all it takes is freed with it.
class QueueCore {
 public:
  using TimePoint = rt::TimePoint;
  using Duration = rt::Duration;

  enum class Pending : std::uint8_t {
    No,
    Delayed,  // until `since`
    Ready,    // since `since`
    Again,    // since `since`, and leased: ready when the lease is done
  };
  struct Lane;
  struct Item {
    Item(Key which, std::size_t its_hash) : key(std::move(which)), hash(its_hash) {}

    const Key key;
    const std::size_t hash;
    Reasons reasons;  // of the pending run
    TimePoint since;
    TimePoint started;  // when leased
    int priority = 0;   // of the pending run, else of the lease
    unsigned failures = 0;
    Pending pending = Pending::No;
    bool leased = false;
    std::size_t slot = 0;  // Delayed: where in the heap
    Lane* lane = nullptr;  // Ready: where it waits
    Item* next = nullptr;
    Item* previous = nullptr;
  };

  // A key handed out.
  struct Run {
    Item* item = nullptr;
    Reasons reasons;
    int priority = 0;
    unsigned failures = 0;
    Duration waited{};  // since it was ready
  };

  explicit QueueCore(QueuePolicy policy = QueuePolicy()) : policy_(policy), random_(policy.seed) {}
  QueueCore(const QueueCore&) = delete;
  QueueCore& operator=(const QueueCore&) = delete;
  ~QueueCore();

  // False after shutdown(): nothing was added. A delay of zero or less is none.
  bool add(Key key, AddOptions options, Duration delay, TimePoint now);
  // One failure more.
  bool add_rate_limited(Key key, AddOptions options, TimePoint now);
  void forget(const Key& key);
  unsigned failures(const Key& key) const;

  // The next key, leased until done().
  std::optional<Run> next(TimePoint now);
  void done(Item& item);

  // Makes ready what is due; how many can be handed out now that could not before.
  std::size_t tick(TimePoint now);
  // When tick() has something to do next, or TimePoint::max().
  TimePoint next_due() const { return heap_.empty() ? TimePoint::max() : heap_.front().due; }

  // Takes no more keys and drops those that are delayed, which it returns. What is ready, or will be when its lease is
  // done, is still handed out.
  std::vector<Key> shutdown();
  bool is_shut_down() const { return shut_down_; }
  // Nothing will be handed out any more.
  bool drained() const { return shut_down_ && ready_ == 0 && again_ == 0; }

  std::size_t size() const { return items_.size(); }  // keys that wait or are leased
  std::size_t ready() const { return ready_; }
  std::size_t delayed() const { return heap_.size(); }
  std::size_t leased() const { return leased_; }
  std::uint64_t adds() const { return adds_; }        // that made a key wait for a hand-out; others were merged
  std::uint64_t retries() const { return retries_; }  // with a delay
  // By priority: how many keys are ready, or will be when their lease is done.
  std::map<int, std::size_t> depths() const;
  void each_leased(const std::function<void(const Item&)>& fn) const;

  template <class T>
  struct List {
    T* first = nullptr;
    T* last = nullptr;
    bool empty() const { return first == nullptr; }
    void push_back(T& one);
    void remove(T& one);
  };
  // The ready keys of one namespace at one priority.
  struct Lane {
    List<Item> items;
    const std::string* name = nullptr;
    Lane* next = nullptr;
    Lane* previous = nullptr;
  };

 private:
  // One priority: its namespaces take turns.
  struct Level {
    std::unordered_map<std::string, Lane> lanes;
    List<Lane> turns;
    std::size_t size = 0;
  };
  using Levels = std::map<int, Level, std::greater<>>;

  // With what is compared, so that looking for the earliest touches no item.
  struct Delayed {
    TimePoint due;
    std::uint64_t order = 0;  // among those of the same time
    Item* item = nullptr;

    bool before(const Delayed& other) const { return due != other.due ? due < other.due : order < other.order; }
  };

  Item& find_or_insert(Key key);
  bool merge(Item& item, AddOptions options, Duration delay, TimePoint now);
  void make_pending(Item& item, TimePoint now);
  void enter_lane(Item& item);
  void leave_lane(Item& item);
  Levels::iterator choose_level();
  void delay_until(Item& item, TimePoint due);
  void undelay(Item& item);
  void put(std::size_t slot, Delayed entry);
  void place(std::size_t slot, Delayed entry);
  void erase(Item& item);

  const QueuePolicy policy_;
  std::minstd_rand random_;
  detail::KeyTable<Item> items_;  // owned
  Levels levels_;
  std::vector<Delayed> heap_;  // the earliest first; each has four below it
  List<Item> running_;
  std::size_t ready_ = 0;
  std::size_t again_ = 0;
  std::size_t leased_ = 0;
  std::uint64_t adds_ = 0;
  std::uint64_t retries_ = 0;
  std::uint64_t order_ = 0;
  unsigned passed_over_ = 0;                        // hand-outs while a lower level waited
  int favoured_ = std::numeric_limits<int>::max();  // the lower level that had its turn last
  bool shut_down_ = false;
};

}  // namespace kopper::runtime
