#include "validate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "kopper/api/validation.h"

#include "desired.h"
#include "image.h"
#include "plan_slots.h"
#include "slots.h"

namespace redis {

namespace {

constexpr std::string_view kBlank = " \t\r\n";
// "<name>-<hash>" of ten letters is a label of the pods.
constexpr std::size_t kLongestName = 52;
constexpr std::array<std::string_view, 3> kOurVariables = {"POD_NAME", "NAMESPACE", "PODIP"};

// Of the text in status, which may end with marks of slots that are on their way.
SlotSet owned_slots(std::string_view text) {
  return SlotSet::parse(text.substr(0, text.find('['))).value_or(SlotSet());
}

class Check {
 public:
  Check(const RedisCluster& now, const RedisCluster* before) : now_(now), spec_(now.spec), before_(before) {}

  std::vector<kopper::Cause> run() {
    name();
    numbers();
    strategy();
    if (spec_.pod.size() != 1) {
      refuse("spec.pod", spec_.pod.empty() ? "is needed: what the pods are made of" : "only one is possible");
    } else {
      pod();
    }
    words();
    assignments();
    if (before_ != nullptr) changes();
    return std::move(causes_);
  }

 private:
  void refuse(std::string field, std::string message) {
    causes_.push_back({.field = std::move(field), .reason = "FieldValueInvalid", .message = std::move(message)});
  }

  void one_of(std::string field, std::string_view value, std::initializer_list<std::string_view> allowed) {
    if (std::ranges::find(allowed, value) != allowed.end()) return;
    refuse(std::move(field), fmt::format("\"{}\" is not one of {}", value, fmt::join(allowed, ", ")));
  }

  void name() {
    const auto& name = now_.metadata.name;
    if (name.empty()) return;  // the server has yet to make it
    for (auto& complaint : kopper::api::check_dns1035_label(name)) refuse("metadata.name", std::move(complaint));
    if (name == "bus" || name == "redis-exporter") refuse("metadata.name", "is the name of a port of the cluster");
    if (name.size() > kLongestName) {
      refuse("metadata.name", fmt::format("must not be longer than {} characters", kLongestName));
    }
  }

  void numbers() {
    if (spec_.replicasPerMaster < 1 || spec_.replicasPerMaster > 5) {
      refuse("spec.replicasPerMaster", fmt::format("{} is not between 1 and 5", spec_.replicasPerMaster));
      return;
    }
    const auto group = spec_.replicasPerMaster + 1;
    if (spec_.replicas < 3 * group) {
      refuse(
          "spec.replicas",
          fmt::format("{} is too few: 3 masters with {} each need {}", spec_.replicas,
                      spec_.replicasPerMaster == 1 ? "a replica" : fmt::format("{} replicas", group - 1), 3 * group));
    } else if (spec_.replicas % group != 0) {
      refuse("spec.replicas", fmt::format("{} is not a multiple of {}: a master and its {}", spec_.replicas, group,
                                          group == 2 ? "replica" : "replicas"));
    } else if (spec_.replicas > 1000) {
      refuse("spec.replicas", fmt::format("{} is more than 1000", spec_.replicas));
    }
  }

  void strategy() {
    const auto& strategy = spec_.updateStrategy;
    one_of("spec.updateStrategy.type", strategy.type, {"AutoReceive", "AssignReceive"});
    const auto& pipeline = strategy.pipeline;
    if (pipeline.empty() || pipeline.size() > 4 || pipeline[0] == '0' ||
        pipeline.find_first_not_of("0123456789") != pipeline.npos) {
      refuse("spec.updateStrategy.pipeline", fmt::format("\"{}\" is not a number from 1 to 9999", pipeline));
    }
    for (std::size_t i = 0; i < strategy.assignStrategies.size(); ++i) {
      const auto& each = strategy.assignStrategies[i];
      const auto field = fmt::format("spec.updateStrategy.assignStrategies[{}]", i);
      if (each.slots < 1 || each.slots > static_cast<std::int32_t>(kSlots)) {
        refuse(field + ".slots", fmt::format("{} is not between 1 and {}", each.slots, kSlots));
      }
      const auto ids = ids_of(each.fromReplicas);
      if (std::ranges::any_of(ids, &std::string::empty)) {
        refuse(field + ".fromReplicas", "must be ids of masters with commas between them");
      } else if (std::set(ids.begin(), ids.end()).size() != ids.size()) {
        refuse(field + ".fromReplicas", "names a master twice");
      }
    }
  }

  void pod() {
    const auto& pod = spec_.pod[0];
    const std::string at = "spec.pod[0]";
    if (const auto app = pod.labels.find("app"); app != pod.labels.end() && app->second != now_.metadata.name) {
      refuse(at + ".labels", "app is the label by which the cluster knows its pods");
    }
    for (const auto& [key, value] : pod.labels) {
      for (const auto& complaint : kopper::api::check_label_key(key)) refuse(at + ".labels", key + ": " + complaint);
      for (const auto& complaint : kopper::api::check_label_value(value))
        refuse(at + ".labels", key + ": " + complaint);
    }
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < pod.env.size(); ++i) {
      const auto& variable = pod.env[i].name;
      const bool ours = std::ranges::find(kOurVariables, variable) != kOurVariables.end();
      if (!ours && names.insert(variable).second) continue;
      refuse(fmt::format("{}.env[{}].name", at, i),
             fmt::format("{} is {}", variable, ours ? "set by the operator" : "there twice"));
    }
    one_of(at + ".updateStrategy.type", pod.updateStrategy.type.empty() ? "RollingUpdate" : pod.updateStrategy.type,
           {"RollingUpdate", "OnDelete"});
    if (pod.volumes) {
      one_of(at + ".volumes.type", pod.volumes->type, {"hostPath", "nfs"});
      if (pod.volumes->type == "nfs" && pod.volumes->persistentVolumeClaimName.empty()) {
        refuse(at + ".volumes.persistentVolumeClaimName", "is needed with type nfs");
      }
      if (spec_.storage) refuse(at + ".volumes", "spec.storage says already where the data is");
    }
    if (!pod.configmap.empty() && pod.configmap == settings_name(now_)) {
      refuse(at + ".configmap", "is the name of the operator's own ConfigMap");
    }
    if (pod.middlewareImage.empty() && spec_.repository.empty()) {
      refuse("spec.repository", "is needed, or spec.pod[0].middlewareImage: the image of Redis");
    } else {
      image(at + ".middlewareImage", pod.middlewareImage, spec_.version);
    }
    if (!pod.initImage.empty()) image(at + ".initImage", pod.initImage, "");
    if (!pod.monitorImage.empty()) {
      image(at + ".monitorImage", pod.monitorImage, "");
    } else if (spec_.exporter.value_or(false)) {
      refuse(at + ".monitorImage", "is needed when spec.exporter is true");
    }
  }

  // Blames the part that makes the reference a bad one.
  void image(std::string field, std::string_view image, std::string_view version) {
    const auto reference = image_of(spec_.repository, image, version);
    if (is_image(reference)) return;
    if (!version.empty() && !is_image(image_of("", "redis", version))) {
      field = "spec.version";
    } else if (image.empty() || is_image(image)) {
      field = "spec.repository";
    }
    refuse(std::move(field), fmt::format("\"{}\" is not an image", reference));
  }

  void words() {
    one_of("spec.finalizers", spec_.finalizers.empty() ? "background" : spec_.finalizers,
           {"foreground", "background", "orphan"});
    one_of("spec.dataLossPolicy", spec_.dataLossPolicy, {"Never", "AcceptLoss"});
    if (spec_.auth && spec_.auth->secretName.empty()) refuse("spec.auth.secretName", "is needed");
    if (spec_.auth && spec_.auth->secretName == auth_name(now_)) {
      refuse("spec.auth.secretName", "is the name of the operator's own Secret");
    }
    if (spec_.tls && spec_.tls->secretName.empty()) refuse("spec.tls.secretName", "is needed");
    if (!spec_.storage) return;
    one_of("spec.storage.retain", spec_.storage->retain, {"Retain", "Delete"});
    if (spec_.storage->size <= kopper::api::Quantity(0)) refuse("spec.storage.size", "must be more than 0");
  }

  // One assignment for each master that is to come; what they take, the masters of now must have.
  void assignments() {
    const auto& strategy = spec_.updateStrategy;
    const auto& status = before_ != nullptr ? before_->status : now_.status;
    if (strategy.type != "AssignReceive" || !causes_.empty()) return;
    if (status.replicas >= spec_.replicas ||
        (before_ != nullptr && before_->spec.replicas == spec_.replicas &&
         before_->spec.replicasPerMaster == spec_.replicasPerMaster && before_->spec.updateStrategy == strategy)) {
      return;
    }
    std::vector<Holding> masters;  // those that say what they have
    std::set<std::string_view> silent;
    std::set<std::string_view> replicas;
    for (const auto& node : status.conditions) {
      if (!node.is_node()) continue;
      const auto slots = owned_slots(node.slots);
      const auto ordinal = static_cast<int>(masters.size());
      if (node.type != "master") {
        replicas.insert(node.nodeId);
      } else if (!slots.empty()) {
        masters.push_back({.id = node.nodeId, .ordinal = ordinal, .slots = slots});
      } else if (node.status != "True") {
        silent.insert(node.nodeId);
      }
    }
    const auto fresh = masters_of(spec_) - status.masters;
    if (status.masters == 0 || fresh <= 0) return;  // no cluster yet: slots are spread evenly; or none are to come

    const std::string list = "spec.updateStrategy.assignStrategies";
    if (std::cmp_not_equal(strategy.assignStrategies.size(), fresh)) {
      refuse(list,
             fmt::format("{} for {} new master{}", strategy.assignStrategies.size(), fresh, fresh == 1 ? "" : "s"));
      return;
    }
    std::vector<Holding> receivers;
    std::vector<Assignment> assignments;
    for (std::size_t i = 0; i < strategy.assignStrategies.size(); ++i) {
      const auto& each = strategy.assignStrategies[i];
      const auto donors = ids_of(each.fromReplicas);
      for (const auto& id : donors) {
        if (silent.contains(id) || std::ranges::find(masters, id, &Holding::id) != masters.end()) continue;
        refuse(fmt::format("{}[{}].fromReplicas", list, i),
               fmt::format("\"{}\" is {}", id,
                           replicas.contains(id) ? "a replica: only masters have slots" : "no master of this cluster"));
      }
      receivers.push_back({.id = fmt::format("new {}", i), .ordinal = static_cast<int>(masters.size() + i)});
      assignments.push_back({.slots = static_cast<std::size_t>(each.slots), .donors = donors});
    }
    if (!causes_.empty() || std::cmp_not_equal(masters.size(), status.masters)) return;
    const auto plan = assign(masters, receivers, assignments);
    if (plan) return;
    const std::string_view text = plan.error().message;
    const auto colon = text.find(": ");
    refuse(fmt::format("spec.{}", text.substr(0, colon)),
           std::string(colon == text.npos ? text : text.substr(colon + 2)));
  }

  void changes() {
    const auto& old = before_->spec;
    if (spec_.storage.has_value() != old.storage.has_value()) {
      refuse("spec.storage", "cannot be added or taken away: the data would stay behind");
    } else if (spec_.storage) {
      if (spec_.storage->size < old.storage->size) {
        refuse("spec.storage.size", fmt::format("cannot shrink from {}", old.storage->size.str()));
      }
      if (spec_.storage->storageClassName != old.storage->storageClassName) {
        refuse("spec.storage.storageClassName", "cannot change: the data would stay behind");
      }
    }
    if (!spec_.pod.empty() && !old.pod.empty() && spec_.pod[0].volumes != old.pod[0].volumes) {
      refuse("spec.pod[0].volumes", "cannot change: the data would stay behind");
    }
    if (spec_.tls.has_value() != old.tls.has_value()) {
      refuse("spec.tls", "cannot be added or taken away: nodes with and without it do not understand each other");
    }
  }

  const RedisCluster& now_;
  const RedisClusterSpec& spec_;
  const RedisCluster* before_;
  std::vector<kopper::Cause> causes_;
};

}  // namespace

std::vector<kopper::Cause> validate(const RedisCluster& now, const RedisCluster* before) {
  return Check(now, before).run();
}

std::vector<std::string> ids_of(std::string_view from_replicas) {
  std::vector<std::string> out;
  for (;;) {
    const auto comma = from_replicas.find(',');
    auto id = from_replicas.substr(0, comma);
    const auto first = id.find_first_not_of(kBlank);
    id = first == id.npos ? "" : id.substr(first, id.find_last_not_of(kBlank) + 1 - first);
    out.emplace_back(id);
    if (comma == from_replicas.npos) return out;
    from_replicas.remove_prefix(comma + 1);
  }
}

std::size_t pipeline_of(const RedisClusterSpec& spec) {
  const auto& text = spec.updateStrategy.pipeline;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number > 0 ? number : 10;
}

}  // namespace redis
