// delete and deletecollection.
#include "kopper/plane/remove.h"

#include <fmt/format.h>

#include "kopper/plane/body.h"
#include "kopper/plane/crd/crd_status.h"
#include "kopper/plane/definitions.h"
#include "kopper/plane/reading.h"
#include "kopper/plane/save.h"

namespace kopper::plane {
namespace {

struct Removed {
  StoredRef stored;  // null: it is gone, or this was only tried
  json::Value value;
  bool waits = false;  // for a finalizer or its grace
};

void check(const json::Value& options) {
  Problems problems;
  const std::string_view policy = options.text("propagationPolicy");
  if (!policy.empty() && policy != "Orphan" && policy != "Background" && policy != "Foreground")
    problems.not_supported("propagationPolicy", policy, {"Foreground", "Background", "Orphan", "nil"});
  if (!policy.empty() && options["orphanDependents"].as_bool() != nullptr)
    problems.invalid("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set");
  if (const json::Array* dry = options["dryRun"].as_array())
    for (const json::Value& one : *dry)
      if (one != json::Value("All")) problems.not_supported("dryRun", options["dryRun"], {"All"});
  if (!problems.empty()) throw invalid("meta.k8s.io", "DeleteOptions", "", problems);
}

bool orphans_by_default(const Resource& resource) { return resource.kind == "Job" && resource.group == "batch"; }

bool has_grace(const Resource& resource) { return resource.kind == "Pod" && resource.group.empty(); }

// What the kind and the request say of how long it may take; only pods that run somewhere take time.
std::int64_t grace_of(const Resource& resource, const json::Value& object, const json::Value& options) {
  if (!has_grace(resource)) return 0;
  std::int64_t grace = 30;
  if (const auto* own = object["spec"]["terminationGracePeriodSeconds"].as_int()) grace = *own;
  if (const auto* asked = options["gracePeriodSeconds"].as_int()) grace = *asked;
  const std::string_view phase = object["status"].text("phase");
  if (object["spec"].text("nodeName").empty() || phase == "Succeeded" || phase == "Failed") grace = 0;
  return std::max<std::int64_t>(grace, 0);
}

void warn_of_orphans(Call& call, const json::Value& options) {
  if (!orphans_by_default(*call.resource) || !options["propagationPolicy"].is_null() ||
      !options["orphanDependents"].is_null())
    return;
  call.warnings.emplace_back(
      "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or "
      "set propagationPolicy=Orphan to suppress this warning");
}

// What becomes of those who belong to the object: one finalizer or another, which the garbage collector waits for.
// Jobs leave their pods behind unless told otherwise, as they did before there was a collector.
void set_propagation(json::Value& metadata, const Resource& resource, const json::Value& options) {
  std::string_view policy = options.text("propagationPolicy");
  const bool* orphan = options["orphanDependents"].as_bool();
  if (orphan != nullptr && *orphan) policy = "Orphan";
  if (policy.empty() && orphan == nullptr && orphans_by_default(resource)) {
    if (has_finalizer(metadata, "orphan") || has_finalizer(metadata, "foregroundDeletion")) return;
    policy = "Orphan";
  }
  if (policy.empty() && orphan == nullptr) return;
  set_finalizer(metadata, "orphan", policy == "Orphan");
  set_finalizer(metadata, "foregroundDeletion", policy == "Foreground");
}

Task<Removed> remove_one(Core& core, Call& call, StoredRef target, const json::Value options, bool reviewed = false) {
  const ResourceRef resource = call.resource;
  Table& table = core.state.table(resource->table());
  const bool dry_run = call.dry_run() || options["dryRun"].is_array();
  for (;;) {
    const StoredRef current = table.find(target->namespace_, target->name);
    if (!current) throw not_found(resource->subject(), target->name);
    const json::Value& wanted = options["preconditions"];
    const Subject kind{.group = resource->group, .resource = resource->kind};
    if (const std::string_view uid = wanted.text("uid"); !uid.empty() && uid != current->uid)
      throw conflict(kind, target->name,
                     fmt::format("the UID in the precondition ({}) does not match the UID in record ({}). The object "
                                 "might have been deleted and then recreated",
                                 uid, current->uid));
    if (const std::string_view version = wanted.text("resourceVersion");
        !version.empty() && version != std::to_string(current->revision))
      throw conflict(kind, target->name,
                     fmt::format("the ResourceVersion in the precondition ({}) does not match the ResourceVersion in "
                                 "record ({}). The object might have been modified",
                                 version, current->revision));
    const json::Value old = current->value();
    if (core.admission != nullptr && !reviewed) {
      Attempt attempt{.operation = Attempt::Operation::Delete,
                      .resource = resource,
                      .namespace_ = current->namespace_,
                      .name = current->name,
                      .subresource = "",
                      .object = {},
                      .old = old,
                      .options = options,
                      .dry_run = dry_run};
      co_await core.admission->mutate(call, attempt);
      co_await core.admission->validate(call, attempt);
      if (table.find(target->namespace_, target->name) != current) continue;
    }

    json::Value next = old;
    json::Value& metadata = next["metadata"];
    const bool is_definition = table.name() == Definitions::kTable;
    if (is_definition && !current->deleting) {
      set_finalizer(metadata, Definitions::kCleanup, true);
      set_terminating(next, Ending::Pending, core.now().str());
    } else {
      set_propagation(metadata, *resource, options);
    }
    const std::int64_t grace = grace_of(*resource, next, options);
    const json::Value& seen = metadata;  // reading a member must not make it
    const bool held = seen["finalizers"].is_array() && !seen["finalizers"].as_array()->empty();
    const bool is_namespace = table.name() == "namespaces";
    const bool waits =
        held || grace > 0 ||
        (is_namespace && old["spec"]["finalizers"].is_array() && !old["spec"]["finalizers"].as_array()->empty());
    if (dry_run && !waits) co_return Removed{.stored = nullptr, .value = std::move(next)};
    if (!waits) {
      const StoredRef last = core.state.erase(table, current->namespace_, current->name);
      co_await core.state.durable(last->revision);
      json::Value value = last->value();
      if (has_grace(*resource)) {  // it was given none, and the answer says so
        if (!current->deleting) {
          value["metadata"]["deletionTimestamp"] = core.now().str();
          value["metadata"]["generation"] = number(std::as_const(value)["metadata"]["generation"]) + 1;
        }
        value["metadata"]["deletionGracePeriodSeconds"] = 0;
      }
      co_return Removed{.stored = nullptr, .value = std::move(value)};
    }
    const std::int64_t* before = old["metadata"]["deletionGracePeriodSeconds"].as_int();
    if (!current->deleting || (before != nullptr && grace < *before)) {
      metadata["deletionTimestamp"] = api::Time(rt::Loop::current().wall_now() + std::chrono::seconds(grace)).str();
      if (!is_namespace && !is_definition) metadata["deletionGracePeriodSeconds"] = grace;
      if (const auto* generation = seen["generation"].as_int();
          generation != nullptr && !current->deleting && !is_definition)
        metadata["generation"] = *generation + 1;
      if (is_namespace) next["status"]["phase"] = "Terminating";
    }
    if (dry_run) co_return Removed{.stored = nullptr, .value = std::move(next), .waits = true};
    StoredRef stored = current;
    if (next != old) stored = core.state.put(table, std::move(next));
    const std::uint64_t revision = stored->revision;
    json::Value value = stored->value();
    co_await core.state.durable(revision);
    co_return Removed{.stored = stored, .value = std::move(value), .waits = true};
  }
}

}  // namespace

bool has_finalizer(const json::Value& metadata, std::string_view name) {
  const json::Array* all = metadata["finalizers"].as_array();
  if (all == nullptr) return false;
  for (const json::Value& one : *all)
    if (one.as_string() != nullptr && *one.as_string() == name) return true;
  return false;
}

void set_finalizer(json::Value& metadata, std::string_view name, bool wanted) {
  if (has_finalizer(metadata, name) == wanted) return;
  json::Value& all = metadata["finalizers"];
  if (!all.is_array()) all = json::Array();
  if (wanted) {
    all.as_array()->emplace_back(name);
  } else {
    std::erase_if(*all.as_array(), [&](const json::Value& one) { return one == json::Value(name); });
    if (all.as_array()->empty()) metadata.as_object()->erase("finalizers");
  }
}

bool has_finalizer(const Stored& object, std::string_view name) {
  // Most objects have none: their text is not worth parsing.
  return object.json.find(name) != std::string::npos && has_finalizer(object.value()["metadata"], name);
}

Task<json::Value> remove_reviewed(Core& core, Call& call, StoredRef object, json::Value options) {
  Removed done = co_await remove_one(core, call, std::move(object), std::move(options), true);
  co_return std::move(done.value);
}

// outlives: tables are never destroyed before the server
Task<> remove_as_system(Core& core, Table& table, StoredRef object, json::Value options, std::string user) {
  Call call;
  call.user.name = std::move(user);
  call.user.groups = {"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"};
  call.resource = core.catalog.find_table(table.name());
  if (!call.resource) co_return;
  call.info.verb = "delete";
  call.info.namespace_ = object->namespace_;
  call.info.name = object->name;
  options["preconditions"]["uid"] = object->uid;
  if (!table.find(object->namespace_, object->name)) co_return;
  co_await remove_one(core, call, object, std::move(options));
}

Task<http::Response> remove(Core& core, Call& call) {
  const Output output = negotiate(call.info, call.header("accept"));
  json::Value options = read_delete_options(call);
  check(options);
  const ResourceRef resource = call.resource;
  const StoredRef target =
      core.state.table(resource->table()).find(resource->namespaced ? call.info.namespace_ : "", call.info.name);
  if (!target) throw not_found(resource->subject(), call.info.name);
  if (resource->kind == "Namespace" && resource->group.empty() &&
      (target->name == "default" || target->name == "kube-system" || target->name == "kube-public"))
    throw forbidden(resource->subject(), target->name, "this namespace may not be deleted");
  warn_of_orphans(call, options);
  Removed done = co_await remove_one(core, call, target, std::move(options));
  // Of some kinds the real server answers with what was deleted, of all others with a Status.
  const bool whole =
      done.waits || resource->kind == "Pod" || resource->kind == "Service" || resource->kind == "ServiceAccount" ||
      resource->kind == "PersistentVolume" || resource->kind == "PersistentVolumeClaim" ||
      resource->kind == "PodTemplate" || resource->kind == "ResourceQuota" || resource->kind == "StorageClass" ||
      resource->kind == "CSINode" || resource->kind == "CSIDriver" || resource->kind == "VolumeAttachment";
  if (whole) {
    const Renderer renderer(resource, output, *core.converter);
    std::string body;
    if (done.stored) {
      body = co_await renderer.object(done.stored);
    } else {
      body = renderer.object(done.value);
    }
    co_return answer(call, 200, std::move(body), output);
  }
  json::Object details{{"name", call.info.name}};
  if (!resource->group.empty()) details["group"] = resource->group;
  details["kind"] = resource->plural;
  details["uid"] = done.value["metadata"].text("uid");
  co_return answer(call, 200,
                   json::Value(json::Object{{"kind", "Status"},
                                            {"apiVersion", "v1"},
                                            {"metadata", json::Object()},
                                            {"status", "Success"},
                                            {"details", std::move(details)}}));
}

Task<http::Response> remove_collection(Core& core, Call& call) {
  const Output output = negotiate(call.info, call.header("accept"));
  const json::Value options = read_delete_options(call);
  check(options);
  const Selection selection(call);
  warn_of_orphans(call, options);
  Table& table = core.state.table(call.resource->table());
  std::vector<StoredRef> targets;
  for (const auto& [place, object] : table.objects())
    if (selection.matches(*object)) targets.push_back(object);
  const Renderer renderer(call.resource, output, *core.converter);
  std::string items;
  for (const StoredRef& target : targets) {
    if (!table.find(target->namespace_, target->name)) continue;
    json::Value own = options;
    co_await remove_one(core, call, target, std::move(own));
    const std::string item = co_await renderer.item(target);
    items += (items.empty() ? "" : ",") + item;
  }
  const json::Object metadata{{"resourceVersion", std::to_string(core.state.revision())}};
  std::string body = renderer.list_head(metadata) + items + std::string(renderer.list_tail());
  co_return answer(call, 200, std::move(body), output);
}

}  // namespace kopper::plane
