#include "kopper/plane/namespaces.h"

#include "kopper/plane/remove.h"
#include "kopper/plane/save.h"

namespace kopper::plane {

NamespaceLifecycle::NamespaceLifecycle(Core& core, Chores& chores) : core_(core), chores_(chores) {
  core.state.on_change([this](Table& table, const Change& change) { changed(table, change); });
}

void NamespaceLifecycle::resume() {
  for (const auto& [place, object] : core_.state.table("namespaces").objects())
    if (object->deleting) chores_.add(empty(object->name));
}

void NamespaceLifecycle::changed(Table& table, const Change& change) {
  const Stored& object = *change.object();
  if (table.name() == "namespaces") {
    if (change.after && object.deleting && (!change.before || !change.before->deleting))
      chores_.add(empty(object.name));
    return;
  }
  // What held the namespace up may be gone now.
  if (change.after || object.namespace_.empty()) return;
  const StoredRef in = core_.state.table("namespaces").find("", object.namespace_);
  if (in && in->deleting) chores_.add(empty(object.namespace_));
}

Task<> NamespaceLifecycle::empty(std::string name) {
  Table& namespaces = core_.state.table("namespaces");
  const StoredRef object = namespaces.find("", name);
  if (!object || !object->deleting) co_return;
  std::vector<std::pair<Table*, StoredRef>> content;
  for (const auto& [table_name, table] : core_.state.tables())
    for (auto at = table->objects().lower_bound(Table::Place(name, ""));
         at != table->objects().end() && at->first.first == name; ++at)
      content.emplace_back(table.get(), at->second);
  for (const auto& [table, one] : content) {
    if (one->deleting) continue;
    json::Value options = json::Object{{"propagationPolicy", "Background"}};
    co_await remove_as_system(core_, *table, one, std::move(options),
                              "system:serviceaccount:kube-system:namespace-controller");
  }
  for (const auto& [table, one] : content)
    if (table->find(one->namespace_, one->name)) co_return;  // held by a finalizer: its end calls again
  save_raw(core_, namespaces, object, [](json::Value& value) {
    json::Value& finalizers = value["spec"]["finalizers"];
    if (finalizers.is_array()) std::erase(*finalizers.as_array(), json::Value("kubernetes"));
    if (finalizers.is_array() && finalizers.as_array()->empty()) value["spec"].as_object()->erase("finalizers");
  });
}

}  // namespace kopper::plane
