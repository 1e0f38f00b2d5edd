#include "kopper/plane/subresources.h"

#include <fmt/format.h>

#include "kopper/plane/body.h"
#include "kopper/plane/patching.h"
#include "kopper/plane/save.h"

namespace kopper::plane {
namespace {

void only(const Call& call, std::initializer_list<std::string_view> verbs) {
  for (const std::string_view verb : verbs)
    if (call.info.verb == verb) return;
  throw method_not_allowed();
}

StoredRef found(Core& core, const Call& call) {
  StoredRef object = core.state.table(call.resource->table())
                         .find(call.resource->namespaced ? call.info.namespace_ : "", call.info.name);
  if (!object) throw not_found(call.resource->subject(), call.info.name);
  return object;
}

// A scheduler says where a pod goes.
Task<http::Response> bind(Core& core, Call& call) {
  only(call, {"create"});
  json::Value binding = read_body(call);
  if (call.info.resource == "bindings") {
    call.info.name = std::as_const(binding)["metadata"].text("name");
    call.info.subresource = "binding";
    call.resource = core.catalog.find("", "v1", "pods");
  }
  const Attempt::Kind kind{.group = "", .version = "v1", .kind = "Binding"};
  binding = co_await reviewed_part(core, call, kind, std::move(binding));
  const std::string node(std::as_const(binding)["target"].text("name"));
  if (node.empty()) throw failed("target.name: Required value");
  const std::string now = core.now().str();
  const StoredRef pod = found(core, call);
  const json::Value value = pod->value();
  const std::string_view taken = value["spec"].text("nodeName");
  if (!taken.empty())
    throw conflict({.group = "", .resource = "pods/binding"}, call.info.name,
                   fmt::format("pod {} is already assigned to node \"{}\"", call.info.name, taken));
  if (pod->deleting)
    throw conflict({.group = "", .resource = "pods/binding"}, call.info.name,
                   fmt::format("pod {} is being deleted, cannot be assigned to a host", call.info.name));
  Table& table = core.state.table("pods");
  const StoredRef stored = save_raw(core, table, pod, [&](json::Value& object) {
    object["spec"]["nodeName"] = node;
    set_condition(
        object["status"],
        json::Object{
            {"type", "PodScheduled"}, {"status", "True"}, {"lastProbeTime", nullptr}, {"lastTransitionTime", now}});
  });
  co_await core.state.durable(stored->revision);
  co_return answer(call, 201, created_status());
}

// The one way to end a namespace: who empties it takes its finalizers away here.
Task<http::Response> finalize(Core& core, Call& call) {
  only(call, {"update"});
  const json::Value wanted = read_object(call, *call.resource);
  const Edit edit = [&](const json::Value* current) {
    json::Value next = *current;
    next["spec"]["finalizers"] =
        wanted["spec"]["finalizers"].is_array() ? wanted["spec"]["finalizers"] : json::Value(json::Array());
    next["metadata"]["resourceVersion"] = wanted["metadata"]["resourceVersion"];
    return next;
  };
  SaveOptions options{.create = false, .tracked = true, .subresource = "finalize"};
  const Saved saved = co_await save(core, call, edit, options);
  co_return answer(call, 200, saved.value);
}

// Of a pod that runs already, only this part may change.
Task<http::Response> part_of_pod(Core& core, Call& call) {
  only(call, {"get", "update", "patch"});
  if (call.info.verb == "get") co_return co_await get(core, call);
  const std::string part = call.info.subresource == "resize" ? "containers" : "ephemeralContainers";
  const auto take = [part](const json::Value& current, const json::Value& wanted) {
    json::Value next = current;
    next["spec"][part] = wanted["spec"][part];
    next["metadata"]["resourceVersion"] = wanted["metadata"]["resourceVersion"];
    return next;
  };
  Edit edit;
  if (call.info.verb == "update") {
    const json::Value wanted = read_object(call, *call.resource);
    edit = [take, wanted](const json::Value* current) { return take(*current, wanted); };
  } else {
    const PatchDocument document = read_patch(call, call.resource->type);
    edit = [take, document](const json::Value* current) { return take(*current, document.applied_to(*current)); };
  }
  SaveOptions options{.create = false, .tracked = true, .subresource = call.info.subresource};
  const Saved saved = co_await save(core, call, edit, options);
  co_return answer(call, 200, saved.value);
}

// No pod can be reached through the server yet.
Task<http::Response> on_node(Core& core, Call& call) {
  const StoredRef pod = found(core, call);
  if (pod->value()["spec"].text("nodeName").empty())
    throw bad_request(fmt::format("pod {} does not have a host assigned", call.info.name));
  throw Refusal(501, "NotImplemented", fmt::format("no node of this cluster runs pod {}", call.info.name));
}

}  // namespace

void set_condition(json::Value& status, json::Value condition) {
  json::Value& all = status["conditions"];
  if (!all.is_array()) all = json::Array();
  for (json::Value& one : *all.as_array()) {
    if (one.text("type") != condition.text("type")) continue;
    one = std::move(condition);
    return;
  }
  all.as_array()->push_back(std::move(condition));
}

json::Value created_status() {
  return json::Object{
      {"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", json::Object()}, {"status", "Success"}, {"code", 201}};
}

Task<json::Value> reviewed_part(Core& core, Call& call, Attempt::Kind kind, json::Value object) {
  if (core.admission == nullptr) co_return object;
  object["kind"] = kind.kind;
  object["apiVersion"] =
      kind.group.empty() ? std::string(kind.version) : fmt::format("{}/{}", kind.group, kind.version);
  Attempt attempt{.operation = Attempt::Operation::Create,
                  .resource = call.resource,
                  .namespace_ = call.info.namespace_,
                  .name = call.info.name,
                  .subresource = call.info.subresource,
                  .kind = kind,
                  .object = std::move(object),
                  .old = {},
                  .options = json::Object{{"kind", "CreateOptions"}, {"apiVersion", "meta.k8s.io/v1"}},
                  .dry_run = call.dry_run()};
  co_await core.admission->mutate(call, attempt);
  co_await core.admission->validate(call, attempt);
  co_return std::move(attempt.object);
}

void serve_subresources(Plane& plane) {
  for (const char* path :
       {"deployments/scale", "replicasets/scale", "statefulsets/scale", "replicationcontrollers/scale"})
    plane.serve(path, scale);
  plane.serve("pods/binding", bind);
  plane.serve("/bindings", bind);
  plane.serve("pods/eviction", evict);
  plane.serve("namespaces/finalize", finalize);
  for (const char* path : {"pods/ephemeralcontainers", "pods/resize"}) plane.serve(path, part_of_pod);
  plane.serve("pods/proxy", on_node);
}

}  // namespace kopper::plane
