#include "kopper/runtime/trigger.h"

#include <algorithm>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/api/object.h"

namespace kopper::runtime {

namespace {

using cache::Change;
using cache::Record;

struct AnyObject {
  api::metav1::ObjectMeta metadata;
};

std::string_view group_of(std::string_view api_version) {
  const auto slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

int priority_of(const Change& change) { return change.initial || is_resync(change) ? kLowPriority : 0; }

std::string what_changed(const Record& before, const Record& after) {
  if (before.uid() != after.uid()) return "deleted and created again";
  if (!before.deleting() && after.deleting()) return "deletion requested";
  std::vector<std::string> parts;
  if (before.generation() != after.generation()) {
    parts.push_back(fmt::format("generation {} -> {}", before.generation(), after.generation()));
  }
  if (!before.same_labels(after)) parts.emplace_back("labels");
  if (!before.same_annotations(after)) parts.emplace_back("annotations");
  return parts.empty() ? "updated" : fmt::format("updated ({})", fmt::join(parts, ", "));
}

void add_new(std::vector<Key>& keys, std::vector<Key> more) {
  for (auto& key : more) {
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(std::move(key));
  }
}

std::vector<Request> make_requests(const Trigger& trigger, const Change& change, std::vector<Key> keys) {
  std::vector<Request> made;
  if (keys.empty()) return made;
  const auto reason = reason_for(trigger, change);
  made.reserve(keys.size());
  for (auto& key : keys) made.emplace_back(std::move(key), reason, priority_of(change));
  return made;
}

// One state is enough when the other is absent or the same.
bool both_states(const Change& change) { return change.before && change.after && !is_resync(change); }

}  // namespace

Trigger for_self(const Kind& kind) {
  Trigger trigger;
  trigger.kind = std::string(kind.kind);
  trigger.own = true;
  trigger.map = [](const Record& record) { return std::vector{record.key()}; };
  return trigger;
}

Trigger for_owner(const Kind& watched, const Kind& owner, OwnerOptions options) {
  Trigger trigger;
  trigger.kind = std::string(watched.kind);
  const auto key_of = [cluster = owner.scope == Scope::Cluster](const Record& record, std::string_view name) {
    return Key(cluster ? "" : std::string(record.namespace_()), std::string(name));
  };
  if (options.only_controller) {
    trigger.map = [key_of, owner](const Record& record) {
      std::vector<Key> keys;
      const auto controller = record.controller();
      if (controller && controller->kind == owner.kind && controller->group() == owner.group) {
        keys.push_back(key_of(record, controller->name));
      }
      return keys;
    };
  } else {
    trigger.map = [key_of, owner](const Record& record) {
      std::vector<Key> keys;
      const auto object = cache::decode<AnyObject>(record);
      if (!object) throw_error(object.error(), record.key().str());
      for (const auto& reference : object->metadata.ownerReferences) {
        if (reference.kind == owner.kind && group_of(reference.apiVersion) == owner.group) {
          add_new(keys, {key_of(record, reference.name)});
        }
      }
      return keys;
    };
  }
  return trigger;
}

std::vector<Request> requests(const Trigger& trigger, const Change& change) {
  if (!trigger.when(change)) return {};
  auto keys = trigger.map(change.object());
  // The key of an object is the same in both states.
  if (both_states(change) && !trigger.own) add_new(keys, trigger.map(*change.before));
  return make_requests(trigger, change, std::move(keys));
}

Task<std::vector<Request>> requests_async(Trigger trigger, Change change) {
  std::vector<Key> keys = co_await trigger.map_async(change.after ? change.after : change.before);
  if (both_states(change)) {
    std::vector<Key> former = co_await trigger.map_async(change.before);
    add_new(keys, std::move(former));
  }
  co_return make_requests(trigger, change, std::move(keys));
}

std::string reason_for(const Trigger& trigger, const Change& change) {
  if (change.initial) return "initial list";
  if (is_resync(change)) return "resync";
  std::string what;
  if (change.deleted()) {
    what = change.missed ? "deleted while nobody watched" : "deleted";
  } else {
    what = change.added() ? "created" : what_changed(*change.before, *change.after);
  }
  return trigger.own ? what : fmt::format("{} {} {}", trigger.kind, change.object().key().str(), what);
}

std::string reason_for_retry(unsigned failures) { return fmt::format("retry {} after error", failures); }

std::string reason_for_delay(std::chrono::nanoseconds delay) {
  return fmt::format("requested after {:g}s", std::chrono::duration<double>(delay).count());
}

}  // namespace kopper::runtime
