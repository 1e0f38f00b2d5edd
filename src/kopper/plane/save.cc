#include "kopper/plane/save.h"

#include <fmt/format.h>

#include "kopper/plane/apply/managers.h"
#include "kopper/plane/behaviour.h"
#include "kopper/plane/body.h"
#include "kopper/plane/crd/crd_status.h"
#include "kopper/plane/ownership.h"

namespace kopper::plane {
namespace {

constexpr int kRetries = 20;  // as often as somebody else may be faster

const char* const kServerOwned[] = {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
                                    "selfLink"};

void require_namespace(Core& core, const Call& call, std::string_view name) {
  const Resource& resource = *call.resource;
  if (!resource.namespaced || call.info.namespace_.empty()) return;
  const StoredRef ns = core.state.table("namespaces").find("", call.info.namespace_);
  if (!ns) throw not_found({.group = "", .resource = "namespaces"}, call.info.namespace_);
  if (!ns->deleting) return;
  Refusal refusal =
      forbidden(resource.subject(), name,
                fmt::format("unable to create new content in namespace {} because it is being terminated", ns->name));
  refusal.details["causes"] =
      json::Array{json::Object{{"reason", "NamespaceTerminating"},
                               {"message", fmt::format("namespace {} is being terminated", ns->name)},
                               {"field", "metadata.namespace"}}};
  throw refusal;
}

// A definition that is being deleted waits for its objects to go: there must be no end of them.
void require_definition(const Call& call, std::string_view name) {
  const Resource& resource = *call.resource;
  if (!resource.custom || !is_terminating(resource.custom->definition)) return;
  throw forbidden(resource.subject(), name, "create not allowed while custom resource definition is terminating");
}

// The object's namespace is that of the path.
void settle_namespace(const Call& call, json::Value& object) {
  const Resource& resource = *call.resource;
  json::Value& metadata = object["metadata"];
  const std::string given(metadata.text("namespace"));
  if (!resource.namespaced) {
    if (metadata.is_object()) metadata.as_object()->erase("namespace");
    return;
  }
  if (!given.empty() && given != call.info.namespace_)
    throw bad_request("the namespace of the provided object does not match the namespace sent on the request");
  metadata["namespace"] = call.info.namespace_;
}

// The object's name is that of the path.
void require_name(const Call& call, const json::Value& metadata) {
  const std::string_view given = metadata.text("name");
  if (given == call.info.name) return;
  if (given.empty())
    throw bad_request(fmt::format("the name of the object ({} based on URL) was undeterminable: name must be provided",
                                  call.info.name));
  throw bad_request(
      fmt::format("the name of the object ({}) does not match the name on the URL ({})", given, call.info.name));
}

json::Value options_of(const Call& call, const char* kind) {
  json::Object out{{"kind", kind}, {"apiVersion", "meta.k8s.io/v1"}};
  if (call.dry_run()) out["dryRun"] = json::Array{"All"};
  if (const auto manager = call.info.text("fieldManager")) out["fieldManager"] = *manager;
  if (const auto validation = call.info.text("fieldValidation")) out["fieldValidation"] = *validation;
  return out;
}

// Every member in its place, after some were added.
void in_order(const Resource& resource, json::Value& object) {
  std::vector<std::string> unknown;
  decode_object(resource, object, unknown);
  put_type_first(object, resource);
}

// Both kinds of events are one inside the real server, of the core.
std::string_view group_in_errors(const Resource& resource) {
  return resource.group == "events.k8s.io" ? std::string_view() : std::string_view(resource.group);
}

void warn(Call& call, const std::vector<std::string>& more) {
  call.warnings.insert(call.warnings.end(), more.begin(), more.end());
}

Attempt shown(const Attempt& attempt, const Face& face) {
  Attempt out = attempt;
  out.kind = face.kind;
  out.object = face.show(attempt.object);
  out.old = face.show(attempt.old);
  return out;
}

Task<> mutated(Core& core, Call& call, Attempt& attempt, const Face* face = nullptr) {
  if (core.admit) co_await core.admit(call, attempt);
  if (core.admission == nullptr) co_return;
  if (face == nullptr) {
    co_await core.admission->mutate(call, attempt);
    co_return;
  }
  Attempt part = shown(attempt, *face);
  co_await core.admission->mutate(call, part);
  face->take(attempt.object, part.object);
}

Task<> validated(Core& core, Call& call, const Attempt& attempt, const Face* face = nullptr) {
  if (core.admission == nullptr) co_return;
  if (face == nullptr) {
    co_await core.admission->validate(call, attempt);
    co_return;
  }
  const Attempt part = shown(attempt, *face);
  co_await core.admission->validate(call, part);
}

Manager manager_of(const Core& core, const Call& call, const std::string& subresource) {
  return {.name = call.manager(), .subresource = subresource, .now = core.now()};
}

// The object as it is to be stored: itself, or what it was converted into, which is then in `converted`.
Task<json::Value*> to_storage(Core& core, ResourceRef resource, json::Value* object, json::Value* converted) {
  if (core.converter->stores(*resource)) co_return object;
  json::Value copy = *object;
  *converted = co_await core.converter->to_storage(resource, std::move(copy));
  co_return converted;
}

// Whether more than the version tells the two apart.
bool stored_otherwise(const Stored& stored, const json::Value& object) {
  json::Value was = stored.value();
  was["apiVersion"] = object["apiVersion"];
  return was != object;
}

Task<json::Value> in_version(Core& core, ResourceRef resource, StoredRef stored) {
  json::Value value = stored->value();
  if (!core.converter->needed(*resource, *stored)) co_return value;
  std::vector<json::Value> one;
  one.push_back(std::move(value));
  std::vector<json::Value> out = co_await core.converter->to_version(resource, std::move(one));
  co_return std::move(out.front());
}

}  // namespace

Task<Saved> save_new(Core& core, Call& call, json::Value object, bool tracked) {
  const ResourceRef resource = call.resource;
  settle_namespace(call, object);
  json::Value& metadata = object["metadata"];
  require_namespace(core, call, metadata.text("name"));
  require_definition(call, metadata.text("name"));
  if (!metadata.text("resourceVersion").empty())
    throw failed("resourceVersion should not be set on objects to be created");
  const std::string base(metadata.text("generateName"));
  const bool generated = metadata.text("name").empty() && !base.empty();
  if (generated) metadata["name"] = base.substr(0, 58) + core.suffix();
  if (!call.info.name.empty()) require_name(call, metadata);
  for (const char* owned : kServerOwned) metadata.as_object()->erase(owned);
  metadata["uid"] = core.new_uid();
  metadata["creationTimestamp"] = core.now().str();

  Attempt attempt{.operation = Attempt::Operation::Create,
                  .resource = resource,
                  .namespace_ = call.info.namespace_,
                  .name = std::string(metadata.text("name")),
                  .subresource = call.info.subresource,
                  .object = std::move(object),
                  .old = {},
                  .options = options_of(call, "CreateOptions"),
                  .dry_run = call.dry_run()};
  set_defaults(*resource, attempt.object);
  if (tracked) track_update(*resource, nullptr, attempt.object, manager_of(core, call, call.info.subresource));
  co_await mutated(core, call, attempt);
  prepare_create(*resource, attempt.object);
  if (core.complete) core.complete(call, attempt.object, nullptr);
  in_order(*resource, attempt.object);

  Problems problems;
  validate(core, *resource, attempt.object, Check(), problems);
  if (!problems.empty())
    throw invalid(group_in_errors(*resource), resource->kind, attempt.object["metadata"].text("name"), problems);
  warn(call, warnings_of(*resource, attempt.object, nullptr));
  co_await validated(core, call, attempt);

  Table& table = core.state.table(resource->table());
  const std::string name(attempt.object["metadata"].text("name"));
  if (const StoredRef there = table.find(resource->namespaced ? call.info.namespace_ : "", name)) {
    Refusal refusal = already_exists(resource->subject(), name);
    if (there->deleting) refusal.message = "object is being deleted: " + refusal.message;
    if (generated) {
      refusal.details["retryAfterSeconds"] = 1;
      refusal.message += ", the server was not able to generate a unique name for the object";
    }
    throw refusal;
  }
  require_namespace(core, call, name);  // it may have gone while admission was asked
  Saved out;
  out.created = true;
  out.value = std::move(attempt.object);
  if (call.dry_run()) co_return out;
  json::Value converted;
  json::Value* stored = co_await to_storage(core, resource, &out.value, &converted);
  if (table.find(resource->namespaced ? call.info.namespace_ : "", name))
    throw already_exists(resource->subject(), name);
  out.stored = core.state.put(table, *stored);
  out.value["metadata"]["resourceVersion"] = std::to_string(out.stored->revision);
  co_await core.state.durable(out.stored->revision);
  co_return out;
}

Task<Saved> save(Core& core, Call& call, Edit edit, SaveOptions options) {
  const ResourceRef resource = call.resource;
  Table& table = core.state.table(resource->table());
  const std::string ns = resource->namespaced ? call.info.namespace_ : "";
  for (int tries = 0; tries < kRetries; ++tries) {
    const StoredRef current = table.find(ns, call.info.name);
    if (!current) {
      if (!options.create) throw not_found(resource->subject(), call.info.name);
      json::Value fresh = edit(nullptr);
      if (const std::string_view uid = std::as_const(fresh)["metadata"].text("uid"); !uid.empty())
        throw conflict(
            resource->subject(), call.info.name,
            fmt::format("uid mismatch: the provided object specified uid {}, and no existing object was found", uid));
      co_return co_await save_new(core, call, std::move(fresh), options.tracked);
    }
    json::Value present = co_await in_version(core, resource, current);
    json::Value next = edit(&present);
    settle_namespace(call, next);
    json::Value& metadata = next["metadata"];
    require_name(call, metadata);
    const std::string given(metadata.text("resourceVersion"));
    const bool conditional = !given.empty() && given != "0";
    const bool whole = options.subresource.empty() || options.subresource == "status";
    if (!conditional && call.info.verb == "update" && whole && resource->type == nullptr) {
      Problems problems;  // who replaces a custom resource says what it replaces
      problems.invalid("metadata.resourceVersion", 0, "must be specified for an update");
      throw invalid(resource->group, resource->plural, call.info.name, problems);
    }
    if (conditional && given != std::to_string(current->revision)) {
      if (parse_revision(given) != current->revision)
        throw conflict(resource->subject(), call.info.name,
                       "the object has been modified; please apply your changes to the latest version and try again");
    }
    const std::string uid(metadata.text("uid"));
    if (!uid.empty() && uid != current->uid && call.info.verb == "patch" && options.tracked) {
      Problems problems;
      problems.invalid("metadata.uid", uid, "field is immutable");
      throw invalid(resource->group, resource->kind, call.info.name, problems);
    }
    if (!uid.empty() && uid != current->uid)
      throw conflict(
          resource->subject(), call.info.name,
          fmt::format("StorageError: invalid object, Code: 4, Key: /registry/{}/{}{}{}, ResourceVersion: 0, "
                      "AdditionalErrorMsg: Precondition failed: UID in precondition: {}, UID in object meta: {}",
                      resource->plural, ns, ns.empty() ? "" : "/", call.info.name, uid, current->uid));
    for (const char* owned : kServerOwned) {
      const json::Value& value = std::as_const(present)["metadata"][owned];
      if (value.is_null()) {
        metadata.as_object()->erase(owned);
      } else {
        metadata[owned] = value;
      }
    }
    metadata["resourceVersion"] = std::to_string(current->revision);

    Attempt attempt{.operation = Attempt::Operation::Update,
                    .resource = resource,
                    .namespace_ = ns,
                    .name = call.info.name,
                    .subresource = options.subresource,
                    .object = std::move(next),
                    .old = std::move(present),
                    .options = options_of(call, "UpdateOptions"),
                    .dry_run = call.dry_run()};
    const json::Value& old = attempt.old;
    set_defaults(*resource, attempt.object);
    if (options.tracked) track_update(*resource, &old, attempt.object, manager_of(core, call, options.subresource));
    co_await mutated(core, call, attempt, options.face);

    if (options.subresource == "status") {
      prepare_status_update(*resource, attempt.object, old);
    } else {
      prepare_update(*resource, attempt.object, old);
    }
    if (core.complete) core.complete(call, attempt.object, &old);
    in_order(*resource, attempt.object);
    Problems problems;
    const Check check{.old = &old, .status_only = options.subresource == "status", .subresource = options.subresource};
    validate(core, *resource, attempt.object, check, problems);
    if (!problems.empty()) throw invalid(group_in_errors(*resource), resource->kind, call.info.name, problems);
    if (options.subresource.empty()) warn(call, warnings_of(*resource, attempt.object, &old));
    co_await validated(core, call, attempt, options.face);

    if (table.find(ns, call.info.name) != current) {
      if (conditional)
        throw conflict(resource->subject(), call.info.name,
                       "the object has been modified; please apply your changes to the latest version and try again");
      continue;
    }
    Saved out;
    out.value = std::move(attempt.object);
    if (call.dry_run()) co_return out;
    // What reads otherwise than it is stored is written as it reads.
    const bool stale = core.converter->needed(*resource, *current) && stored_otherwise(*current, old);
    if (!stale && keep_times(old, out.value)) {
      out.stored = current;
      out.value = std::move(attempt.old);
      co_await core.state.durable(current->revision);
      co_return out;
    }
    json::Value converted;
    json::Value* stored = co_await to_storage(core, resource, &out.value, &converted);
    if (table.find(ns, call.info.name) != current) continue;
    if (deletion_is_due(table, *stored)) {
      const StoredRef last = core.state.erase(table, current->namespace_, current->name);
      co_await core.state.durable(last->revision);
      co_return out;
    }
    out.stored = core.state.put(table, *stored);
    out.value["metadata"]["resourceVersion"] = std::to_string(out.stored->revision);
    co_await core.state.durable(out.stored->revision);
    co_return out;
  }
  throw conflict(resource->subject(), call.info.name,
                 "the object has been modified too often meanwhile; please try again");
}

StoredRef save_raw(Core& core, Table& table, const StoredRef& current, const std::function<void(json::Value&)>& edit) {
  const StoredRef present = table.find(current->namespace_, current->name);
  if (!present || present->uid != current->uid) return nullptr;
  json::Value object = present->value();
  edit(object);
  if (deletion_is_due(table, object)) {
    core.state.erase(table, present->namespace_, present->name);
    return nullptr;
  }
  return core.state.put(table, std::move(object));
}

bool deletion_is_due(const Table& table, const json::Value& object) {
  const json::Value& metadata = object["metadata"];
  if (metadata.text("deletionTimestamp").empty()) return false;
  const json::Array* finalizers = metadata["finalizers"].as_array();
  if (finalizers != nullptr && !finalizers->empty()) return false;
  const std::int64_t* grace = metadata["deletionGracePeriodSeconds"].as_int();
  if (grace != nullptr && *grace > 0) return false;
  if (table.name() != "namespaces") return true;
  const json::Array* holders = object["spec"]["finalizers"].as_array();
  return holders == nullptr || holders->empty();
}

}  // namespace kopper::plane
