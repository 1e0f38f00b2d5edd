#include "kopper/plane/auth/caretaker.h"

#include "kopper/plane/auth/server_call.h"
#include "kopper/plane/save.h"

namespace kopper::plane {
namespace {

constexpr const char* kRootCa = "kube-root-ca.crt";
constexpr const char* kDescription =
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters.";

json::Value root_ca(const std::string& ca) {
  return json::Object{
      {"metadata",
       json::Object{{"name", kRootCa}, {"annotations", json::Object{{"kubernetes.io/description", kDescription}}}}},
      {"data", json::Object{{"ca.crt", ca}}}};
}

// Somebody else was faster, or the namespace is on its way out: then there is nothing to do.
Task<> create(Core& core, const char* plural, std::string namespace_, json::Value object) {
  Call call = server_call(core, "create", "", plural, std::move(namespace_), "", "kube-controller-manager");
  put_type_first(object, *call.resource);
  try {
    co_await save_new(core, call, std::move(object));
  } catch (const Refusal&) {
  }
}

Task<> replace(Core& core, const char* group, const char* plural, std::string namespace_, std::string name,
               const char* manager, Edit edit) {
  Call call = server_call(core, "update", group, plural, std::move(namespace_), std::move(name), manager);
  SaveOptions options;
  try {
    co_await save(core, call, std::move(edit), options);
  } catch (const Refusal&) {
  }
}

}  // namespace

Caretaker::Caretaker(Core& core, const Authorizer& authorizer, const AuthOptions& options)
    : core_(core), authorizer_(authorizer), options_(options) {
  core.state.on_change([this](Table& table, const Change& it) { change(table, it); });
}

void Caretaker::change(const Table& table, const Change& change) {
  const StoredRef& object = change.object();
  if (table.name() == "namespaces") {
    if (!change.before) namespaces_.insert(object->name);
  } else if ((table.name() == "serviceaccounts" && !change.after && object->name == "default") ||
             (table.name() == "configmaps" && object->name == kRootCa)) {
    namespaces_.insert(object->namespace_);
  } else if (table.name() == "clusterroles.rbac.authorization.k8s.io") {
    roles_ = true;
  } else {
    return;
  }
  work_.wake_all();
}

Task<> Caretaker::start() {
  roles_ = true;
  for (const auto& [place, object] : core_.state.table("namespaces").objects()) namespaces_.insert(object->name);
  while (roles_ || !namespaces_.empty()) {
    if (std::exchange(roles_, false)) co_await aggregate();
    if (namespaces_.empty()) continue;
    const std::string name = std::move(namespaces_.extract(namespaces_.begin()).value());
    co_await tend(name);
  }
}

Task<> Caretaker::run() {
  for (;;) {
    while (!roles_ && namespaces_.empty()) co_await rt::Waiter(work_);
    if (std::exchange(roles_, false)) co_await aggregate();
    if (namespaces_.empty()) continue;
    const std::string name = std::move(namespaces_.extract(namespaces_.begin()).value());
    co_await tend(name);
  }
}

bool Caretaker::behind(const std::string& ns) const {
  return namespaces_.contains(ns) || !core_.state.table("serviceaccounts").find(ns, "default");
}

Task<> Caretaker::tend(std::string ns) {
  const StoredRef object = core_.state.table("namespaces").find("", ns);
  if (!object || object->deleting) co_return;
  if (options_.default_service_accounts && !core_.state.table("serviceaccounts").find(ns, "default")) {
    json::Value account{json::Object{{"metadata", json::Object{{"name", "default"}}}}};
    co_await create(core_, "serviceaccounts", ns, std::move(account));
  }
  if (options_.ca.empty()) co_return;
  const StoredRef present = core_.state.table("configmaps").find(ns, kRootCa);
  if (!present) {
    json::Value wanted = root_ca(options_.ca);
    co_await create(core_, "configmaps", ns, std::move(wanted));
  } else if (const json::Value live = present->value();
             !present->deleting && live["data"] != json::Value(json::Object{{"ca.crt", options_.ca}})) {
    const std::string& ca = options_.ca;
    Edit edit = [&ca](const json::Value* current) {
      json::Value out = *current;
      out["data"] = json::Object{{"ca.crt", ca}};
      return out;
    };
    co_await replace(core_, "", "configmaps", ns, kRootCa, "kube-controller-manager", std::move(edit));
  }
}

Task<> Caretaker::aggregate() {
  const std::vector<Authorizer::Aggregate> all = authorizer_.stale_aggregates();
  for (const Authorizer::Aggregate& one : all) {
    json::Array rules;
    for (const PolicyRule& rule : one.rules) rules.push_back(to_json(rule));
    Edit edit = [&rules](const json::Value* current) {
      json::Value out = *current;
      out["rules"] = rules;
      return out;
    };
    co_await replace(core_, "rbac.authorization.k8s.io", "clusterroles", "", one.name,
                     "clusterrole-aggregation-controller", std::move(edit));
  }
}

}  // namespace kopper::plane
