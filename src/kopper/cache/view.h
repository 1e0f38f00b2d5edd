#pragma once

#include <array>
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

template <class T>
std::expected<std::shared_ptr<const T>, DecodeError> decode_shared(const Record& record,
                                                                   const client::Resource& resource) {
  if constexpr (std::is_same_v<T, json::Value>) {
    std::string scratch;
    auto value = client::from_item<T>(record.json(scratch), resource);
    if (!value) return std::unexpected(std::move(value.error()));
    return std::make_shared<const T>(std::move(*value));
  } else {
    return meta::decode_shared<T>(record.json_for_now());
  }
}

// A typed copy of its own, which may be held for ever. Throws Error{Invalid} when T cannot hold the object.
template <class T>
std::shared_ptr<const T> view(const RecordRef& record, const client::Resource& resource = client::Resource()) {
  if (!record) return nullptr;
  auto object = decode_shared<T>(*record, resource);
  if (!object) throw client::undecodable(record->key(), object.error());
  return std::move(*object);
}

// The views that are asked for again and again, so that a hot object is not decoded each time. One that is asked for
// once is not kept: to keep what a walk over all objects decodes, and to free it much later, takes as long as the
// decoding. Bounded by their number and by the size of their text. Loop-confined.
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
    auto made = decode_shared<T>(*record, resource);
    if (made) {
      if (asked_before(record.get(), &tag)) add(record, &tag, *made);
    } else {
      ++undecodable_;
    }
    return made;
  }
  std::shared_ptr<const void> find(const Record* record, const void* tag);
  // Of what was not asked for long ago; notes that it is asked for now.
  bool asked_before(const Record* record, const void* tag);
  void add(const RecordRef& record, const void* tag, std::shared_ptr<const void> view);
  void erase(Entries::iterator entry);

  std::size_t max_views_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::uint64_t undecodable_ = 0;
  std::array<std::uintptr_t, 256> asked_{};  // by a hash; only compared, they may be gone
  Entries entries_;
  std::unordered_multimap<const Record*, Entries::iterator> by_record_;
};

}  // namespace kopper::cache
