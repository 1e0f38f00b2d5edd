#include "kopper/plane/expiry.h"

#include <algorithm>

#include "kopper/rt/loop.h"

namespace kopper::plane {
namespace {

// Of an object that was read from the storage. In whole seconds, which is precise enough for an hour.
rt::WallTime last_written(const json::Value& object) {
  const json::Value& metadata = object["metadata"];
  rt::WallTime out{};
  const auto consider = [&out](std::string_view text) {
    if (const auto time = api::Time::parse(text); time && time->is_set())
      out = std::max(out, rt::WallTime(time->point()));
  };
  consider(metadata.text("creationTimestamp"));
  if (const json::Array* fields = metadata["managedFields"].as_array())
    for (const json::Value& one : *fields) consider(one.text("time"));
  return out;
}

}  // namespace

Expiry::Expiry(Core& core, std::string table, rt::Duration ttl)
    : core_(core), table_(core.state.table(table)), ttl_(ttl) {
  core.state.on_change([this](Table& in, const Change& change) {
    if (&in != &table_ || !change.after) return;
    const Stored& object = *change.after;
    due_.push_back({rt::Loop::current().wall_now() + ttl_, {object.namespace_, object.name}, object.revision});
    more_.wake_one();
  });
  tasks_.spawn(work());
}

void Expiry::resume() {
  for (const auto& [place, object] : table_.objects())
    due_.push_back({last_written(object->value()) + ttl_, place, object->revision});
  std::ranges::stable_sort(due_, {}, &Due::when);
  more_.wake_one();
}

Task<> Expiry::work() {
  for (;;) {
    while (due_.empty()) co_await rt::Waiter(more_);
    const rt::Duration wait = due_.front().when - rt::Loop::current().wall_now();
    if (wait > rt::Duration::zero()) {
      co_await rt::sleep(wait);
      continue;
    }
    const Due due = std::move(due_.front());
    due_.pop_front();
    const StoredRef object = table_.find(due.place.first, due.place.second);
    if (object && object->revision == due.revision) core_.state.erase(table_, due.place.first, due.place.second);
  }
}

}  // namespace kopper::plane
