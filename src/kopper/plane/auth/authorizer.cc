#include "kopper/plane/auth/authorizer.h"

#include <algorithm>

#include <fmt/format.h>

namespace kopper::plane {
namespace {

constexpr std::string_view kClusterRoles = "clusterroles.rbac.authorization.k8s.io";
constexpr std::string_view kRoles = "roles.rbac.authorization.k8s.io";
constexpr std::string_view kClusterRoleBindings = "clusterrolebindings.rbac.authorization.k8s.io";
constexpr std::string_view kRoleBindings = "rolebindings.rbac.authorization.k8s.io";

// matchLabels and matchExpressions; nothing when it cannot be understood, and then it selects nothing.
std::optional<api::Selector> selector_of(const json::Value& value) {
  api::Selector out;
  if (const json::Object* labels = value["matchLabels"].as_object())
    for (const auto& [key, text] : *labels) {
      if (text.as_string() == nullptr) return std::nullopt;
      out.add({.key = key, .op = api::Requirement::Op::Equals, .values = {*text.as_string()}});
    }
  if (const json::Array* expressions = value["matchExpressions"].as_array())
    for (const json::Value& one : *expressions) {
      const std::string_view op = one.text("operator");
      api::Requirement requirement{.key = std::string(one.text("key")), .op = {}, .values = {}};
      if (op == "In") {
        requirement.op = api::Requirement::Op::In;
      } else if (op == "NotIn") {
        requirement.op = api::Requirement::Op::NotIn;
      } else if (op == "Exists") {
        requirement.op = api::Requirement::Op::Exists;
      } else if (op == "DoesNotExist") {
        requirement.op = api::Requirement::Op::DoesNotExist;
      } else {
        return std::nullopt;
      }
      if (const json::Array* values = one["values"].as_array())
        for (const json::Value& text : *values)
          if (text.as_string() != nullptr) requirement.values.push_back(*text.as_string());
      std::ranges::sort(requirement.values);
      out.add(std::move(requirement));
    }
  return out;
}

std::string service_account_user(std::string_view namespace_, std::string_view name) {
  return fmt::format("system:serviceaccount:{}:{}", namespace_, name);
}

std::string joined(const std::vector<std::string>& errors) {
  if (errors.empty()) return {};
  if (errors.size() == 1) return errors[0];
  std::string out;
  for (const std::string& error : errors) out += (out.empty() ? "" : ", ") + error;
  return "[" + out + "]";
}

}  // namespace

Authorizer::Authorizer(State& state) : state_(state) {
  state.on_change([this](Table& table, const Change& it) { change(table, it.before, it.after); });
}

void Authorizer::load() {
  roles_.clear();
  bindings_.clear();
  by_subject_.clear();
  for (const std::string_view name : {kClusterRoles, kRoles, kClusterRoleBindings, kRoleBindings})
    if (const Table* table = state_.find_table(name))
      for (const auto& [place, object] : table->objects()) change(*table, nullptr, object);
}

void Authorizer::change(const Table& table, const StoredRef& before, const StoredRef& after) {
  const std::string& name = table.name();
  if (!name.ends_with(".rbac.authorization.k8s.io")) return;
  const StoredRef& any = after ? after : before;
  const Place place(any->namespace_, any->name);
  if (name == kClusterRoles || name == kRoles) {
    set_role(place, after);
  } else if (name == kClusterRoleBindings || name == kRoleBindings) {
    set_binding(place, after);
  }
}

void Authorizer::set_role(const Place& place, const StoredRef& object) {
  if (!object) {
    roles_.erase(place);
    return;
  }
  const json::Value value = object->value();
  Role role{.rules = rules_of(value["rules"]), .labels = object->labels, .aggregates = std::nullopt};
  if (const json::Array* selectors = value["aggregationRule"]["clusterRoleSelectors"].as_array()) {
    role.aggregates.emplace();
    for (const json::Value& one : *selectors)
      if (auto selector = selector_of(one)) role.aggregates->push_back(std::move(*selector));
  }
  roles_.insert_or_assign(place, std::move(role));
}

void Authorizer::set_binding(const Place& place, const StoredRef& object) {
  const auto keys = [&](const Binding& binding) {
    std::vector<std::string> out;
    for (const Subject& subject : binding.subjects) {
      if (subject.kind == "User") out.push_back("u" + subject.name);
      if (subject.kind == "Group") out.push_back("g" + subject.name);
      if (subject.kind == "ServiceAccount") out.push_back("u" + service_account_user(subject.namespace_, subject.name));
    }
    return out;
  };
  if (const auto old = bindings_.find(place); old != bindings_.end()) {
    for (const std::string& key : keys(old->second)) {
      const auto at = by_subject_.find(key);
      if (at == by_subject_.end()) continue;
      std::erase(at->second, &*old);
      if (at->second.empty()) by_subject_.erase(at);
    }
    bindings_.erase(old);
  }
  if (!object) return;
  const json::Value value = object->value();
  Binding binding{.role_kind = std::string(value["roleRef"].text("kind")),
                  .role_name = std::string(value["roleRef"].text("name")),
                  .subjects = {}};
  if (const json::Array* subjects = value["subjects"].as_array())
    for (const json::Value& one : *subjects) {
      Subject subject{.kind = std::string(one.text("kind")),
                      .name = std::string(one.text("name")),
                      .namespace_ = std::string(one.text("namespace"))};
      if (subject.namespace_.empty()) subject.namespace_ = place.first;
      binding.subjects.push_back(std::move(subject));
    }
  const Entry& entry = *bindings_.emplace(place, std::move(binding)).first;
  for (const std::string& key : keys(entry.second)) by_subject_[key].push_back(&entry);
}

std::vector<const Authorizer::Entry*> Authorizer::applying(const User& user, const std::string& ns) const {
  std::vector<const Entry*> out;
  const auto add = [&](const std::string& key) {
    const auto of = by_subject_.find(key);
    if (of == by_subject_.end()) return;
    for (const Entry* entry : of->second)
      if (entry->first.first.empty() || entry->first.first == ns) out.push_back(entry);
  };
  add("u" + user.name);
  for (const std::string& group : user.groups) add("g" + group);
  std::ranges::sort(out, {}, &Entry::first);  // the empty namespace is the first
  const auto doubles = std::ranges::unique(out);
  out.erase(doubles.begin(), doubles.end());
  return out;
}

const std::vector<PolicyRule>* Authorizer::role(std::string_view kind, std::string_view name,
                                                const std::string& ns) const {
  if (kind != "ClusterRole" && (kind != "Role" || ns.empty())) return nullptr;
  const auto at = roles_.find(Place(kind == "Role" ? ns : "", name));
  return at == roles_.end() ? nullptr : &at->second.rules;
}

namespace {

std::string not_found_text(std::string_view kind, std::string_view name) {
  if (kind == "ClusterRole") return fmt::format("clusterrole.rbac.authorization.k8s.io \"{}\" not found", name);
  if (kind == "Role") return fmt::format("role.rbac.authorization.k8s.io \"{}\" not found", name);
  return fmt::format("unsupported role reference kind: \"{}\"", kind);
}

void add_once(std::vector<std::string>& all, std::string one) {
  if (std::ranges::find(all, one) == all.end()) all.push_back(std::move(one));
}

}  // namespace

Authorizer::Decision Authorizer::decide(const User& user, const Action& action) const {
  if (user.in("system:masters")) return {.allowed = true, .reason = ""};
  std::vector<std::string> errors;
  for (const auto* entry : applying(user, action.is_resource ? action.namespace_ : "")) {
    const auto& [place, binding] = *entry;
    const std::vector<PolicyRule>* rules = role(binding.role_kind, binding.role_name, place.first);
    if (rules == nullptr) {
      add_once(errors, not_found_text(binding.role_kind, binding.role_name));
      continue;
    }
    if (std::ranges::none_of(*rules, [&](const PolicyRule& rule) { return allows(rule, action); })) continue;
    const auto subject = std::ranges::find_if(binding.subjects, [&](const Subject& one) {
      if (one.kind == "User") return one.name == user.name;
      if (one.kind == "Group") return user.in(one.name);
      return service_account_user(one.namespace_, one.name) == user.name;
    });
    const bool account = subject->kind == "ServiceAccount";
    return {.allowed = true,
            .reason = fmt::format("RBAC: allowed by {} \"{}{}\" of {} \"{}\" to {} \"{}{}\"",
                                  place.first.empty() ? "ClusterRoleBinding" : "RoleBinding", place.second,
                                  place.first.empty() ? "" : "/" + place.first, binding.role_kind, binding.role_name,
                                  subject->kind, subject->name, account ? "/" + subject->namespace_ : "")};
  }
  return {.allowed = false, .reason = errors.empty() ? "" : "rbac: RBAC: " + joined(errors)};
}

void Authorizer::require(const User& user, const Action& action) const {
  const Decision decision = decide(user, action);
  if (!decision.allowed) throw access_denied(user.name, action, decision.reason);
}

Authorizer::Rules Authorizer::rules_for(const User& user, const std::string& ns) const {
  Rules out;
  std::vector<std::string> errors;
  for (const auto* entry : applying(user, ns)) {
    const auto& [place, binding] = *entry;
    if (const auto* rules = role(binding.role_kind, binding.role_name, place.first)) {
      out.rules.insert(out.rules.end(), rules->begin(), rules->end());
    } else {
      add_once(errors, not_found_text(binding.role_kind, binding.role_name));
    }
  }
  out.error = joined(errors);
  return out;
}

std::vector<Authorizer::Aggregate> Authorizer::stale_aggregates() const {
  // An aggregate may take from another one: what it should be follows from what that should be.
  std::map<std::string, std::vector<PolicyRule>> wanted;
  for (const auto& [place, role] : roles_)
    if (role.aggregates && place.first.empty()) wanted[place.second];
  bool changed = true;
  for (std::size_t round = 0; changed && round <= wanted.size(); ++round) {
    changed = false;
    for (auto& [name, rules] : wanted) {
      std::vector<PolicyRule> next;
      for (const auto& [place, source] : roles_) {
        if (!place.first.empty() || place.second == name) continue;
        const api::Labels labels(source.labels.begin(), source.labels.end());
        if (std::ranges::none_of(*roles_.at(Place("", name)).aggregates,
                                 [&](const api::Selector& selector) { return selector.matches(labels); }))
          continue;
        const auto other = wanted.find(place.second);
        for (const PolicyRule& rule : other == wanted.end() ? source.rules : other->second)
          if (std::ranges::find(next, rule) == next.end()) next.push_back(rule);
      }
      changed |= next != rules;
      rules = std::move(next);
    }
  }
  std::vector<Aggregate> out;
  for (auto& [name, rules] : wanted)
    if (rules != roles_.at(Place("", name)).rules) out.push_back({.name = name, .rules = std::move(rules)});
  return out;
}

}  // namespace kopper::plane
