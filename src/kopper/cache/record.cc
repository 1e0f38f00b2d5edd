#include "kopper/cache/record.h"

#include <cstring>
#include <new>

#include "kopper/cache/detail/dictionary.h"
#include "kopper/cache/detail/head.h"
#include "kopper/json/value.h"
#include "kopper/meta/decode.h"

namespace kopper::cache {
namespace {

constexpr std::size_t kLongestText = 0xFFFF;

struct AnnotatedMetadata {
  api::Labels annotations;
};
struct Annotated {
  AnnotatedMetadata metadata;
};

// A label is its two sizes and its two texts.
using Size = std::uint16_t;

class Filler {
 public:
  explicit Filler(char* at) : at_(at) {}
  void text(std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  void size(std::size_t value) {
    const auto stored = static_cast<Size>(value);
    std::memcpy(at_, &stored, sizeof stored);
    at_ += sizeof stored;
  }

 private:
  char* at_;
};

// What a thread keeps between records; larger ones are given back.
struct Buffers {
  std::string plain;
  std::string packed;
};
Buffers& this_threads_buffers() {
  constexpr std::size_t kKeep = std::size_t{1} << 20U;
  thread_local Buffers buffers;
  if (buffers.plain.capacity() > kKeep) buffers = {};
  buffers.plain.clear();
  buffers.packed.clear();
  return buffers;
}

// A record that is compressed costs time at each read: it must save a quarter at least.
bool pays(std::size_t compressed, std::size_t plain) { return compressed < plain - plain / 4; }

std::optional<std::string> scalar(const json::Value& value) {
  if (const auto* text = value.as_string()) return *text;
  if (value.is_null() || value.is_object() || value.is_array()) return std::nullopt;
  return json::dump(value);
}

}  // namespace

std::string_view OwnerView::group() const {
  const auto slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

std::expected<RecordRef, DecodeError> Record::make(std::string_view json) {
  detail::Head head;
  if (auto scanned = detail::scan(json, head); !scanned) return std::unexpected(std::move(scanned.error()));
  return build(head, nullptr);
}

Record* Record::allocate(std::size_t text, std::size_t payload) {
  return new (::operator new(sizeof(Record) + text + payload)) Record;
}

void Record::free(const Record* record) {
  if (record->dictionary_ != nullptr) record->dictionary_->release();
  record->~Record();
  ::operator delete(const_cast<Record*>(record));
}

std::expected<RecordRef, DecodeError> Record::build(const detail::Head& head, const Dictionary* dictionary) {
  std::size_t longest = std::max({head.namespace_.size(), head.name.size(), head.uid.size()});
  std::size_t labels_at = head.namespace_.size() + head.name.size() + head.uid.size();
  for (const auto part : head.owner) {
    longest = std::max(longest, part.size());
    labels_at += part.size();
  }
  std::size_t text = labels_at;
  for (const auto& [key, value] : head.labels) {
    longest = std::max({longest, key.size(), value.size()});
    text += 2 * sizeof(Size) + key.size() + value.size();
  }
  const auto json_size = head.before_cut.size() + head.after_cut.size();
  if (longest > kLongestText) return std::unexpected(DecodeError{"a name or label is too long", "metadata"});
  if (text > UINT32_MAX || json_size > UINT32_MAX) return std::unexpected(DecodeError{"the object is too large", ""});

  std::string_view first = head.before_cut;
  std::string_view second = head.after_cut;
  if (dictionary != nullptr) {
    auto& [plain, packed] = this_threads_buffers();
    plain.append(first).append(second);
    if (dictionary->compress(plain, packed) && pays(packed.size(), json_size)) {
      first = packed;
      second = {};
    } else {
      dictionary = nullptr;
    }
  }

  auto* record = allocate(text, first.size() + second.size());
  record->resource_version_ = head.resource_version;
  record->generation_ = head.generation;
  record->annotations_hash_ = head.annotations_hash;
  record->text_size_ = static_cast<std::uint32_t>(text);
  record->labels_at_ = static_cast<std::uint32_t>(labels_at);
  record->payload_size_ = static_cast<std::uint32_t>(first.size() + second.size());
  record->json_size_ = static_cast<std::uint32_t>(json_size);
  record->namespace_size_ = static_cast<Size>(head.namespace_.size());
  record->name_size_ = static_cast<Size>(head.name.size());
  record->uid_size_ = static_cast<Size>(head.uid.size());
  if (head.deleting) record->flags_ |= kDeleting;
  if (head.owned) record->flags_ |= kOwned;
  if (dictionary != nullptr) {
    dictionary->retain();
    record->dictionary_ = dictionary;
  }
  Filler fill(record->data());
  fill.text(head.namespace_);
  fill.text(head.name);
  fill.text(head.uid);
  for (std::size_t i = 0; i < 4; ++i) {
    record->owner_sizes_[i] = static_cast<Size>(head.owner[i].size());
    fill.text(head.owner[i]);
  }
  for (const auto& [key, value] : head.labels) {
    fill.size(key.size());
    fill.size(value.size());
    fill.text(key);
    fill.text(value);
  }
  fill.text(first);
  fill.text(second);
  return RecordRef(record);
}

RecordRef Record::recoded(const Record& record, const Dictionary* dictionary) {
  std::string plain;
  const auto json = record.json(plain);
  std::string_view payload = json;
  std::string packed;
  if (dictionary != nullptr) {
    if (!dictionary->compress(json, packed) || !pays(packed.size(), json.size())) return {};
    payload = packed;
  }
  auto* out = allocate(record.text_size_, payload.size());
  out->round_ = record.round_;
  out->own_ = record.own_;
  out->resource_version_ = record.resource_version_;
  out->generation_ = record.generation_;
  out->annotations_hash_ = record.annotations_hash_;
  out->text_size_ = record.text_size_;
  out->labels_at_ = record.labels_at_;
  out->payload_size_ = static_cast<std::uint32_t>(payload.size());
  out->json_size_ = record.json_size_;
  out->namespace_size_ = record.namespace_size_;
  out->name_size_ = record.name_size_;
  out->uid_size_ = record.uid_size_;
  for (std::size_t i = 0; i < 4; ++i) out->owner_sizes_[i] = record.owner_sizes_[i];
  out->flags_ = record.flags_;
  if (dictionary != nullptr) {
    dictionary->retain();
    out->dictionary_ = dictionary;
  }
  Filler fill(out->data());
  fill.text(record.text(0, record.text_size_));
  fill.text(payload);
  return RecordRef(out);
}

std::optional<OwnerView> Record::controller() const {
  if ((flags_ & kOwned) == 0) return std::nullopt;
  std::size_t at = std::size_t{namespace_size_} + name_size_ + uid_size_;
  std::string_view parts[4];
  for (std::size_t i = 0; i < 4; ++i) {
    parts[i] = text(at, owner_sizes_[i]);
    at += owner_sizes_[i];
  }
  return OwnerView{.api_version = parts[0], .kind = parts[1], .name = parts[2], .uid = parts[3]};
}

// `visit` says whether to go on.
template <class Visit>
void Record::each_label(Visit visit) const {
  auto rest = labels_text();
  while (!rest.empty()) {
    Size sizes[2];
    std::memcpy(sizes, rest.data(), sizeof sizes);
    rest.remove_prefix(sizeof sizes);
    if (!visit(rest.substr(0, sizes[0]), rest.substr(sizes[0], sizes[1]))) return;
    rest.remove_prefix(std::size_t{sizes[0]} + sizes[1]);
  }
}

std::optional<std::string_view> Record::label(std::string_view key) const {
  std::optional<std::string_view> found;
  each_label([&](std::string_view name, std::string_view value) {
    if (name == key) found = value;
    return !found;
  });
  return found;
}

api::Labels Record::labels() const {
  api::Labels out;
  each_label([&](std::string_view name, std::string_view value) {
    out.emplace(name, value);
    return true;
  });
  return out;
}

bool Record::matches(const api::Selector& selector) const {
  for (const auto& requirement : selector.requirements()) {
    if (!requirement.matches_value(label(requirement.key))) return false;
  }
  return true;
}

api::Labels Record::annotations() const {
  if (annotations_hash_ == 0) return {};
  std::string scratch;
  auto read = meta::decode<Annotated>(json(scratch));
  return read ? std::move(read->metadata.annotations) : api::Labels{};
}

std::string Record::json() const {
  std::string out;
  const auto text = json(out);
  if (text.data() != out.data()) out = text;
  return out;
}

std::string_view Record::json(std::string& scratch) const {
  if (dictionary_ == nullptr) return payload();
  bool whole = false;
  scratch.resize_and_overwrite(json_size_, [&](char* out, std::size_t size) {
    whole = dictionary_->decompress(payload(), out, size);
    return size;
  });
  if (!whole) throw Error(Code::Internal, "a compressed object in the cache is damaged").with(key().str());
  return scratch;
}

std::string_view Record::json_for_now() const { return json(this_threads_buffers().plain); }

std::optional<std::string> Record::field(std::string_view path) const {
  if (path == "metadata.name") return std::string(name());
  if (path == "metadata.namespace") return std::string(namespace_());
  std::string scratch;
  const auto object = json::parse(json(scratch));
  if (!object) return std::nullopt;
  const json::Value* at = &*object;
  while (!path.empty()) {
    const auto dot = path.find('.');
    at = &(*at)[path.substr(0, dot)];
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return scalar(*at);
}

bool Record::matches(const api::FieldSelector& selector) const {
  return selector.empty() || selector.matches([this](std::string_view path) { return field(path); });
}

std::size_t Record::bytes() const { return sizeof(Record) + text_size_ + payload_size_; }

}  // namespace kopper::cache
