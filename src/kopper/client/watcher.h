#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/base/error.h"
#include "kopper/base/key.h"
#include "kopper/client/api.h"
#include "kopper/client/raw_api.h"
#include "kopper/client/watch.h"
#include "kopper/client/watcher_state.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/task.h"

namespace kopper::client {

struct WatcherOptions {
  std::string namespace_;  // "" = all
  std::string label_selector;
  std::string field_selector;
  std::size_t page_size = 500;
  bool watch_list = true;  // begin with a WatchList where the server has it, else with a LIST
};

// One event of a mirror, its object still as bytes, valid until the next one.
struct RawStoreEvent {
  StoreEventType type = StoreEventType::Failed;
  ObjectHead head;             // of InitApply, Apply and Delete
  std::string_view object;     // likewise
  std::optional<Error> error;  // of Failed
};

// Keeps up with a collection for ever: the driver of watcher_state.h. It never ends and never throws but Cancelled:
// what goes wrong is a Failed event, and it goes on after a pause.
class RawWatcher {
 public:
  RawWatcher(RawApi api, WatcherOptions options);
  ~RawWatcher();
  RawWatcher(RawWatcher&&) noexcept;

  // At most one at a time.
  Task<RawStoreEvent> next();
  const WatcherState& state() const;
  // When the server last sent anything, bookmarks included. Nothing before the first time.
  std::optional<rt::TimePoint> last_heard() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

template <class T>
struct StoreEvent {
  StoreEventType type = StoreEventType::Failed;
  Key key;                     // of InitApply, Apply and Delete, and of an object that T cannot hold
  T object{};                  // of InitApply, Apply and Delete
  std::optional<Error> error;  // of Failed
};

template <class T>
class Watcher {
 public:
  explicit Watcher(Api<T> api, WatcherOptions options = WatcherOptions())
      : resource_(api.resource()), raw_(api.raw(), std::move(options)) {}

  Task<StoreEvent<T>> next() {
    auto raw = co_await raw_.next();
    StoreEvent<T> event{.type = raw.type, .key = std::move(raw.head.key), .object = {}, .error = std::move(raw.error)};
    if (raw.object.empty()) co_return event;
    if (auto object = from_item<T>(raw.object, resource_)) {
      event.object = std::move(*object);
    } else {
      event.type = StoreEventType::Failed;
      event.error = undecodable(event.key, object.error());
    }
    co_return event;
  }

 private:
  Resource resource_;
  RawWatcher raw_;
};

// Which versions of which objects were told of already. Turns the events of a mirror into changes: each once, though
// the list was read again, and nothing lost, though the watch was.
class ChangeTracker {
 public:
  enum class Told : std::uint8_t { Nothing, Added, Modified, Replaced };  // Replaced: deleted and made anew meanwhile

  void begin();                        // Init
  Told apply(const ObjectHead& head);  // InitApply and Apply
  bool remove(const Key& key);         // Delete: false when it was not known
  std::vector<Key> end();              // InitDone: what was known before begin() and did not come again

  std::size_t size() const { return known_.size(); }

 private:
  struct Version {
    std::string uid;
    std::string resource_version;
    unsigned round = 0;
  };
  std::map<Key, Version> known_;
  unsigned round_ = 0;
};

enum class ChangeType : std::uint8_t { Added, Modified, Deleted, Synced, Failed };

template <class T>
struct Change {
  ChangeType type = ChangeType::Failed;
  Key key;
  std::optional<T> object;     // not of a Deleted that was only found missing after the watch was lost
  std::optional<Error> error;  // of Failed
};

// What changes in a collection, for ever: Added for what is there at the beginning, then Synced, then the news. A lost
// connection, a restarted server and a 410 leave no gap and no repetition: at worst several changes of one object are
// told as one. Synced comes again after each time that the list had to be read anew.
template <class T>
class Changes {
 public:
  explicit Changes(Api<T> api, WatcherOptions options = WatcherOptions())
      : resource_(api.resource()), raw_(api.raw(), std::move(options)) {}

  Task<Change<T>> next() {
    while (true) {
      if (!ready_.empty()) {
        auto change = std::move(ready_.back());
        ready_.pop_back();
        co_return change;
      }
      const auto event = co_await raw_.next();
      tell(event);
    }
  }

 private:
  void tell(const RawStoreEvent& event) {
    switch (event.type) {
      case StoreEventType::Init: return tracker_.begin();
      case StoreEventType::InitApply:
      case StoreEventType::Apply: return tell_object(event, tracker_.apply(event.head));
      case StoreEventType::Delete:
        if (tracker_.remove(event.head.key)) add(ChangeType::Deleted, event);
        return;
      case StoreEventType::InitDone:
        ready_.push_back({.type = ChangeType::Synced});
        for (auto& key : tracker_.end()) ready_.push_back({.type = ChangeType::Deleted, .key = std::move(key)});
        return;
      case StoreEventType::Failed: ready_.push_back({.type = ChangeType::Failed, .error = event.error}); return;
    }
  }

  void tell_object(const RawStoreEvent& event, ChangeTracker::Told told) {
    if (told == ChangeTracker::Told::Nothing) return;
    add(told == ChangeTracker::Told::Modified ? ChangeType::Modified : ChangeType::Added, event);
    if (told == ChangeTracker::Told::Replaced) ready_.push_back({.type = ChangeType::Deleted, .key = event.head.key});
  }

  void add(ChangeType type, const RawStoreEvent& event) {
    Change<T> change{.type = type, .key = event.head.key};
    if (auto object = from_item<T>(event.object, resource_)) {
      change.object = std::move(*object);
    } else {
      change.type = ChangeType::Failed;
      change.error = undecodable(event.head.key, object.error());
    }
    ready_.push_back(std::move(change));
  }

  Resource resource_;
  RawWatcher raw_;
  ChangeTracker tracker_;
  std::vector<Change<T>> ready_;  // the next one last
};

}  // namespace kopper::client
