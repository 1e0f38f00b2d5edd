#include "kopper/plane/definitions.h"

#include "kopper/plane/crd/crd_status.h"
#include "kopper/plane/custom.h"
#include "kopper/plane/remove.h"
#include "kopper/plane/save.h"

namespace kopper::plane {

Definitions::Definitions(Core& core, Chores& chores) : core_(core), chores_(chores) {
  core.state.on_change([this](Table& table, const Change& change) { changed(table, change); });
}

void Definitions::resume() {
  for (const auto& [place, object] : core_.state.table(std::string(kTable)).objects()) {
    serve(*object);
    if (object->deleting) {
      chores_.add(clean_up(object->name));
    } else {
      chores_.add(accept(object->name));
    }
  }
}

void Definitions::changed(Table& table, const Change& change) {
  if (table.name() == kTable) {
    const Stored& object = *change.object();
    if (Table* const instances = core_.state.find_table(object.name)) instances->changed().wake_all();
    if (!change.after) {
      const json::Value definition = change.last->value();
      core_.catalog.remove(definition["spec"].text("group"), definition["spec"]["names"].text("plural"));
      return;
    }
    serve(object);
    if (object.deleting) {
      chores_.add(clean_up(object.name));
    } else {
      chores_.add(accept(object.name));
    }
    return;
  }
  // The last object of a definition that is being deleted may have gone.
  if (change.after || !change.last) return;
  const StoredRef definition = core_.state.table(std::string(kTable)).find("", table.name());
  if (definition && definition->deleting) chores_.add(clean_up(definition->name));
}

void Definitions::serve(const Stored& object) {
  const json::Value definition = object.value();
  const json::Value& spec = definition["spec"];
  const std::string group(spec.text("group"));
  const std::string plural(spec["names"].text("plural"));
  if (!is_established(definition)) return;
  std::uint64_t since = object.revision;
  if (const ResourceRef before = core_.catalog.find_any(group, plural); before && before->custom)
    if (before->custom->definition["spec"]["versions"] == spec["versions"]) since = custom_kind(*before)->since;
  core_.catalog.remove(group, plural);
  for (ResourceRef& resource : resources_of(definition, core_.catalog.schemas(), since))
    core_.catalog.add(std::move(resource));
}

Task<> Definitions::accept(std::string name) {
  Table& table = core_.state.table(std::string(kTable));
  const StoredRef object = table.find("", name);
  if (!object || object->deleting) co_return;
  json::Value definition = object->value();
  const std::string_view group = definition["spec"].text("group");
  TakenNames taken;
  for (const auto& [place, other] : table.objects()) {
    if (other->name == name) continue;
    const json::Value value = other->value();
    if (value["spec"].text("group") == group) taken.add(value);
  }
  if (const Catalog::Group* built_in = core_.catalog.group(group))
    for (const Catalog::Version& version : built_in->versions)
      for (const ResourceRef& resource : version.resources) {
        if (resource->custom) continue;
        taken.resources.insert({resource->plural, resource->singular});
        taken.kinds.insert({resource->kind, resource->list_kind});
      }
  json::Value next = definition;
  next["status"] = crd_status(definition, taken, core_.now().str());
  if (next == definition) co_return;
  save_raw(core_, table, object, [&](json::Value& value) { value["status"] = next["status"]; });
}

Task<> Definitions::clean_up(std::string name) {
  Table& table = core_.state.table(std::string(kTable));
  const StoredRef object = table.find("", name);
  if (!object || !object->deleting || !has_finalizer(*object, kCleanup)) co_return;
  if (Table* instances = core_.state.find_table(name)) {
    std::vector<StoredRef> all;
    for (const auto& [place, one] : instances->objects()) all.push_back(one);
    for (const StoredRef& one : all) {
      if (one->deleting) continue;
      json::Value options{json::Object()};
      co_await remove_as_system(core_, *instances, one, std::move(options), "system:apiserver");
    }
    if (!instances->objects().empty()) {  // held by finalizers: the last one calls again
      json::Value next = object->value();
      set_terminating(next, Ending::InProgress, core_.now().str());
      if (next == object->value()) co_return;
      save_raw(core_, table, object, [&](json::Value& value) { value["status"] = next["status"]; });
      co_return;
    }
  }
  save_raw(core_, table, object, [](json::Value& value) { set_finalizer(value["metadata"], kCleanup, false); });
}

}  // namespace kopper::plane
