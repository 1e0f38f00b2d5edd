#include "kopper/plane/garbage.h"

#include <algorithm>

#include "kopper/plane/remove.h"
#include "kopper/plane/save.h"

namespace kopper::plane {
namespace {

constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";

Table::Place place_of(const Stored& object) { return {object.namespace_, object.name}; }

// Present, and still the same object.
StoredRef same(Table& table, const Table::Place& place, const std::string& uid) {
  StoredRef found = table.find(place.first, place.second);
  return found && found->uid == uid ? found : nullptr;
}

void forget_owners(json::Value& object, const std::vector<std::string>& uids) {
  json::Value& refs = object["metadata"]["ownerReferences"];
  if (!refs.is_array()) return;
  std::erase_if(*refs.as_array(),
                [&](const json::Value& ref) { return std::ranges::find(uids, ref.text("uid")) != uids.end(); });
  if (refs.as_array()->empty()) object["metadata"].as_object()->erase("ownerReferences");
}

bool blocks(const Stored& dependent, const std::string& owner) {
  const json::Value value = dependent.value();
  for (const json::Value& ref : *value["metadata"]["ownerReferences"].as_array()) {
    const bool* block = ref["blockOwnerDeletion"].as_bool();
    if (ref.text("uid") == owner && block != nullptr && *block) return true;
  }
  return false;
}

}  // namespace

GarbageCollector::GarbageCollector(Core& core, Chores& chores) : core_(core), chores_(chores) {
  core.state.on_change([this](Table& table, const Change& change) { changed(table, change); });
}

void GarbageCollector::resume() {
  for (const auto& [name, table] : core_.state.tables())
    for (const auto& [place, object] : table->objects()) {
      Change seen;
      seen.after = object;
      if (object->deleting || !object->owners.empty()) changed(*table, seen);
    }
}

void GarbageCollector::changed(Table& table, const Change& change) {
  if (!change.after) {
    for (const auto& [in, dependent] : core_.state.owned_by(change.last->uid))
      chores_.add(check(in, place_of(*dependent), dependent->uid));
    // An owner may have waited for this one.
    for (const std::string& owner : change.last->owners) {
      const auto found = core_.state.find_uid(owner);
      if (found.second && found.second->deleting)
        chores_.add(finish_foreground(found.first, place_of(*found.second), owner));
    }
    return;
  }
  const Stored& object = *change.after;
  const bool new_owners = !object.owners.empty() && (!change.before || change.before->owners != object.owners);
  if (new_owners &&
      std::ranges::any_of(object.owners, [&](const std::string& uid) { return !core_.state.exists(uid); }))
    chores_.add(check(&table, place_of(object), object.uid));
  if (!object.deleting) return;
  if (has_finalizer(object, kOrphan)) {
    chores_.add(orphan(&table, place_of(object), object.uid));
  } else if (has_finalizer(object, kForeground)) {
    for (const auto& [in, dependent] : core_.state.owned_by(object.uid))
      chores_.add(check(in, place_of(*dependent), dependent->uid));
    chores_.add(finish_foreground(&table, place_of(object), object.uid));
  }
}

Task<> GarbageCollector::check(Table* table, Table::Place place, std::string uid) {
  const StoredRef object = same(*table, place, uid);
  if (!object || object->owners.empty() || object->deleting) co_return;
  bool owned = false;
  bool waited_for = false;
  std::vector<std::string> gone;
  for (const std::string& owner : object->owners) {
    const StoredRef found = core_.state.find_uid(owner).second;
    // What is in a namespace can own only there; an owner without one owns anywhere.
    const bool reachable = found && (found->namespace_.empty() || found->namespace_ == object->namespace_);
    if (!reachable) {
      gone.push_back(owner);
    } else if (found->deleting && has_finalizer(*found, kForeground)) {
      waited_for = true;
      gone.push_back(owner);
    } else {
      owned = true;
    }
  }
  if (gone.empty()) co_return;
  if (owned) {
    save_raw(core_, *table, object, [&](json::Value& value) { forget_owners(value, gone); });
    co_return;
  }
  const bool has_blockers = waited_for && std::ranges::any_of(core_.state.owned_by(uid),
                                                              [&](const auto& d) { return blocks(*d.second, uid); });
  json::Value options = json::Object{{"propagationPolicy", has_blockers ? "Foreground" : "Background"}};
  co_await remove_as_system(core_, *table, object, std::move(options),
                            "system:serviceaccount:kube-system:generic-garbage-collector");
}

Task<> GarbageCollector::finish_foreground(Table* table, Table::Place place, std::string uid) {
  const StoredRef object = same(*table, place, uid);
  if (!object || !object->deleting || !has_finalizer(*object, kForeground)) co_return;
  for (const auto& [in, dependent] : core_.state.owned_by(uid))
    if (blocks(*dependent, uid)) co_return;
  save_raw(core_, *table, object, [](json::Value& value) { set_finalizer(value["metadata"], kForeground, false); });
}

Task<> GarbageCollector::orphan(Table* table, Table::Place place, std::string uid) {
  const StoredRef object = same(*table, place, uid);
  if (!object || !has_finalizer(*object, kOrphan)) co_return;
  const std::vector<std::string> owner{uid};
  for (const auto& [in, dependent] : core_.state.owned_by(uid))
    save_raw(core_, *in, dependent, [&](json::Value& value) { forget_owners(value, owner); });
  save_raw(core_, *table, object, [](json::Value& value) { set_finalizer(value["metadata"], kOrphan, false); });
}

}  // namespace kopper::plane
