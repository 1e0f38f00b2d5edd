#include "kopper/plane/builtin/autoscaler_versions.h"

#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/plane/reading.h"

namespace kopper::plane::builtin {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr const char* kMetrics = "autoscaling.alpha.kubernetes.io/metrics";
constexpr const char* kCurrent = "autoscaling.alpha.kubernetes.io/current-metrics";
constexpr const char* kConditions = "autoscaling.alpha.kubernetes.io/conditions";
constexpr const char* kBehavior = "autoscaling.alpha.kubernetes.io/behavior";

// Where the second version has what the first has at `old_name` of a metric's source; "/" goes one level down.
struct Place {
  std::string_view old_name;
  std::string_view path;
};
struct Source {
  std::string_view type;
  std::string_view member;
  std::vector<Place> wanted;
  std::vector<Place> current;
};

const std::vector<Source>& sources() {
  static const std::vector<Source> all = {
      {"Object",
       "object",
       {{"target", "describedObject"},
        {"metricName", "metric/name"},
        {"targetValue", "target/value"},
        {"selector", "metric/selector"},
        {"averageValue", "target/averageValue"}},
       {{"target", "describedObject"},
        {"metricName", "metric/name"},
        {"currentValue", "current/value"},
        {"selector", "metric/selector"},
        {"averageValue", "current/averageValue"}}},
      {"Pods",
       "pods",
       {{"metricName", "metric/name"}, {"targetAverageValue", "target/averageValue"}, {"selector", "metric/selector"}},
       {{"metricName", "metric/name"},
        {"currentAverageValue", "current/averageValue"},
        {"selector", "metric/selector"}}},
      {"Resource",
       "resource",
       {{"name", "name"},
        {"targetAverageUtilization", "target/averageUtilization"},
        {"targetAverageValue", "target/averageValue"}},
       {{"name", "name"},
        {"currentAverageUtilization", "current/averageUtilization"},
        {"currentAverageValue", "current/averageValue"}}},
      {"ContainerResource",
       "containerResource",
       {{"name", "name"},
        {"targetAverageUtilization", "target/averageUtilization"},
        {"targetAverageValue", "target/averageValue"},
        {"container", "container"}},
       {{"name", "name"},
        {"currentAverageUtilization", "current/averageUtilization"},
        {"currentAverageValue", "current/averageValue"},
        {"container", "container"}}},
      {"External",
       "external",
       {{"metricName", "metric/name"},
        {"metricSelector", "metric/selector"},
        {"targetValue", "target/value"},
        {"targetAverageValue", "target/averageValue"}},
       {{"metricName", "metric/name"},
        {"metricSelector", "metric/selector"},
        {"currentValue", "current/value"},
        {"currentAverageValue", "current/averageValue"}}},
  };
  return all;
}

const Source* source_of(const Value& metric) {
  for (const Source& one : sources())
    if (one.type == metric.text("type")) return &one;
  return nullptr;
}

const Value& at(const Value& object, std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return object[path];
  return object[path.substr(0, slash)][path.substr(slash + 1)];
}

void put(Value& object, std::string_view path, const Value& value) {
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) {
    object[path] = value;
  } else {
    object[path.substr(0, slash)][path.substr(slash + 1)] = value;
  }
}

Value old_metric(const Value& metric, bool current) {
  Value out = Object{{"type", metric.text("type")}};
  const Source* source = source_of(metric);
  if (source == nullptr) return out;
  Value old = Object();
  for (const auto& [name, path] : current ? source->current : source->wanted)
    if (const Value& value = at(metric[source->member], path); !value.is_null()) old[name] = value;
  out[source->member] = std::move(old);
  return out;
}

Value new_metric(const Value& metric, bool current) {
  Value out = Object{{"type", metric.text("type")}};
  const Source* source = source_of(metric);
  if (source == nullptr) return out;
  Value made = Object();
  for (const auto& [name, path] : current ? source->current : source->wanted)
    if (const Value& value = metric[source->member][name]; !value.is_null()) put(made, path, value);
  if (!current) {
    const Value& target = std::as_const(made)["target"];
    made["target"]["type"] = !target["averageUtilization"].is_null() ? "Utilization"
                             : !target["averageValue"].is_null()     ? "AverageValue"
                                                                     : "Value";
  }
  out[source->member] = std::move(made);
  return out;
}

// The annotation of the behaviour has the names of Go's own fields.
Value renamed(const Value& value, int (*first)(int)) {
  if (const Array* list = value.as_array()) {
    Array out;
    for (const Value& one : *list) out.push_back(renamed(one, first));
    return out;
  }
  const Object* object = value.as_object();
  if (object == nullptr) return value;
  Object out;
  for (const auto& [key, member] : *object) {
    if (key.empty() || member.is_null()) continue;
    std::string name = key;
    name[0] = static_cast<char>(first(static_cast<unsigned char>(name[0])));
    out[name] = renamed(member, first);
  }
  return out;
}

bool is_cpu(const Value& metric) {
  return metric.text("type") == "Resource" && metric["resource"].text("name") == "cpu";
}

void annotate(Value& object, const char* name, const Value& content) {
  object["metadata"]["annotations"][name] = json::dump(content);
}

// What the annotation holds, which goes.
std::optional<Value> take(Value& object, const char* name) {
  Object* annotations = object["metadata"]["annotations"].as_object();
  if (annotations == nullptr) {
    object["metadata"].as_object()->erase("annotations");
    return std::nullopt;
  }
  const Value* text = annotations->find(name);
  std::optional<Value> out;
  if (text != nullptr && text->is_string())
    if (auto parsed = json::parse(*text->as_string())) out = std::move(*parsed);
  annotations->erase(name);
  if (annotations->empty()) object["metadata"].as_object()->erase("annotations");
  return out;
}

void copy(Value& to, const Value& from, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (!from[name].is_null()) to[name] = from[name];
}

Value started(const Value& from, const char* api_version) {
  Value out = Object{{"kind", "HorizontalPodAutoscaler"}, {"apiVersion", api_version}};
  out["metadata"] = from["metadata"];
  if (!out["metadata"].is_object()) out["metadata"] = Object();
  return out;
}

}  // namespace

Value autoscaler_to_v1(const Value& v2) {
  Value out = started(v2, "autoscaling/v1");
  for (const char* name : {kMetrics, kCurrent, kConditions, kBehavior}) take(out, name);
  const Value& spec = v2["spec"];
  Value next = Object();
  copy(next, spec, {"scaleTargetRef", "minReplicas", "maxReplicas"});
  Array others;
  for (const Value& metric : items(spec["metrics"])) {
    const Value& use = metric["resource"]["target"]["averageUtilization"];
    if (is_cpu(metric) && !use.is_null()) {
      next["targetCPUUtilizationPercentage"] = use;
    } else {
      others.push_back(old_metric(metric, false));
    }
  }
  out["spec"] = std::move(next);
  const Value& status = v2["status"];
  Value seen = Object();
  copy(seen, status, {"observedGeneration", "lastScaleTime"});
  seen["currentReplicas"] = number(status["currentReplicas"]);
  seen["desiredReplicas"] = number(status["desiredReplicas"]);
  Array current;
  for (const Value& metric : items(status["currentMetrics"])) {
    const Value& use = metric["resource"]["current"]["averageUtilization"];
    if (is_cpu(metric) && !use.is_null()) seen["currentCPUUtilizationPercentage"] = use;
    current.push_back(old_metric(metric, true));
  }
  out["status"] = std::move(seen);
  if (!others.empty()) annotate(out, kMetrics, others);
  if (!current.empty()) annotate(out, kCurrent, current);
  if (!spec["behavior"].is_null()) annotate(out, kBehavior, renamed(spec["behavior"], std::toupper));
  if (!items(status["conditions"]).empty()) annotate(out, kConditions, status["conditions"]);
  return out;
}

Value autoscaler_to_v2(const Value& v1) {
  Value out = started(v1, "autoscaling/v2");
  const std::optional<Value> others = take(out, kMetrics);
  const std::optional<Value> current = take(out, kCurrent);
  const std::optional<Value> conditions = take(out, kConditions);
  const std::optional<Value> behavior = take(out, kBehavior);
  const Value& spec = v1["spec"];
  Value next = Object();
  copy(next, spec, {"scaleTargetRef", "minReplicas", "maxReplicas"});
  Array metrics;
  if (others)
    for (const Value& metric : items(*others)) metrics.push_back(new_metric(metric, false));
  if (const Value& wanted = spec["targetCPUUtilizationPercentage"]; !wanted.is_null())
    metrics.emplace_back(
        Object{{"type", "Resource"},
               {"resource",
                Object{{"name", "cpu"}, {"target", Object{{"type", "Utilization"}, {"averageUtilization", wanted}}}}}});
  if (!metrics.empty()) next["metrics"] = std::move(metrics);
  if (behavior) next["behavior"] = renamed(*behavior, std::tolower);
  out["spec"] = std::move(next);
  const Value& status = v1["status"];
  Value seen = Object();
  copy(seen, status, {"observedGeneration", "lastScaleTime"});
  if (const std::int64_t replicas = number(status["currentReplicas"]); replicas != 0)
    seen["currentReplicas"] = replicas;
  seen["desiredReplicas"] = number(status["desiredReplicas"]);
  Array measured;
  if (current)
    for (const Value& metric : items(*current)) measured.push_back(new_metric(metric, true));
  const Value& use = status["currentCPUUtilizationPercentage"];
  if (measured.empty() && !use.is_null())
    measured.emplace_back(Object{
        {"type", "Resource"}, {"resource", Object{{"name", "cpu"}, {"current", Object{{"averageUtilization", use}}}}}});
  seen["currentMetrics"] = measured.empty() ? Value() : Value(std::move(measured));
  if (conditions && conditions->is_array()) seen["conditions"] = *conditions;
  out["status"] = std::move(seen);
  return out;
}

}  // namespace kopper::plane::builtin
