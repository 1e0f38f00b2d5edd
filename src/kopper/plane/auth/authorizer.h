#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kopper/api/selector.h"
#include "kopper/plane/auth/rbac.h"
#include "kopper/plane/call.h"
#include "kopper/plane/state.h"

namespace kopper::plane {

// Decides by the roles and bindings of the state. They are kept decoded and by subject, and follow each change before
// anybody else sees it: a decision looks only at the bindings that name the user or one of its groups.
class Authorizer {
 public:
  // `state` outlives this.
  explicit Authorizer(State& state);

  // Reads what the state has already: after State::load().
  void load();

  struct Decision {
    bool allowed = false;
    std::string reason;  // who allowed it, or which roles could not be found
  };
  // Members of system:masters may do everything.
  Decision decide(const User& user, const Action& action) const;
  // Throws Refusal (403).
  void require(const User& user, const Action& action) const;

  struct Rules {
    std::vector<PolicyRule> rules;
    std::string error;  // which roles could not be found
  };
  // What a user may do in a namespace (empty: only what it may in the whole cluster).
  Rules rules_for(const User& user, const std::string& namespace_) const;
  // Of the role that a binding in `namespace_` names; null when there is none.
  const std::vector<PolicyRule>* role(std::string_view kind, std::string_view name,
                                      const std::string& namespace_) const;

  // A ClusterRole whose rules are those of other ClusterRoles.
  struct Aggregate {
    std::string name;
    std::vector<PolicyRule> rules;  // as they should be
  };
  // Those whose rules are not what they should be.
  std::vector<Aggregate> stale_aggregates() const;

 private:
  using Place = Table::Place;  // the namespace is empty of ClusterRoles and their bindings
  struct Role {
    std::vector<PolicyRule> rules;
    std::vector<std::pair<std::string, std::string>> labels;
    std::optional<std::vector<api::Selector>> aggregates;
  };
  struct Subject {
    std::string kind;
    std::string name;
    std::string namespace_;
  };
  struct Binding {
    std::string role_kind;
    std::string role_name;
    std::vector<Subject> subjects;
  };
  using Bindings = std::map<Place, Binding>;
  using Entry = Bindings::value_type;

  void change(const Table& table, const StoredRef& before, const StoredRef& after);
  void set_role(const Place& place, const StoredRef& object);
  void set_binding(const Place& place, const StoredRef& object);
  // Those that apply, cluster-wide ones first.
  std::vector<const Entry*> applying(const User& user, const std::string& namespace_) const;

  State& state_;
  std::map<Place, Role> roles_;
  Bindings bindings_;
  std::unordered_map<std::string, std::vector<const Entry*>> by_subject_;  // "u" + user name, "g" + group
};

}  // namespace kopper::plane
