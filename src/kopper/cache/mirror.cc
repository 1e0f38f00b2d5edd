#include "kopper/cache/mirror.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "kopper/cache/detail/head.h"

namespace kopper::cache {
namespace {

// Deletes of ours that no watch confirmed. More than that are not remembered.
constexpr std::size_t kMostGone = 4096;

// False when either is unknown.
bool older(std::uint64_t a, std::uint64_t b) { return a != 0 && b != 0 && a < b; }

detail::Head& this_threads_head() {
  thread_local detail::Head head;
  return head;
}

}  // namespace

Mirror::Mirror(Store& store, Sink sink, std::string namespace_, Projection projection)
    : store_(store), sink_(std::move(sink)), scope_(std::move(namespace_)), projection_(std::move(projection)) {}

void Mirror::begin() {
  round_ = store_.begin_round();
  held_back_.clear();
}

Mirror::Done Mirror::initial(std::string_view json) {
  auto& head = this_threads_head();
  if (auto scanned = scan(json, head); !scanned) return scanned;
  if (auto* known = gone(head)) {
    known->seen = round_;
    return {};
  }
  const auto before = store_.get(head.namespace_, head.name);
  if (before) Store::mark(*before, round_);
  if (before && before->uid() == head.uid && before->resource_version() == head.resource_version &&
      head.resource_version != 0 && !other_text_) {
    return {};
  }
  if (before && older(head.resource_version, before->resource_version()) && Store::own(*before)) {
    held_back_.emplace_back(json);
    return {};
  }
  return put(json, head, !synced_, false);
}

void Mirror::done(std::uint64_t version) {
  const bool went_back = older(version, version_);
  version_ = version;
  if (went_back) {
    for (const auto& json : std::exchange(held_back_, {})) {
      auto& head = this_threads_head();
      if (detail::scan(json, head)) static_cast<void>(put(json, head, false, false));
    }
  }
  held_back_ = {};
  for (const auto& record : store_.unmarked(scope_, round_)) {
    // Written by us after the list was read: the watch will tell what became of it.
    if (!went_back && older(version, record->resource_version())) continue;
    drop(*record, true);
  }
  // What we deleted before the list was read, and what is not in it, will not be heard of again.
  std::erase_if(gone_, [this](const Gone& each) { return each.noted < round_ && each.seen != round_; });
  synced_ = true;
  other_text_ = false;
}

Mirror::Done Mirror::apply(std::string_view json) {
  auto& head = this_threads_head();
  if (auto scanned = scan(json, head); !scanned) return scanned;
  version_ = std::max(version_, head.resource_version);
  if (gone(head) != nullptr) return {};
  const auto before = store_.get(head.namespace_, head.name);
  if (before && older(head.resource_version, before->resource_version())) return {};
  if (before && before->uid() == head.uid && before->resource_version() == head.resource_version &&
      head.resource_version != 0) {
    Store::set_own(*before, false);  // the echo of our own write
    return {};
  }
  return put(json, head, false, false);
}

Mirror::Done Mirror::remove(std::string_view json) {
  auto& head = this_threads_head();
  if (auto scanned = scan(json, head); !scanned) return scanned;
  if (synced_) version_ = std::max(version_, head.resource_version);
  forget_gone(head.uid);
  const auto before = store_.get(head.namespace_, head.name);
  if (!before) return {};
  // Another one of the same name: it was made after this one was deleted.
  if (before->uid() != head.uid && !older(before->resource_version(), head.resource_version)) return {};
  drop(*before, false);
  return {};
}

void Mirror::advance(std::uint64_t version) { version_ = std::max(version_, version); }

Mirror::Done Mirror::note_write(std::string_view json, bool selected) {
  auto& head = this_threads_head();
  if (auto scanned = scan(json, head); !scanned) return scanned;
  // The watch was faster: whatever became of the object is known already.
  if (head.resource_version == 0 || head.resource_version <= version_ || gone(head) != nullptr) return {};
  const auto before = store_.get(head.namespace_, head.name);
  if (before && before->resource_version() >= head.resource_version) return {};
  if (selected) return put(json, head, false, true);
  if (!before || before->uid() != head.uid) return {};
  remember_gone(head.uid, head.resource_version);
  drop(*before, false);
  return {};
}

void Mirror::note_delete(const Key& key, std::string_view uid) {
  if (uid.empty()) return;
  const auto before = store_.get(key);
  remember_gone(uid, std::numeric_limits<std::uint64_t>::max());
  if (before && before->uid() == uid) drop(*before, false);
}

void Mirror::clear() {
  begin();
  for (const auto& record : store_.unmarked(scope_, round_)) drop(*record, true);
  gone_.clear();
  synced_ = false;
  version_ = 0;
}

// Tables, Scales and other things that are not the object are refused.
Mirror::Done Mirror::scan(std::string_view json, detail::Head& head) const {
  if (auto scanned = detail::scan(json, head); !scanned) return scanned;
  const auto& wanted = store_.resource().kind;
  if (head.kind.empty() || wanted.empty() || head.kind == wanted || head.kind == "PartialObjectMetadata") return {};
  return std::unexpected(DecodeError{.what = fmt::format("expected {}, found {}", wanted, head.kind), .path = "kind"});
}

Mirror::Done Mirror::put(std::string_view json, detail::Head& head, bool initial, bool own) {
  std::string projected;
  if (projection_) {
    std::string whole;
    whole.reserve(json.size());
    whole.append(head.before_cut).append(head.after_cut);
    // What does not fit is kept whole, so that who reads it learns why.
    if (auto kept = projection_.keep(whole)) {
      projected = std::move(*kept);
      head.before_cut = projected;
      head.after_cut = {};
    } else {
      ++unprojectable_;
    }
  }
  const auto before = store_.get(head.namespace_, head.name);
  auto after = store_.put(head);
  if (!after) return std::unexpected(std::move(after.error()));
  Store::mark(**after, round_);
  Store::set_own(**after, own);
  if (before && before->uid() != (*after)->uid()) {
    sink_({.before = before, .after = {}, .missed = true});
    sink_({.before = {}, .after = std::move(*after), .initial = initial});
  } else {
    sink_({.before = before, .after = std::move(*after), .initial = initial && !before});
  }
  return {};
}

void Mirror::drop(const Record& record, bool missed) {
  auto before = store_.erase(record.namespace_(), record.name());
  if (before) sink_({.before = std::move(before), .after = {}, .missed = missed});
}

void Mirror::remember_gone(std::string_view uid, std::uint64_t version) {
  forget_gone(uid);
  gone_.push_back({.uid = std::string(uid), .version = version, .noted = round_, .seen = 0});
  if (gone_.size() > kMostGone) gone_.pop_front();
}

void Mirror::forget_gone(std::string_view uid) {
  if (gone_.empty()) return;
  std::erase_if(gone_, [uid](const Gone& each) { return each.uid == uid; });
}

Mirror::Gone* Mirror::gone(const detail::Head& head) {
  const auto found = std::ranges::find(gone_, head.uid, &Gone::uid);
  return found != gone_.end() && head.resource_version <= found->version ? &*found : nullptr;
}

}  // namespace kopper::cache
