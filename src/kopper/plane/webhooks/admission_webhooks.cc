#include "kopper/plane/webhooks/admission_webhooks.h"

#include <exception>
#include <set>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/json/patch.h"
#include "kopper/meta/base64.h"
#include "kopper/plane/behaviour.h"
#include "kopper/plane/crd/go_text.h"
#include "kopper/rt/scope.h"

namespace kopper::plane {
namespace {

constexpr const char* kMutating = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
constexpr const char* kValidating = "validatingwebhookconfigurations.admissionregistration.k8s.io";

// Who configures admission is not subject to it: a bad webhook could not be removed any more.
bool exempt(const Resource& resource) { return resource.group == "admissionregistration.k8s.io"; }

bool is_namespace(const Resource& resource) { return resource.group.empty() && resource.plural == "namespaces"; }

json::Value kind_of(const Attempt& attempt, const Resource& resource) {
  const auto& [group, version, kind] = attempt.kind;
  if (!kind.empty()) return json::Object{{"group", group}, {"version", version}, {"kind", kind}};
  return json::Object{{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}};
}

json::Value resource_of(const Resource& resource) {
  return json::Object{{"group", resource.group}, {"version", resource.version}, {"resource", resource.plural}};
}

json::Value user_info(const User& user) {
  json::Object out{{"username", user.name}};
  if (!user.uid.empty()) out["uid"] = user.uid;
  if (!user.groups.empty()) out["groups"] = json::Array(user.groups.begin(), user.groups.end());
  json::Object extra;
  for (const auto& [key, values] : user.extra) extra[key] = json::Array(values.begin(), values.end());
  if (!extra.empty()) out["extra"] = std::move(extra);
  return out;
}

HookSubject subject_of(const Attempt& attempt, const Resource& resource) {
  return {.operation = to_string(attempt.operation),
          .group = resource.group,
          .version = resource.version,
          .resource = resource.plural,
          .subresource = attempt.subresource,
          .namespaced = resource.namespaced};
}

bool any_rule(const Hook& hook, const HookSubject& subject) {
  for (const Hook::Rule& rule : hook.rules)
    if (matches(rule, subject)) return true;
  return false;
}

Refusal internal_error(const std::string& what) {
  Refusal out = internal("Internal error occurred: " + what);
  out.details["causes"] = json::Array{json::Object{{"message", what}}};
  return out;
}

Refusal denied(const Hook& hook, const json::Value& status) {
  const std::int64_t* code = status["code"].as_int();
  const std::string_view reason = status.text("reason");
  const std::string_view message = status.text("message");
  const std::string by = fmt::format("admission webhook {} denied the request", go_quoted(hook.name));
  Refusal out(code != nullptr && *code >= 400 ? static_cast<int>(*code) : 400, std::string(reason),
              !message.empty()  ? fmt::format("{}: {}", by, message)
              : !reason.empty() ? fmt::format("{}: {}", by, reason)
                                : by + " without explanation");
  if (const json::Object* details = status["details"].as_object()) out.details = *details;
  return out;
}

// What is wrong with an answer; "" when nothing is.
std::string fault_of(const json::Value& answer, const Hook& hook, std::string_view uid) {
  const std::string version = "admission.k8s.io/" + hook.review_version;
  if (answer.text("kind") != "AdmissionReview" || answer.text("apiVersion") != version) {
    // v1beta1 need not say what it is.
    if (hook.review_version == "v1" || !answer.text("kind").empty() || !answer.text("apiVersion").empty())
      return fmt::format("expected webhook response of {}, Kind=AdmissionReview, got {}, Kind={}", version,
                         answer.text("apiVersion"), answer.text("kind"));
  }
  const json::Value& response = answer["response"];
  if (!response.is_object()) return "webhook response was absent";
  if (hook.review_version != "v1") return "";
  if (response.text("uid") != uid)
    return fmt::format("expected response.uid={}, got {}", go_quoted(uid), go_quoted(response.text("uid")));
  const std::string_view type = response.text("patchType");
  if (!response.text("patch").empty() && type.empty())
    return "webhook returned response.patch but not response.patchType";
  if (response.text("patch").empty() && !type.empty())
    return "webhook returned response.patchType but not response.patch";
  if (!type.empty() && type != "JSONPatch")
    return fmt::format("webhook returned invalid response.patchType of {}", go_quoted(type));
  return "";
}

// The patch of a response, null when it has none.
json::Value patch_of(const json::Value& response) {
  const std::string_view text = response.text("patch");
  if (text.empty()) return {};
  const auto bytes = meta::from_base64(text);
  if (!bytes) throw internal_error("response.patch is not base64");
  auto parsed = json::parse(*bytes);
  if (!parsed) throw internal_error(parsed.error().what);
  if (!parsed->is_array()) throw internal_error("response.patch is not a JSON patch");
  return parsed->as_array()->empty() ? json::Value() : std::move(*parsed);
}

// What came from outside is decoded and has its defaults, like anything a client sends.
void settle(const Resource& resource, json::Value& object) {
  std::vector<std::string> unknown;
  decode_object(resource, object, unknown);
  set_defaults(resource, object);
}

// What match conditions speak of.
json::Value names_of(const json::Value& request) {
  return json::Object{{"object", request["object"]}, {"oldObject", request["oldObject"]}, {"request", request}};
}

json::Value review_of(const Hook& hook, json::Value request) {
  return json::Object{{"kind", "AdmissionReview"},
                      {"apiVersion", "admission.k8s.io/" + hook.review_version},
                      {"request", std::move(request)}};
}

}  // namespace

AdmissionWebhooks::AdmissionWebhooks(Core& core, WebhookCaller& caller) : core_(core), caller_(caller) {
  core.state.on_change([this](Table& table, const Change&) {
    if (table.name() == kMutating) mutating_ = nullptr;
    if (table.name() == kValidating) validating_ = nullptr;
  });
}

const AdmissionWebhooks::Hooks& AdmissionWebhooks::hooks(Hooks& kept, const char* table) {
  if (kept) return kept;
  std::vector<Hook> all;
  for (const auto& [place, stored] : core_.state.table(table).objects())
    for (Hook& hook : hooks_of(stored->value())) all.push_back(std::move(hook));
  kept = std::make_shared<const std::vector<Hook>>(std::move(all));
  return kept;
}

bool AdmissionWebhooks::in_selected_namespace(const Hook& hook, const Attempt& attempt) const {
  const Resource& resource = *attempt.resource;
  if (hook.namespaces.empty() || (!resource.namespaced && !is_namespace(resource))) return true;
  if (is_namespace(resource) && attempt.subresource.empty() && attempt.object.is_object())
    return selects(hook.namespaces, attempt.object["metadata"]["labels"]);
  const std::string& name = is_namespace(resource) ? attempt.name : attempt.namespace_;
  const StoredRef found = core_.state.table("namespaces").find("", name);
  if (!found) throw not_found({.group = "", .resource = "namespaces"}, name);
  return selects(hook.namespaces, found->value()["metadata"]["labels"]);
}

// The resource as the webhook's rules name it; null when they do not.
ResourceRef AdmissionWebhooks::wanted(const Hook& hook, const Attempt& attempt) const {
  ResourceRef out;
  if (any_rule(hook, subject_of(attempt, *attempt.resource))) {
    out = attempt.resource;
  } else if (!hook.exact && (attempt.resource->custom || attempt.resource->table() == "events" ||
                             attempt.resource->group == "autoscaling")) {
    for (const Catalog::Group& group : core_.catalog.groups())
      for (const Catalog::Version& version : group.versions)
        for (const ResourceRef& other : version.resources) {
          if (out || other->table() != attempt.resource->table()) continue;
          if (!attempt.subresource.empty() && !other->has(attempt.subresource)) continue;
          if (any_rule(hook, subject_of(attempt, *other))) out = other;
        }
  }
  if (!out || !in_selected_namespace(hook, attempt)) return nullptr;
  if (hook.objects.empty()) return out;
  for (const json::Value* object : {&attempt.object, &attempt.old})
    if (object->is_object() && selects(hook.objects, (*object)["metadata"]["labels"])) return out;
  return nullptr;
}

Task<json::Value> AdmissionWebhooks::in_version(ResourceRef resource, json::Value object) {
  if (!object.is_object() || object.text("apiVersion") == resource->api_version()) co_return object;
  std::vector<json::Value> one;
  one.push_back(std::move(object));
  std::vector<json::Value> out = co_await core_.converter->to_version(resource, std::move(one));
  co_return std::move(out.front());
}

Task<std::optional<AdmissionWebhooks::View>> AdmissionWebhooks::view(const Hook& hook, const Attempt& attempt) {
  View out;
  out.resource = wanted(hook, attempt);
  if (!out.resource) co_return std::nullopt;
  if (!attempt.kind.kind.empty()) {  // it has one version
    out.object = attempt.object;
    out.old = attempt.old;
    co_return out;
  }
  json::Value object = attempt.object;
  out.object = co_await in_version(out.resource, std::move(object));
  json::Value old = attempt.old;
  out.old = co_await in_version(out.resource, std::move(old));
  co_return out;
}

json::Value AdmissionWebhooks::request(const Call& call, const Attempt& attempt, const View& view) {
  json::Object out{
      {"uid", core_.new_uid()}, {"kind", kind_of(attempt, *view.resource)}, {"resource", resource_of(*view.resource)}};
  if (!attempt.subresource.empty()) out["subResource"] = attempt.subresource;
  out["requestKind"] = kind_of(attempt, *attempt.resource);
  out["requestResource"] = resource_of(*attempt.resource);
  if (!attempt.subresource.empty()) out["requestSubResource"] = attempt.subresource;
  if (!attempt.name.empty()) out["name"] = attempt.name;
  const std::string& space = is_namespace(*attempt.resource) ? attempt.name : attempt.namespace_;
  if (!space.empty()) out["namespace"] = space;
  out["operation"] = to_string(attempt.operation);
  out["userInfo"] = user_info(call.user);
  out["object"] = view.object;
  out["oldObject"] = view.old;
  out["dryRun"] = attempt.dry_run;
  json::Value options = attempt.options;
  if (attempt.operation == Attempt::Operation::Delete) {
    options["kind"] = "DeleteOptions";
    options["apiVersion"] = "meta.k8s.io/v1";
  }
  out["options"] = std::move(options);
  return out;
}

// The response of a webhook that allows it; nothing when its conditions do not hold, or it failed and may be ignored.
Task<std::optional<json::Value>> AdmissionWebhooks::ask(Call& call, const Attempt& attempt, const Hook& hook,
                                                        const View& view) {
  json::Value asked = request(call, attempt, view);
  if (!hook.conditions.empty()) {
    const auto held = holds(hook.conditions, names_of(asked));
    if (!held && !hook.fail_open) throw forbidden(attempt.resource->subject(), attempt.name, held.error());
    if (!held || !*held) co_return std::nullopt;
  }
  if (attempt.dry_run && !hook.dry_run)
    throw bad_request(fmt::format("admission webhook {} does not support dry run", go_quoted(hook.name)));
  const std::string uid(asked.text("uid"));
  json::Value answer;
  std::string trouble;
  try {
    json::Value review = review_of(hook, std::move(asked));
    WebhookTarget target = hook.target;
    answer = co_await caller_.post(std::move(target), std::move(review), hook.timeout);
    if (const std::string fault = fault_of(answer, hook, uid); !fault.empty())
      trouble = "received invalid webhook response: " + fault;
  } catch (const Error& error) {
    trouble = fmt::format("failed to call webhook: {}", error.what());
  }
  if (!trouble.empty()) {
    trouble = fmt::format("failed calling webhook {}: {}", go_quoted(hook.name), trouble);
    if (!hook.fail_open) throw internal_error(trouble);
    log::warn("webhook ignored", {{"error", trouble}});
    co_return std::nullopt;
  }
  json::Value response = answer["response"];
  if (const json::Array* warnings = response["warnings"].as_array())
    for (const json::Value& warning : *warnings)
      if (warning.is_string()) call.warnings.push_back(*warning.as_string());
  const bool* allowed = response["allowed"].as_bool();
  if (allowed == nullptr || !*allowed) throw denied(hook, response["status"]);
  co_return response;
}

// True when it changed the object.
Task<bool> AdmissionWebhooks::change(Call& call, Attempt& attempt, const Hook& hook, bool* called) {
  std::optional<View> seen = co_await view(hook, attempt);
  if (!seen) co_return false;
  *called = true;
  const std::optional<json::Value> response = co_await ask(call, attempt, hook, *seen);
  if (!response) co_return false;
  const json::Value patch = patch_of(*response);
  if (patch.is_null()) co_return false;
  if (!seen->object.is_object())
    throw internal_error(
        fmt::format("admission webhook {} attempted to modify the object, which is not supported for this operation",
                    go_quoted(hook.name)));
  auto patched = json::apply_patch(seen->object, patch);
  if (!patched) throw internal_error(patched.error().str());
  if (attempt.kind.kind.empty()) settle(*seen->resource, *patched);
  if (*patched == seen->object) co_return false;
  json::Value next = std::move(*patched);
  if (!attempt.kind.kind.empty()) {
    attempt.object = std::move(next);
    co_return true;
  }
  attempt.object = co_await in_version(attempt.resource, std::move(next));
  if (attempt.resource != seen->resource) settle(*attempt.resource, attempt.object);
  co_return true;
}

Task<> AdmissionWebhooks::mutate(Call& call, Attempt& attempt) {
  if (exempt(*attempt.resource)) co_return;
  const Hooks all = hooks(mutating_, kMutating);  // as they are now: they may change meanwhile
  std::set<const Hook*> earlier;
  std::set<const Hook*> again;
  for (const Hook& hook : *all) {
    bool called = false;
    const bool changed = co_await change(call, attempt, hook, &called);
    if (changed) again.insert(earlier.begin(), earlier.end());
    if (called && hook.again) earlier.insert(&hook);
  }
  for (const Hook& hook : *all) {
    if (!again.contains(&hook)) continue;
    bool called = false;
    co_await change(call, attempt, hook, &called);
  }
}

Task<std::exception_ptr> AdmissionWebhooks::judge(Call& call, const Attempt& attempt, const Hook& hook) {
  try {
    const std::optional<View> seen = co_await view(hook, attempt);
    if (seen) co_await ask(call, attempt, hook, *seen);
  } catch (const Refusal&) {
    co_return std::current_exception();
  }
  co_return nullptr;
}

Task<> AdmissionWebhooks::validate(Call& call, const Attempt& attempt) {
  if (exempt(*attempt.resource)) {
    Problems problems;
    check_conditions(attempt.object, problems);
    if (!problems.empty()) throw invalid(attempt.resource->group, attempt.resource->kind, attempt.name, problems);
    co_return;
  }
  const Hooks all = hooks(validating_, kValidating);
  std::vector<Task<std::exception_ptr>> judges;
  for (const Hook& hook : *all) judges.push_back(judge(call, attempt, hook));
  if (judges.empty()) co_return;
  const std::vector<std::exception_ptr> verdicts = co_await rt::all(std::move(judges));
  for (const std::exception_ptr& verdict : verdicts)
    if (verdict) std::rethrow_exception(verdict);
}

}  // namespace kopper::plane
