#include "kopper/plane/crd/crd_status.h"

#include <algorithm>

#include <fmt/format.h>

namespace kopper::plane {
namespace {

const json::Value* find_condition(const json::Value& crd, std::string_view type) {
  if (const json::Array* list = crd["status"]["conditions"].as_array())
    for (const json::Value& condition : *list)
      if (condition.text("type") == type) return &condition;
  return nullptr;
}

bool is_so(const json::Value& crd, std::string_view type) {
  const json::Value* found = find_condition(crd, type);
  return found != nullptr && found->text("status") == "True";
}

json::Value condition(const json::Value& crd, std::string_view type, bool holds, std::string_view reason,
                      std::string_view message, std::string_view now) {
  const std::string_view status = holds ? "True" : "False";
  const json::Value* old = find_condition(crd, type);
  const bool same = old != nullptr && old->text("status") == status && !old->text("lastTransitionTime").empty();
  return json::Object{{"lastTransitionTime", same ? old->text("lastTransitionTime") : now},
                      {"message", message},
                      {"reason", reason},
                      {"status", status},
                      {"type", type}};
}

// What keeps the names of a definition from being accepted; the last of several is told.
struct Conflict {
  std::string reason;
  std::string message;
};

class Naming {
 public:
  Naming(const json::Value& crd, const TakenNames& taken)
      : wanted_(crd["spec"]["names"]), had_(crd["status"]["acceptedNames"]), taken_(taken) {
    accepted_ = had_.is_object() ? had_ : json::Value(json::Object());
  }

  void decide() {
    one("plural", "PluralConflict", taken_.resources);
    one("singular", "SingularConflict", taken_.resources);
    short_names();
    one("kind", "KindConflict", taken_.kinds);
    one("listKind", "ListKindConflict", taken_.kinds);
    if (wanted_["categories"].is_array()) accepted_["categories"] = wanted_["categories"];
  }

  const Conflict& conflict() const { return conflict_; }
  // In the order the server writes them.
  json::Value accepted() const {
    json::Object out;
    for (const char* name : {"categories", "kind", "listKind", "plural", "shortNames", "singular"}) {
      const json::Value& value = accepted_[name];
      if (!value.is_null()) {
        out[name] = value;
      } else if (std::string_view(name) == "kind" || std::string_view(name) == "plural") {
        out[name] = "";
      }
    }
    return out;
  }

 private:
  using Names = std::set<std::string, std::less<>>;

  void one(const char* field, const char* reason, const Names& used) {
    const std::string_view name = wanted_.text(field);
    if (name != had_.text(field) && used.contains(name)) {
      conflict_ = {.reason = reason, .message = fmt::format("\"{}\" is already in use", name)};
    } else {
      accepted_[field] = name;
    }
  }

  void short_names() {
    const json::Array* list = wanted_["shortNames"].as_array();
    if (list == nullptr) {
      accepted_.as_object()->erase("shortNames");
      return;
    }
    std::vector<std::string> clashes;
    const json::Array* mine = had_["shortNames"].as_array();
    for (const json::Value& name : *list) {
      if (!name.is_string() || (mine != nullptr && std::ranges::find(*mine, name) != mine->end())) continue;
      if (taken_.resources.contains(*name.as_string()))
        clashes.push_back(fmt::format("\"{}\" is already in use", *name.as_string()));
    }
    if (clashes.empty()) {
      accepted_["shortNames"] = *list;
      return;
    }
    conflict_.reason = "ShortNamesConflict";
    conflict_.message = clashes.size() == 1 ? clashes.front() : fmt::format("[{}]", fmt::join(clashes, ", "));
  }

  const json::Value& wanted_;
  const json::Value& had_;
  const TakenNames& taken_;
  json::Value accepted_;
  Conflict conflict_;
};

}  // namespace

void TakenNames::add(const json::Value& crd) {
  const json::Value& names = crd["status"]["acceptedNames"];
  const auto put = [&](std::set<std::string, std::less<>>& into, const json::Value& name) {
    if (name.is_string() && !name.as_string()->empty()) into.insert(*name.as_string());
  };
  put(resources, names["plural"]);
  put(resources, names["singular"]);
  if (const json::Array* list = names["shortNames"].as_array())
    for (const json::Value& name : *list) put(resources, name);
  put(kinds, names["kind"]);
  put(kinds, names["listKind"]);
}

json::Value crd_status(const json::Value& crd, const TakenNames& taken, std::string_view now) {
  Naming naming(crd, taken);
  naming.decide();
  const bool accepted = naming.conflict().reason.empty();
  const bool established = accepted || is_established(crd);
  json::Array conditions;
  conditions.push_back(condition(crd, "NamesAccepted", accepted, accepted ? "NoConflicts" : naming.conflict().reason,
                                 accepted ? "no conflicts found" : naming.conflict().message, now));
  conditions.push_back(condition(crd, "Established", established, established ? "InitialNamesAccepted" : "NotAccepted",
                                 established ? "the initial names have been accepted" : "not all names are accepted",
                                 now));
  return json::Object{{"acceptedNames", naming.accepted()},
                      {"conditions", std::move(conditions)},
                      {"storedVersions", stored_versions(crd)}};
}

json::Array stored_versions(const json::Value& crd) {
  json::Array out;
  if (const json::Array* before = crd["status"]["storedVersions"].as_array()) out = *before;
  if (const json::Array* versions = crd["spec"]["versions"].as_array())
    for (const json::Value& version : *versions)
      if (const bool* storage = version["storage"].as_bool(); storage != nullptr && *storage) {
        if (std::ranges::find(out, version["name"]) == out.end()) out.push_back(version["name"]);
        break;
      }
  return out;
}

bool is_established(const json::Value& crd) { return is_so(crd, "Established"); }

void set_terminating(json::Value& crd, Ending stage, std::string_view now) {
  const bool pending = stage == Ending::Pending;
  json::Value next =
      condition(crd, "Terminating", true, pending ? "InstanceDeletionPending" : "InstanceDeletionInProgress",
                pending ? "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
                        : "CustomResource deletion is in progress",
                now);
  json::Value& all = crd["status"]["conditions"];
  if (!all.is_array()) all = json::Array();
  for (json::Value& one : *all.as_array()) {
    if (one.text("type") != "Terminating") continue;
    one = std::move(next);
    return;
  }
  all.as_array()->push_back(std::move(next));
}

bool is_terminating(const json::Value& crd) { return is_so(crd, "Terminating"); }

}  // namespace kopper::plane
