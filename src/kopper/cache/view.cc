#include "kopper/cache/view.h"

namespace kopper::cache {

std::shared_ptr<const void> ViewMemo::find(const Record* record, const void* tag) {
  const auto [first, last] = by_record_.equal_range(record);
  for (auto at = first; at != last; ++at) {
    if (at->second->tag != tag) continue;
    entries_.splice(entries_.begin(), entries_, at->second);
    return at->second->view;
  }
  return nullptr;
}

bool ViewMemo::asked_before(const Record* record, const void* tag) {
  const auto id = reinterpret_cast<std::uintptr_t>(record) ^ reinterpret_cast<std::uintptr_t>(tag);
  return std::exchange(asked_[(id >> 4U) * 0x9E3779B97F4A7C15U >> 56U], id) == id;
}

void ViewMemo::add(const RecordRef& record, const void* tag, std::shared_ptr<const void> view) {
  if (record->json_size() > max_bytes_ / 4) return;
  entries_.push_front({record, tag, std::move(view)});
  by_record_.emplace(record.get(), entries_.begin());
  bytes_ += record->json_size();
  while (entries_.size() > max_views_ || bytes_ > max_bytes_) erase(std::prev(entries_.end()));
}

void ViewMemo::forget(const Record& record) {
  for (auto at = by_record_.find(&record); at != by_record_.end(); at = by_record_.find(&record)) erase(at->second);
}

void ViewMemo::erase(Entries::iterator entry) {
  const auto [first, last] = by_record_.equal_range(entry->record.get());
  for (auto at = first; at != last; ++at) {
    if (at->second != entry) continue;
    by_record_.erase(at);
    break;
  }
  bytes_ -= entry->record->json_size();
  entries_.erase(entry);
}

}  // namespace kopper::cache
