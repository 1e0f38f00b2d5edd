#pragma once

#include <cstdint>
#include <expected>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "kopper/base/error.h"
#include "kopper/cache/record.h"
#include "kopper/client/codec.h"

namespace kopper::cache {

// `resource` gives a json::Value its apiVersion and kind, which objects of a list lack.
template <class T>
std::expected<T, DecodeError> decode(const Record& record, const client::Resource& resource = client::Resource()) {
  std::string scratch;
  return client::from_item<T>(record.json(scratch), resource);
}

// A typed copy of its own, which may be held for ever. Throws Error{Invalid} when T cannot hold the object.
template <class T>
std::shared_ptr<const T> view(const RecordRef& record, const client::Resource& resource = client::Resource()) {
  if (!record) return nullptr;
  auto object = decode<T>(*record, resource);
  if (!object) throw client::undecodable(record->key(), object.error());
  return std::make_shared<const T>(std::move(*object));
}

// The views that were asked for last, so that a hot object is decoded once a version. Bounded by their number and by
// the size of their text. Loop-confined.
class ViewMemo {
 public:
  explicit ViewMemo(std::size_t max_views = 256, std::size_t max_bytes = std::size_t{2} << 20U)
      : max_views_(max_views), max_bytes_(max_bytes) {}

  template <class T>
  std::shared_ptr<const T> get(const RecordRef& record, const client::Resource& resource) {
    auto made = made_for<T>(record, resource);
    if (!made) throw client::undecodable(record->key(), made.error());
    return std::move(*made);
  }
  // Null when T cannot hold the object.
  template <class T>
  std::shared_ptr<const T> try_get(const RecordRef& record, const client::Resource& resource) {
    auto made = made_for<T>(record, resource);
    return made ? std::move(*made) : nullptr;
  }
  void forget(const Record& record);
  std::size_t size() const { return entries_.size(); }
  std::uint64_t undecodable() const { return undecodable_; }

 private:
  struct Entry {
    RecordRef record;
    const void* tag;
    std::shared_ptr<const void> view;
  };
  using Entries = std::list<Entry>;  // the one used last first

  template <class T>
  std::expected<std::shared_ptr<const T>, DecodeError> made_for(const RecordRef& record,
                                                                const client::Resource& resource) {
    static char tag;  // its address names T
    if (auto known = find(record.get(), &tag)) return std::static_pointer_cast<const T>(std::move(known));
    auto object = decode<T>(*record, resource);
    if (!object) {
      ++undecodable_;
      return std::unexpected(std::move(object.error()));
    }
    auto made = std::make_shared<const T>(std::move(*object));
    add(record, &tag, made);
    return made;
  }
  std::shared_ptr<const void> find(const Record* record, const void* tag);
  void add(const RecordRef& record, const void* tag, std::shared_ptr<const void> view);
  void erase(Entries::iterator entry);

  std::size_t max_views_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::uint64_t undecodable_ = 0;
  Entries entries_;
  std::unordered_multimap<const Record*, Entries::iterator> by_record_;
};

}  // namespace kopper::cache
