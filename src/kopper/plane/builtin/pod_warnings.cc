#include "kopper/plane/builtin/pod_warnings.h"

#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "kopper/plane/builtin/check.h"

namespace kopper::plane::builtin {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kOldLabels{{
    {"beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"},
    {"beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"},
    {"failure-domain.beta.kubernetes.io/region",
     "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"},
    {"failure-domain.beta.kubernetes.io/zone", "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"},
    {"beta.kubernetes.io/instance-type", "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"},
    {"app.kubernetes.io/created-by", "deprecated since v1.9"},
    {"scheduler.alpha.kubernetes.io/preferAvoidPods", "deprecated since v1.22; use Taints and Tolerations instead"},
    {"node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"},
}};

class Warnings {
 public:
  void spec(const Path& path, const Value& spec) {
    if (const Value& labels = spec["nodeSelector"]; !labels.is_null()) {
      const Path selector = path / "nodeSelector";
      for (const auto& [old_label, message] : kOldLabels)
        if (!labels[old_label].is_null()) say(selector.key(old_label), message);
    }
    const Path spread = path / "topologySpreadConstraints";
    const Array& constraints = items(spec["topologySpreadConstraints"]);
    for (std::size_t i = 0; i < constraints.size(); ++i) selector(spread[i], constraints[i]);
    twice(path / "hostAliases", spec["hostAliases"], "ip");
    twice(path / "imagePullSecrets", spec["imagePullSecrets"], "name");
    const Path secrets = path / "imagePullSecrets";
    const Array& pulls = items(spec["imagePullSecrets"]);
    for (std::size_t i = 0; i < pulls.size(); ++i) {
      const Path one = secrets[i];
      if (pulls[i].text("name").empty()) say(one / "name", "invalid empty name \"\"");
    }
    for (const char* list : {"initContainers", "containers"}) {
      const Path at = path / list;
      const Array& all = items(spec[list]);
      for (std::size_t i = 0; i < all.size(); ++i) container(at[i], all[i]);
    }
    if (number(spec["terminationGracePeriodSeconds"]) < 0)
      say(path / "terminationGracePeriodSeconds", "must be >= 0; negative values are invalid and will be treated as 1");
    const Path affinity = path / "affinity";
    if (const Value& wanted = spec["affinity"]; !wanted.is_null())
      for (const char* kind : {"podAffinity", "podAntiAffinity"}) terms(affinity / kind, wanted[kind]);
  }

  std::vector<std::string> take() { return std::move(out_); }

 private:
  void say(const Path& path, std::string_view message) { out_.push_back(fmt::format("{}: {}", path.str(), message)); }

  void selector(const Path& path, const Value& term) {
    if (term["labelSelector"].is_null()) say(path / "labelSelector", "a null labelSelector results in matching no pod");
  }

  void terms(const Path& path, const Value& affinity) {
    const Path required = path / "requiredDuringSchedulingIgnoredDuringExecution";
    const Array& must = items(affinity["requiredDuringSchedulingIgnoredDuringExecution"]);
    for (std::size_t i = 0; i < must.size(); ++i) selector(required[i], must[i]);
    const Path preferred = path / "preferredDuringSchedulingIgnoredDuringExecution";
    const Array& may = items(affinity["preferredDuringSchedulingIgnoredDuringExecution"]);
    for (std::size_t i = 0; i < may.size(); ++i) {
      const Path one = preferred[i];
      selector(one / "podAffinityTerm", may[i]["podAffinityTerm"]);
    }
  }

  void twice(const Path& path, const Value& list, const char* key) {
    std::set<std::string_view> seen;
    const Array& all = items(list);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Path one = path[i];
      if (!seen.insert(all[i].text(key)).second)
        say(one / key, fmt::format("duplicate {} \"{}\"", key, all[i].text(key)));
    }
  }

  void container(const Path& path, const Value& container) {
    const Path resources = path / "resources";
    const Value& wanted = container["resources"];
    for (const char* name : {"memory", "ephemeral-storage"})
      for (const char* kind : {"limits", "requests"}) {
        const Value& amount = wanted[kind][name];
        const auto parsed = quantity(amount);
        const Path at = resources / kind;
        if (parsed && !parsed->as_int64())
          say(at.key(name), fmt::format("fractional byte value \"{}\" is invalid, must be an integer", parsed->str()));
      }
    variables(path / "env", container["env"]);
    ports(path / "ports", container["ports"]);
  }

  void variables(const Path& path, const Value& list) {
    std::set<std::string_view> seen;
    const Array& all = items(list);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string_view name = all[i].text("name");
      if (seen.insert(name).second) continue;
      const std::string reference = fmt::format("$({})", name);
      const std::string_view value = all[i].text("value");
      const bool extends = all[i]["valueFrom"].is_null() && value != reference && value.contains(reference);
      if (!extends)
        say(path[i], fmt::format("hides previous definition of \"{}\", which may be dropped when using apply", name));
    }
  }

  // Of all containers together: they share an address.
  void ports(const Path& path, const Value& list) {
    const Array& all = items(list);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string here = path[i].str();
      const std::string key = fmt::format("{}/{}", number(all[i]["containerPort"]), all[i].text("protocol"));
      for (const auto& [other, port] : ports_[key]) {
        const bool same =
            all[i].text("hostIP") == port.text("hostIP") && number(all[i]["hostPort"]) == number(port["hostPort"]);
        const bool overlap = number(all[i]["hostPort"]) == 0 || number(port["hostPort"]) == 0;
        if (same || overlap)
          out_.push_back(
              fmt::format("{}: {} port definition with {}", here, same ? "duplicate" : "overlapping", other));
      }
      ports_[key].emplace_back(here, all[i]);
      if (const std::string_view name = all[i].text("name"); !name.empty()) {
        const auto [first, is_new] = names_.emplace(name, here);
        if (!is_new)
          out_.push_back(
              fmt::format("{}: duplicate port name \"{}\" with {}, services and probes that select ports by "
                          "name will use {}",
                          here, name, first->second, first->second));
      }
    }
  }

  std::map<std::string, std::vector<std::pair<std::string, Value>>> ports_;
  std::map<std::string, std::string, std::less<>> names_;
  std::vector<std::string> out_;
};

// Where a kind has its pods' template.
std::vector<std::string_view> template_of(KindName kind) {
  if (kind.kind == "CronJob") return {"spec", "jobTemplate", "spec", "template"};
  if (kind.kind == "PodTemplate") return {"template"};
  for (const char* one : {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job"})
    if (kind.kind == one) return {"spec", "template"};
  return {};
}

}  // namespace

std::vector<std::string> pod_warnings(KindName kind, const Value& object, const Value* old) {
  Warnings warnings;
  if (kind.kind == "Pod" && kind.group.empty()) {
    if (old == nullptr) warnings.spec(Path("spec"), object["spec"]);
    return warnings.take();
  }
  const std::vector<std::string_view> way = template_of(kind);
  if (way.empty()) return {};
  const Value* now = &object;
  const Value* before = old;
  std::string path;
  for (const std::string_view step : way) {
    now = &(*now)[step];
    if (before != nullptr) before = &(*before)[step];
    path += fmt::format("{}{}", path.empty() ? "" : ".", step);
  }
  if (before != nullptr && *before == *now) return {};
  const Path root(path);
  warnings.spec(root / "spec", (*now)["spec"]);
  return warnings.take();
}

}  // namespace kopper::plane::builtin
