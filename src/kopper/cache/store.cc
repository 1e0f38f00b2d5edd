#include "kopper/cache/store.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <fmt/format.h>

#include "kopper/base/log.h"
#include "kopper/cache/detail/dictionary.h"
#include "kopper/cache/detail/head.h"

namespace kopper::cache {
namespace {

// Auto: below this, compression saves little and costs at each read.
constexpr std::size_t kAutoBytes = std::size_t{4} << 20U;
constexpr std::size_t kAutoObjects = 1000;
// A dictionary is made of so many objects, spread over the store.
constexpr std::size_t kFewestSamples = 64;
constexpr std::size_t kMostSamples = 256;
constexpr std::size_t kConvertAtOnce = 64;
// Lists come by key: the first objects are of the first namespaces, and what comes later may look otherwise. When there
// are so many times more, what comes then gets a dictionary of all.
constexpr std::size_t kGrown = 8;

using KeyView = std::pair<std::string_view, std::string_view>;
KeyView key_of(const Record& record) { return {record.namespace_(), record.name()}; }
bool by_key(const Record* a, const Record* b) { return key_of(*a) < key_of(*b); }
bool refs_by_key(const RecordRef& a, const RecordRef& b) { return by_key(a.get(), b.get()); }

std::size_t mix(std::size_t a, std::size_t b) { return (a ^ (b >> 32U)) * 0x9E3779B97F4A7C15ULL ^ b; }

// A place in the table. The record knows its key, so that keys are not kept twice; another one of the same key may take
// its place.
struct Slot {
  mutable RecordRef record;
};
struct SlotHash {
  using is_transparent = void;
  using is_avalanching = void;
  std::size_t operator()(const KeyView& key) const {
    const std::hash<std::string_view> hash;
    return mix(hash(key.second), hash(key.first));
  }
  std::size_t operator()(const Slot& slot) const { return (*this)(key_of(*slot.record)); }
};
struct SlotEqual {
  using is_transparent = void;
  static KeyView key(const KeyView& key) { return key; }
  static KeyView key(const Slot& slot) { return key_of(*slot.record); }
  bool operator()(const auto& a, const auto& b) const { return key(a) == key(b); }
};
struct TextHash {
  using is_transparent = void;
  using is_avalanching = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

class Index {
 public:
  explicit Index(IndexFn keys) : keys_(std::move(keys)) {}

  using Bucket = std::vector<const Record*>;  // by key

  const Bucket* find(std::string_view value) const {
    const auto found = buckets_.find(value);
    return found == buckets_.end() ? nullptr : &found->second;
  }

  void replace(const Record* before, const Record* after) {
    auto now = after != nullptr ? sorted_keys(*after) : std::vector<std::string>{};
    if (before != nullptr) {
      for (const auto& key : sorted_keys(*before)) {
        if (!std::ranges::binary_search(now, key)) remove(key, *before);
      }
    }
    for (auto& key : now) insert(std::move(key), *after);
  }

 private:
  std::vector<std::string> sorted_keys(const Record& record) const {
    auto keys = keys_of(record);
    std::ranges::sort(keys);
    const auto [first, last] = std::ranges::unique(keys);
    keys.erase(first, last);
    return keys;
  }

  // The function is a user's; an object that it cannot stand is in no bucket.
  std::vector<std::string> keys_of(const Record& record) const {
    try {
      return keys_(record);
    } catch (const std::exception& error) {
      log::error("an index function threw", {{"key", record.key().str()}, {"error", error.what()}});
      return {};
    }
  }

  void insert(std::string key, const Record& record) {
    auto& bucket = buckets_[std::move(key)];
    const auto at = std::ranges::lower_bound(bucket, &record, by_key);
    if (at != bucket.end() && key_of(**at) == key_of(record)) {
      *at = &record;
    } else {
      bucket.insert(at, &record);
    }
  }

  void remove(const std::string& key, const Record& record) {
    const auto found = buckets_.find(key);
    if (found == buckets_.end()) return;
    auto& bucket = found->second;
    const auto at = std::ranges::lower_bound(bucket, &record, by_key);
    if (at != bucket.end() && key_of(**at) == key_of(record)) bucket.erase(at);
    if (bucket.empty()) buckets_.erase(found);
  }

  IndexFn keys_;
  boost::unordered_flat_map<std::string, Bucket, TextHash, std::equal_to<>> buckets_;
};

bool matches(const Record& record, const Filter& filter) {
  if (!filter.namespace_.empty() && record.namespace_() != filter.namespace_) return false;
  return record.matches(filter.labels) && record.matches(filter.fields);
}

struct Release {
  void operator()(const Dictionary* dictionary) const { dictionary->release(); }
};

}  // namespace

struct Store::Impl {
  boost::unordered_flat_set<Slot, SlotHash, SlotEqual> records;
  std::vector<std::pair<std::string, Index>> indexes;
  std::optional<Index> namespaces;  // made when it is first asked for

  Storage storage = Storage::Auto;
  std::unique_ptr<const Dictionary, Release> dictionary;
  std::size_t tried_at = 0;  // how many objects there were when a dictionary was made, or could not be
  std::vector<RecordRef> to_convert;
  StoreSize size;

  void count(const Record& record, bool add) {
    const auto change = [add](std::size_t& total, std::size_t by) { total = add ? total + by : total - by; };
    change(size.objects, 1);
    change(size.bytes, record.bytes());
    change(size.json_bytes, record.json_size());
    change(size.compressed, record.compressed() ? 1 : 0);
  }

  void reindex(const Record* before, const Record* after) {
    for (auto& [name, index] : indexes) index.replace(before, after);
    if (namespaces) namespaces->replace(before, after);
  }

  const Index::Bucket* of_namespace(std::string_view name) {
    if (!namespaces) {
      namespaces.emplace([](const Record& record) { return std::vector{std::string(record.namespace_())}; });
      for (const auto& slot : records) namespaces->replace(nullptr, slot.record.get());
    }
    return namespaces->find(name);
  }

  // The records that a filter may select, in no order or by key.
  template <class Visit>
  void candidates(std::string_view namespace_, Visit visit) {
    if (namespace_.empty()) {
      for (const auto& slot : records) visit(*slot.record);
    } else if (const auto* bucket = of_namespace(namespace_)) {
      for (const auto* record : *bucket) visit(*record);
    }
  }

  bool wants_compression() const {
    if (storage == Storage::Auto) return size.objects >= kAutoObjects && size.json_bytes >= kAutoBytes;
    return storage == Storage::Compressed && size.objects >= kFewestSamples;
  }
  bool wants_dictionary() const { return wants_compression() && size.objects >= tried_at * (dictionary ? kGrown : 2); }

  void make_dictionary() {
    std::vector<std::string> samples;
    const auto step = std::max<std::size_t>(1, records.size() / kMostSamples);
    std::size_t at = 0;
    for (const auto& slot : records) {
      if (at++ % step == 0 && samples.size() < kMostSamples) samples.push_back(slot.record->json());
    }
    tried_at = size.objects;
    const auto* made = Dictionary::make(samples);
    if (made == nullptr) return;
    const bool first = !dictionary;
    dictionary.reset(made);
    size.dictionary_bytes = made->bytes();
    if (first) convert_all();
  }

  void convert_all() {
    to_convert.clear();
    for (const auto& slot : records) {
      if (slot.record->compressed() != (dictionary != nullptr)) to_convert.push_back(slot.record);
    }
  }
};

Store::Store(client::Resource resource, Storage storage)
    : resource_(std::move(resource)), impl_(std::make_unique<Impl>()) {
  impl_->storage = storage;
}
Store::~Store() = default;

RecordRef Store::get(std::string_view namespace_, std::string_view name) const {
  const auto found = impl_->records.find(KeyView(namespace_, name));
  return found == impl_->records.end() ? RecordRef() : found->record;
}

std::vector<RecordRef> Store::list(const Filter& filter) const {
  std::vector<RecordRef> out;
  impl_->candidates(filter.namespace_, [&](const Record& record) {
    if (matches(record, filter)) out.push_back(RecordRef::share(record));
  });
  if (filter.namespace_.empty()) std::ranges::sort(out, refs_by_key);
  return out;
}

std::vector<RecordRef> Store::by_index(std::string_view index, std::string_view value, const Filter& filter) const {
  for (const auto& [name, keys] : impl_->indexes) {
    if (name != index) continue;
    std::vector<RecordRef> out;
    if (const auto* bucket = keys.find(value)) {
      for (const auto* record : *bucket) {
        if (matches(*record, filter)) out.push_back(RecordRef::share(*record));
      }
    }
    return out;
  }
  throw Error(Code::Invalid, fmt::format("no index \"{}\" on {}: add it with add_index()", index, resource_.name()));
}

void Store::each(const std::function<void(const RecordRef&)>& visit) const {
  for (const auto& slot : impl_->records) visit(slot.record);
}

std::size_t Store::count(const Filter& filter) const {
  std::size_t total = 0;
  impl_->candidates(filter.namespace_, [&](const Record& record) { total += matches(record, filter) ? 1U : 0U; });
  return total;
}

void Store::add_index(std::string name, IndexFn keys) {
  Index index(std::move(keys));
  for (const auto& slot : impl_->records) index.replace(nullptr, slot.record.get());
  std::erase_if(impl_->indexes, [&](const auto& known) { return known.first == name; });
  impl_->indexes.emplace_back(std::move(name), std::move(index));
}

bool Store::has_index(std::string_view name) const {
  return std::ranges::any_of(impl_->indexes, [&](const auto& known) { return known.first == name; });
}

StoreSize Store::size() const { return impl_->size; }
Storage Store::storage() const { return impl_->storage; }

void Store::set_storage(Storage storage) {
  impl_->storage = storage;
  if (storage == Storage::Raw) {
    impl_->dictionary.reset();
    impl_->size.dictionary_bytes = 0;
    impl_->convert_all();
  }
  impl_->tried_at = 0;
}

bool Store::tidy() {
  if (impl_->wants_dictionary()) {
    impl_->make_dictionary();
    return !impl_->to_convert.empty();
  }
  auto& waiting = impl_->to_convert;
  for (std::size_t done = 0; done < kConvertAtOnce && !waiting.empty(); ++done) {
    const auto record = std::move(waiting.back());
    waiting.pop_back();
    if (get(record->namespace_(), record->name()) != record) continue;
    if (auto other = Record::recoded(*record, impl_->dictionary.get())) put(std::move(other));
  }
  if (waiting.empty()) waiting.shrink_to_fit();
  return !waiting.empty();
}

void Store::put(RecordRef record) {
  const auto [slot, added] = impl_->records.insert(Slot{record});
  RecordRef before;
  if (!added) {
    before = std::exchange(slot->record, record);
    views_.forget(*before);
    impl_->count(*before, false);
  }
  impl_->count(*record, true);
  impl_->reindex(before.get(), record.get());
}

std::expected<RecordRef, DecodeError> Store::put(const detail::Head& head) {
  auto record = Record::build(head, impl_->dictionary.get());
  if (record) put(*record);
  return record;
}

RecordRef Store::erase(std::string_view namespace_, std::string_view name) {
  const auto found = impl_->records.find(KeyView(namespace_, name));
  if (found == impl_->records.end()) return {};
  auto record = found->record;
  impl_->reindex(record.get(), nullptr);
  impl_->records.erase(found);
  views_.forget(*record);
  impl_->count(*record, false);
  return record;
}

std::vector<RecordRef> Store::unmarked(std::string_view namespace_, std::uint32_t round) const {
  std::vector<RecordRef> out;
  impl_->candidates(namespace_, [&](const Record& record) {
    if (record.round_ != round) out.push_back(RecordRef::share(record));
  });
  std::ranges::sort(out, refs_by_key);
  return out;
}

IndexFn by_controller() {
  return [](const Record& record) -> std::vector<std::string> {
    const auto owner = record.controller();
    if (!owner) return {};
    return {std::string(owner->uid)};
  };
}

IndexFn by_label(std::string key) {
  return [key = std::move(key)](const Record& record) -> std::vector<std::string> {
    const auto value = record.label(key);
    if (!value) return {};
    return {std::string(*value)};
  };
}

IndexFn by_field(std::string path) {
  return [path = std::move(path)](const Record& record) -> std::vector<std::string> {
    auto value = record.field(path);
    if (!value) return {};
    return {std::move(*value)};
  };
}

}  // namespace kopper::cache
