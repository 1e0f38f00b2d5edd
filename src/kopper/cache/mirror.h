#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/base/error.h"
#include "kopper/base/key.h"
#include "kopper/cache/record.h"
#include "kopper/cache/store.h"

namespace kopper::cache {

// Keeps of an object's text only what is wanted: what T has members for, with keep_only<T>() (informer.h).
struct Projection {
  const void* type = nullptr;  // names T
  // Fails when the text does not fit.
  std::function<std::expected<std::string, DecodeError>(std::string_view json)> keep;

  explicit operator bool() const { return keep != nullptr; }
};

// Decides what is news: brings the lists and events of one collection (a namespace, or all) and the answers to our own
// writes into a store, in any order that they may come in, and tells the changes. No IO, no clock. Loop-confined.
//
// An object never goes back in time: what is older than what is known is dropped, told by resourceVersion. Only a list
// may show that the server itself went back (a restored backup); then the list is right.
class Mirror {
 public:
  using Sink = std::function<void(const Change&)>;
  using Done = std::expected<void, DecodeError>;

  // Both outlive it.
  Mirror(Store& store, Sink sink, std::string namespace_ = {}, Projection projection = Projection());

  // A list: begin, initial…, done; or begin again when it broke off.
  void begin();
  Done initial(std::string_view json);
  void done(std::uint64_t version);
  // Events after it.
  Done apply(std::string_view json);
  Done remove(std::string_view json);
  // A bookmark.
  void advance(std::uint64_t version);

  // The server's answer to a write of ours. `selected`: the object is one that this mirror keeps.
  Done note_write(std::string_view json, bool selected = true);
  // The server said that the object is gone. It is not shown again, though older news of it may still come.
  void note_delete(const Key& key, std::string_view uid);

  // Everything goes: the kind was removed, or is not watched any more.
  void clear();

  // The next list shows the same objects in another form: all that comes is news, though its version is not.
  void expect_other_text() { other_text_ = true; }

  bool synced() const { return synced_; }
  // All that happened up to here is in the store.
  std::uint64_t version() const { return version_; }
  const std::string& namespace_() const { return scope_; }
  std::uint64_t unprojectable() const { return unprojectable_; }
  std::size_t tombstones() const { return gone_.size(); }

 private:
  struct Gone {
    std::string uid;
    std::uint64_t version;  // news up to here is old
    std::uint32_t noted;    // in which round
    std::uint32_t seen;     // in which list it still was
  };

  Done scan(std::string_view json, detail::Head& head) const;
  Done put(std::string_view json, detail::Head& head, bool initial, bool own);
  void drop(const Record& record, bool missed);
  void remember_gone(std::string_view uid, std::uint64_t version);
  void forget_gone(std::string_view uid);
  Gone* gone(const detail::Head& head);

  // Constant after construction.
  Store& store_;
  Sink sink_;
  std::string scope_;  // a namespace, or ""
  Projection projection_;
  // The place in the stream.
  bool synced_ = false;
  bool other_text_ = false;
  std::uint64_t version_ = 0;
  std::uint32_t round_ = 0;
  std::vector<std::string> held_back_;  // of the list at hand: older than the answers to our own writes
  std::deque<Gone> gone_;               // the oldest first
  std::uint64_t unprojectable_ = 0;
};

}  // namespace kopper::cache
