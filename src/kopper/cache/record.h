#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kopper/api/labels.h"
#include "kopper/api/selector.h"
#include "kopper/base/error.h"
#include "kopper/base/key.h"

namespace kopper::cache {

class Dictionary;
class Record;
namespace detail {
struct Head;
}

// A shared, constant record, or none. May be held for ever, and by any thread.
class RecordRef {
 public:
  RecordRef() = default;
  RecordRef(std::nullptr_t) {}
  RecordRef(const RecordRef& other) : record_(other.record_) { retain(); }
  RecordRef(RecordRef&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  RecordRef& operator=(RecordRef other) noexcept {
    std::swap(record_, other.record_);
    return *this;
  }
  ~RecordRef() { release(); }
  // One more holder of a record that somebody holds.
  static RecordRef share(const Record& record) {
    RecordRef ref(&record);
    ref.retain();
    return ref;
  }

  const Record* get() const { return record_; }
  const Record& operator*() const { return *record_; }
  const Record* operator->() const { return record_; }
  explicit operator bool() const { return record_ != nullptr; }
  // The same record, not an equal one.
  friend bool operator==(const RecordRef&, const RecordRef&) = default;

 private:
  friend class Record;
  explicit RecordRef(const Record* adopted) : record_(adopted) {}
  void retain() const;
  void release() const;

  const Record* record_ = nullptr;
};

// Whom an object belongs to. The views live as long as the record.
struct OwnerView {
  std::string_view api_version;
  std::string_view kind;
  std::string_view name;
  std::string_view uid;

  // "apps" of "apps/v1"; "" for core.
  std::string_view group() const;
  friend bool operator==(const OwnerView&, const OwnerView&) = default;
};

// One version of one object as a cache keeps it: what lists, indexes and triggers ask for, ready to read, and the JSON
// text without metadata.managedFields, plain or compressed. One allocation; never changes. Safe to read from any
// thread.
class Record {
 public:
  // Fails when the text is no JSON object with a metadata.name. What is outside of metadata is kept as it is, and only
  // looked at by who decodes it.
  static std::expected<RecordRef, DecodeError> make(std::string_view json);

  std::string_view namespace_() const { return text(0, namespace_size_); }
  std::string_view name() const { return text(namespace_size_, name_size_); }
  Key key() const { return {std::string(namespace_()), std::string(name())}; }
  std::string_view uid() const { return text(namespace_size_ + name_size_, uid_size_); }
  // 0 when it is no number, which no API server writes.
  std::uint64_t resource_version() const { return resource_version_; }
  std::int64_t generation() const { return generation_; }
  // Deletion was asked for; finalizers or a grace period hold it up.
  bool deleting() const { return (flags_ & kDeleting) != 0; }
  // The owner with controller: true.
  std::optional<OwnerView> controller() const;

  std::optional<std::string_view> label(std::string_view key) const;
  api::Labels labels() const;
  bool matches(const api::Selector& selector) const;
  // Read from the JSON text: not for hot paths.
  api::Labels annotations() const;
  // Without reading the text.
  bool same_labels(const Record& other) const { return labels_text() == other.labels_text(); }
  bool same_annotations(const Record& other) const { return annotations_hash_ == other.annotations_hash_; }

  // The object. Objects that came in a list have neither apiVersion nor kind, as API servers send them.
  std::string json() const;
  // The same without a copy where the text is plain: valid as long as both the record and `scratch` are.
  std::string_view json(std::string& scratch) const;
  // The same in a buffer of this thread: valid until the next call, of any record.
  std::string_view json_for_now() const;
  // A string, number or bool at a path such as "spec.nodeName", as text. Reads metadata.name and .namespace at once.
  std::optional<std::string> field(std::string_view path) const;
  bool matches(const api::FieldSelector& selector) const;

  // What it occupies, and the size of its JSON text.
  std::size_t bytes() const;
  std::size_t json_size() const { return json_size_; }
  bool compressed() const { return dictionary_ != nullptr; }

 private:
  friend class RecordRef;
  friend class Store;

  static constexpr std::uint8_t kDeleting = 1;
  static constexpr std::uint8_t kOwned = 2;

  Record() = default;
  ~Record() = default;
  // `dictionary`: compress with it, unless that does not pay.
  static std::expected<RecordRef, DecodeError> build(const detail::Head& head, const Dictionary* dictionary);
  // The same object in the other form; nothing when that form is no smaller.
  static RecordRef recoded(const Record& record, const Dictionary* dictionary);
  static Record* allocate(std::size_t text, std::size_t payload);
  static void free(const Record* record);

  char* data() { return reinterpret_cast<char*>(this + 1); }
  const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  std::string_view text(std::size_t at, std::size_t size) const { return {data() + at, size}; }
  std::string_view labels_text() const { return text(labels_at_, text_size_ - labels_at_); }
  std::string_view payload() const { return text(text_size_, payload_size_); }
  template <class Visit>
  void each_label(Visit visit) const;

  // After this header: namespace, name, uid, the controller's four strings, the labels, the JSON.
  mutable std::atomic<std::uint32_t> refs_{1};
  mutable std::uint32_t round_ = 0;  // the store's: in which list it was seen last
  std::uint64_t resource_version_ = 0;
  std::int64_t generation_ = 0;
  std::uint64_t annotations_hash_ = 0;
  const Dictionary* dictionary_ = nullptr;  // shared by the records that need it
  std::uint32_t text_size_ = 0;
  std::uint32_t labels_at_ = 0;
  std::uint32_t payload_size_ = 0;
  std::uint32_t json_size_ = 0;
  std::uint16_t namespace_size_ = 0;
  std::uint16_t name_size_ = 0;
  std::uint16_t uid_size_ = 0;
  std::uint16_t owner_sizes_[4] = {0, 0, 0, 0};
  std::uint8_t flags_ = 0;
  mutable bool own_ = false;  // the store's: it is a server's answer to us that the watch has not brought yet
};

inline void RecordRef::retain() const {
  if (record_ != nullptr) record_->refs_.fetch_add(1, std::memory_order_relaxed);
}
inline void RecordRef::release() const {
  if (record_ != nullptr && record_->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) Record::free(record_);
}

// What happened to one object. Added: no `before`. Deleted: no `after`.
struct Change {
  RecordRef before;
  RecordRef after;
  bool initial = false;  // was there when the cache, or the subscriber, began
  bool missed = false;  // deleted while nobody watched: `before` is the last that was seen, maybe not the last that was

  bool added() const { return !before; }
  bool deleted() const { return !after; }
  // The newest that is known of it.
  const Record& object() const { return after ? *after : *before; }
};

}  // namespace kopper::cache
