#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/base/error.h"
#include "kopper/base/key.h"
#include "kopper/cache/mirror.h"
#include "kopper/cache/store.h"
#include "kopper/client/client.h"
#include "kopper/client/resource.h"
#include "kopper/meta/decode.h"
#include "kopper/meta/encode.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/task.h"

namespace kopper::cache {

struct InformerOptions {
  std::vector<std::string> namespaces;  // none: all
  std::string label_selector;
  std::string field_selector;
  Storage storage = Storage::Auto;
  bool metadata_only = false;  // neither spec nor status travels
  Projection keep;             // keep_only<T>(): what T has no member for is not stored
  // When the server drops the version but serves the kind in another one, go on with that: for who reads json::Value.
  bool any_version = false;
  std::size_t page_size = 500;  // of a LIST
  bool watch_list = true;       // begin with a WatchList where the server has it
};

// Stores only what T has members for. Views of other types see nothing else.
template <class T>
Projection keep_only() {
  Projection out;
  out.type = &meta::type_of<T>();
  out.keep = [](std::string_view json) -> std::expected<std::string, DecodeError> {
    auto object = meta::decode<T>(json);
    if (!object) return std::unexpected(std::move(object.error()));
    return meta::encode(*object);
  };
  return out;
}

struct InformerStats {
  StoreSize size;
  bool synced = false;
  bool missing = false;                     // the server does not know the kind, or not in this version
  std::uint64_t events = 0;                 // of the watch; own writes are not counted
  std::uint64_t relists = 0;                // lists after the first
  std::uint64_t failures = 0;               // of requests and connections; each is followed by a pause and another try
  std::uint64_t bad_objects = 0;            // that are no objects; they are left out
  std::uint64_t unprojectable = 0;          // that did not fit `keep`; they are stored whole
  std::uint64_t undecodable = 0;            // reads of objects that did not fit the type asked for
  std::optional<rt::TimePoint> last_event;  // any sign of life of the watch, bookmarks included
  std::optional<rt::Duration> lag;          // from the answer to an own write until the watch brought it, the last time
  std::string last_error;                   // "" when the last try succeeded
};

// Called on the loop, after the store was updated; in order. Must not throw and must not block.
using Handler = std::function<void(const Change&)>;

// The handler is called until this is destroyed.
class [[nodiscard]] Subscription {
 public:
  Subscription() = default;
  Subscription(Subscription&&) noexcept = default;
  Subscription& operator=(Subscription&& other) noexcept;
  ~Subscription();

 private:
  friend class Informer;
  struct State;
  explicit Subscription(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// Keeps a store equal to a collection of the server, for ever: a mirror (mirror.h) and a watcher for each namespace. It
// goes on through lost connections, restarted servers, expired versions, and kinds that are not installed yet, or are
// removed and come back. Loop-confined; outlives its readers.
class Informer {
 public:
  Informer(client::Client client, client::Resource resource, InformerOptions options = InformerOptions());
  ~Informer();
  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;

  // Until it is cancelled. What goes wrong is in stats(). At most one at a time.
  Task<> run();

  // All that the server had when we began is in the store.
  bool synced() const;
  // The server does not know the kind. The informer asks again; synced() comes when it appears.
  bool missing() const;
  Task<> wait_synced();
  // Until it is synced or known to be missing.
  Task<> wait_settled();

  // What is there already comes at once, before subscribe() returns, as initial changes.
  Subscription subscribe(Handler handler);

  const Store& store() const;
  // At any time; what is there is indexed at once.
  void add_index(std::string name, IndexFn keys);
  void set_storage(Storage storage);

  // At any time. None: all. What is not watched any more is told as deleted (and `missed`).
  void set_namespaces(std::vector<std::string> namespaces);
  const std::vector<std::string>& namespaces() const { return options().namespaces; }
  bool watches(std::string_view namespace_) const;
  // Somebody else wants the same resource: watches their namespaces too, and keeps whole objects unless both want the
  // same part. Throws Error{Invalid} when it runs already and keeps too little.
  void share(const InformerOptions& other);

  // Read-your-own-writes: the server's answer to a create, update, patch or apply of the whole object. The store has it
  // at once, and the change is told, for it may hold what others changed. When the watch brings it, nothing is told
  // twice.
  void note_write(std::string_view json);
  // The server's answer to a delete: what is gone is gone, what waits for finalizers is seen to.
  void note_delete(const Key& key, std::string_view answer);
  // The same for who knows that the object is gone.
  void note_gone(const Key& key, std::string_view uid);

  InformerStats stats() const;
  // Its version may change, with `any_version`.
  const client::Resource& resource() const { return store().resource(); }
  const InformerOptions& options() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kopper::cache
