#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/selector.h"
#include "kopper/base/key.h"
#include "kopper/cache/record.h"
#include "kopper/cache/view.h"

namespace kopper::cache {

enum class Storage : std::uint8_t {
  Raw,         // JSON text
  Compressed,  // zstd with a dictionary made of the first objects
  Auto,        // compressed once the kind holds much
};

// Which objects; empty parts select everything.
struct Filter {
  std::string namespace_{};
  api::Selector labels{};
  api::FieldSelector fields{};  // reads the text of each candidate: where that is too slow, add an index
};

// Keys under which an object is found. An object may have none, or several.
using IndexFn = std::function<std::vector<std::string>(const Record& record)>;

struct StoreSize {
  std::size_t objects = 0;
  std::size_t bytes = 0;       // of the records
  std::size_t json_bytes = 0;  // of their text, before compression
  std::size_t compressed = 0;  // records
  std::size_t dictionary_bytes = 0;
};

// The objects of one kind by key. A data structure without IO: who fills it (mirror.h) knows what is news.
// Loop-confined; the records that it gives out are not.
class Store {
 public:
  explicit Store(client::Resource resource = client::Resource(), Storage storage = Storage::Auto);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  RecordRef get(const Key& key) const { return get(key.namespace_, key.name); }
  RecordRef get(std::string_view namespace_, std::string_view name) const;
  // Sorted by key.
  std::vector<RecordRef> list(const Filter& filter = Filter()) const;
  std::vector<RecordRef> by_index(std::string_view index, std::string_view value,
                                  const Filter& filter = Filter()) const;
  // In no order; `visit` must not change the store.
  void each(const std::function<void(const RecordRef&)>& visit) const;
  std::size_t count(const Filter& filter = Filter()) const;

  // At any time; what is there is indexed at once. A second one of the same name replaces the first.
  void add_index(std::string name, IndexFn keys);
  bool has_index(std::string_view name) const;

  // Decoded on demand; the last few that were asked for again are kept. Throws Error{Invalid} when T cannot hold the
  // object.
  template <class T>
  std::shared_ptr<const T> view(const RecordRef& record) const {
    if (!record) return nullptr;
    return views_.get<T>(record, resource_);
  }

  // The same; null instead, and counted, when T cannot hold it.
  template <class T>
  std::shared_ptr<const T> try_view(const RecordRef& record) const {
    if (!record) return nullptr;
    return views_.try_get<T>(record, resource_);
  }
  // How often an object did not fit the type that was asked for.
  std::uint64_t undecodable() const { return views_.undecodable(); }

  const client::Resource& resource() const { return resource_; }
  StoreSize size() const;

  Storage storage() const;
  // What is there is converted by tidy().
  void set_storage(Storage storage);
  // Does a part of what is left to do (make the dictionary, convert records); true when there is more. A part takes
  // some milliseconds.
  bool tidy();

  // For who fills it.
  void set_resource(client::Resource resource) { resource_ = std::move(resource); }
  // Takes the place of the record with its key.
  void put(RecordRef record);
  // Makes a record of what was scanned, in the form that this store keeps now, and puts it.
  std::expected<RecordRef, DecodeError> put(const detail::Head& head);
  RecordRef erase(std::string_view namespace_, std::string_view name);
  std::uint32_t begin_round() { return ++rounds_; }
  // Marks for a sweep: the records of a namespace ("" = all) that were not marked in this round.
  static void mark(const Record& record, std::uint32_t round) { record.round_ = round; }
  std::vector<RecordRef> unmarked(std::string_view namespace_, std::uint32_t round) const;
  static void set_own(const Record& record, bool own) { record.own_ = own; }
  static bool own(const Record& record) { return record.own_; }

 private:
  struct Impl;
  client::Resource resource_;
  std::unique_ptr<Impl> impl_;
  mutable ViewMemo views_;
  std::uint32_t rounds_ = 0;
};

// Ready-made indexes.
// By the controller's uid.
IndexFn by_controller();
// By the value of a label.
IndexFn by_label(std::string key);
// By a string, number or bool, "spec.nodeName".
IndexFn by_field(std::string path);
// By anything of a typed object; one that T cannot hold has no keys.
template <class T>
IndexFn by(std::function<std::vector<std::string>(const T&)> keys) {
  return [keys = std::move(keys)](const Record& record) -> std::vector<std::string> {
    auto object = decode<T>(record);
    return object ? keys(*object) : std::vector<std::string>{};
  };
}

}  // namespace kopper::cache
