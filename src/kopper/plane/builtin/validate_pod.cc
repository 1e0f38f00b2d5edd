#include "kopper/plane/builtin/validate_pod.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kopper::plane::builtin {
namespace {

using Names = std::set<std::string_view>;

constexpr std::int64_t kMaxInt32 = 2147483647;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// ---- resources -----------------------------------------------------------------------------------------------------

bool is_native(std::string_view resource) { return !contains(resource, "/") || contains(resource, "kubernetes.io/"); }

bool is_extended(std::string_view resource) { return !is_native(resource) && !resource.starts_with("requests."); }

bool can_overcommit(std::string_view resource) { return is_native(resource) && !resource.starts_with("hugepages-"); }

bool is_counted(std::string_view resource) {
  static constexpr std::array<std::string_view, 8> kCounted{
      "pods",    "resourcequotas",         "services",           "replicationcontrollers",
      "secrets", "persistentvolumeclaims", "services.nodeports", "services.loadbalancers"};
  return is_extended(resource) || resource == "configmaps" || resource.starts_with("count/") ||
         std::ranges::find(kCounted, resource) != kCounted.end();
}

bool is_for_containers(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource == "ephemeral-storage" ||
         resource.starts_with("hugepages-");
}

void check_container_resource(Check& check, const Path& path, std::string_view name, const Value& amount) {
  check_resource_name(check, path, name);
  if (!contains(name, "/") && !is_for_containers(name))
    check.invalid(path, Value(name), "must be a standard resource for containers");
  check_amount(check, path, name, amount);
}

void check_resources(Check& check, const Path& path, const Value& resources) {
  const Value& limits = resources["limits"];
  const Path limits_path = path / "limits";
  const Path requests_path = path / "requests";
  for (const auto& [name, amount] : members(limits))
    check_container_resource(check, limits_path.key(name), name, amount);
  for (const auto& [name, amount] : members(resources["requests"])) {
    check_container_resource(check, requests_path.key(name), name, amount);
    const Value& limit = limits[name];
    if (limit.is_null()) {
      if (!can_overcommit(name)) check.required(limits_path, "Limit must be set for non overcommitable resources");
      continue;
    }
    const auto most = quantity(limit);
    const auto asked = quantity(amount);
    if (!most || !asked || *asked == *most) continue;
    if (!can_overcommit(name)) {
      check.invalid(requests_path, amount, fmt::format("must be equal to {} limit of {}", name, most->str()));
    } else if (*asked > *most) {
      check.invalid(requests_path, amount,
                    fmt::format("must be less than or equal to {} limit of {}", name, most->str()));
    }
  }
}

// ---- containers ----------------------------------------------------------------------------------------------------

void check_label(Check& check, const Path& path, std::string_view name) {
  check.names(path, Value(name), api::check_dns_label(name));
}

void check_ports(Check& check, const Path& path, const Value& ports) {
  Names names;
  const Array& all = items(ports);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = path[i];
    if (const std::string_view name = all[i].text("name"); !name.empty()) {
      const std::size_t before = check.count();
      check.port_name(one / "name", name);
      if (check.count() == before && !names.insert(name).second) check.duplicate(one / "name", Value(name));
    }
    if (number(all[i]["containerPort"]) == 0) {
      check.required(one / "containerPort");
    } else {
      check.port_number(one / "containerPort", all[i]["containerPort"]);
    }
    if (number(all[i]["hostPort"]) != 0) check.port_number(one / "hostPort", all[i]["hostPort"]);
    check.one_of(one / "protocol", all[i]["protocol"], {"SCTP", "TCP", "UDP"});
  }
}

void check_host_ports(Check& check, const Path& path, const Array& containers) {
  std::set<std::string> taken;
  for (std::size_t c = 0; c < containers.size(); ++c) {
    const Path container = path[c];
    const Path ports_path = container / "ports";
    const Array& ports = items(containers[c]["ports"]);
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const std::int64_t port = number(ports[i]["hostPort"]);
      if (port == 0) continue;
      const std::string name = fmt::format("{}/{}/{}", ports[i].text("protocol"), ports[i].text("hostIP"), port);
      if (!taken.insert(name).second) check.duplicate(ports_path[i] / "hostPort", name);
    }
  }
}

void check_field_ref(Check& check, const Path& path, const Value& ref) {
  static constexpr std::array<std::string_view, 9> kForEnv{
      "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
      "status.hostIP", "status.hostIPs",     "status.podIP", "status.podIPs"};
  static constexpr std::array<std::string_view, 4> kElsewhere{"spec.restartPolicy", "spec.schedulerName",
                                                              "status.phase", "spec.host"};
  const std::string_view field = ref.text("fieldPath");
  const Path at = path / "fieldPath";
  if (field.empty()) return check.required(at);
  if (field.starts_with("metadata.labels[") || field.starts_with("metadata.annotations[")) return;
  if (std::ranges::find(kForEnv, field) != kForEnv.end()) return;
  if (std::ranges::find(kElsewhere, field) == kElsewhere.end() && field != "metadata.labels" &&
      field != "metadata.annotations")
    return check.invalid(at, Value(field),
                         fmt::format("error converting fieldPath: field label not supported: {}", field));
  check.one_of(at, Value(field),
               {"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
                "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"});
}

void check_key_ref(Check& check, const Path& path, const Value& ref) {
  const std::string_view name = ref.text("name");
  check.names(path / "name", Value(name), api::check_dns_subdomain(name));
  const std::string_view key = ref.text("key");
  if (key.empty()) return check.required(path / "key");
  check.names(path / "key", Value(key), api::check_config_key(key));
}

void check_resource_ref(Check& check, const Path& path, const Value& ref) {
  const std::string_view resource = ref.text("resource");
  if (resource.empty()) return check.required(path / "resource");
  if (resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-")) return;
  check.one_of(path / "resource", Value(resource),
               {"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage",
                "requests.memory"});
}

void check_value_from(Check& check, const Path& path, const Value& variable) {
  const Value& from = variable["valueFrom"];
  if (from.is_null()) return;
  std::size_t sources = 0;
  const auto source = [&](std::string_view member, void (*rule)(Check&, const Path&, const Value&)) {
    if (from[member].is_null()) return;
    ++sources;
    if (rule != nullptr) rule(check, path / member, from[member]);
  };
  source("fieldRef", check_field_ref);
  source("resourceFieldRef", check_resource_ref);
  source("configMapKeyRef", check_key_ref);
  source("secretKeyRef", check_key_ref);
  source("fileKeyRef", nullptr);
  if (sources == 0) {
    check.invalid(path, "",
                  "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
                  "`fileKeyRef`");
  } else if (!variable.text("value").empty()) {
    check.invalid(path, "", "may not be specified when `value` is not empty");
  } else if (sources > 1) {
    check.invalid(path, "", "may not have more than one field specified at a time");
  }
}

void check_env_name(Check& check, const Path& path, std::string_view name) {
  const auto printable = [](char c) { return c >= ' ' && c <= '~' && c != '='; };
  if (!std::ranges::all_of(name, printable))
    check.invalid(path, Value(name),
                  "a valid environment variable name must consist only of printable ASCII characters other than '='");
}

void check_env(Check& check, const Path& path, const Value& env) {
  const Array& all = items(env);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = path[i];
    if (const std::string_view name = all[i].text("name"); name.empty()) {
      check.required(one / "name");
    } else {
      check_env_name(check, one / "name", name);
    }
    check_value_from(check, one / "valueFrom", all[i]);
  }
}

void check_env_from(Check& check, const Path& path, const Value& sources) {
  const Array& all = items(sources);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = path[i];
    if (const std::string_view prefix = all[i].text("prefix"); !prefix.empty())
      check_env_name(check, one / "prefix", prefix);
    std::size_t count = 0;
    for (const char* member : {"configMapRef", "secretRef"}) {
      if (all[i][member].is_null()) continue;
      ++count;
      const Path ref = one / member;
      if (all[i][member].text("name").empty()) check.required(ref / "name");
    }
    if (count == 0) {
      check.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`");
    } else if (count > 1) {
      check.invalid(path, "", "may not have more than one field specified at a time");
    }
  }
}

void check_mounts(Check& check, const Path& path, const Value& mounts, const Names& volumes) {
  Names paths;
  const Array& all = items(mounts);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = path[i];
    const std::string_view name = all[i].text("name");
    const std::string_view where = all[i].text("mountPath");
    if (name.empty()) check.required(one / "name");
    if (!volumes.contains(name)) check.not_found(one / "name", Value(name));
    if (where.empty()) check.required(one / "mountPath");
    if (!paths.insert(where).second) check.invalid(one / "mountPath", Value(where), "must be unique");
    if (!all[i].text("subPath").empty() && !all[i].text("subPathExpr").empty())
      check.invalid(one / "subPathExpr", all[i]["subPathExpr"], "subPathExpr and subPath are mutually exclusive");
    for (const char* member : {"subPath", "subPathExpr"}) {
      const std::string_view below = all[i].text(member);
      if (below.starts_with('/')) check.invalid(path / member, Value(below), "must be a relative path");
      if (contains(below, "..")) check.invalid(path / member, Value(below), "must not contain '..'");
    }
  }
}

// What a probe or a hook does: exactly one thing.
void check_devices(Check& check, const Path& path, const Value& devices, const Names& volumes) {
  const Array& all = items(devices);
  Names names;
  Names paths;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = path[i];
    const std::string_view name = all[i].text("name");
    const std::string_view where = all[i].text("devicePath");
    if (name.empty()) check.required(one / "name");
    if (where.empty()) check.required(one / "devicePath");
    if (!names.insert(name).second) check.invalid(one / "name", Value(name), "must be unique");
    if (!paths.insert(where).second) check.invalid(one / "devicePath", Value(where), "must be unique");
    if (!volumes.contains(name)) check.not_found(one / "name", Value(name));
  }
}

void check_handler(Check& check, const Path& path, const Value& handler) {
  std::size_t count = 0;
  const auto first = [&](std::string_view member) {
    if (handler[member].is_null()) return false;
    if (count++ == 0) return true;
    check.forbidden(path / member, "may not specify more than 1 handler type");
    return false;
  };
  if (first("exec") && items(handler["exec"]["command"]).empty()) {
    const Path exec = path / "exec";
    check.required(exec / "command");
  }
  if (first("httpGet")) {
    const Path http = path / "httpGet";
    if (handler["httpGet"].text("path").empty()) check.required(http / "path");
    check.port_number_or_name(http / "port", handler["httpGet"]["port"]);
    check.one_of(http / "scheme", handler["httpGet"]["scheme"], {"HTTP", "HTTPS"});
  }
  if (first("tcpSocket")) {
    const Path tcp = path / "tcpSocket";
    check.port_number_or_name(tcp / "port", handler["tcpSocket"]["port"]);
  }
  if (first("grpc")) {
    const Path grpc = path / "grpc";
    check.port_number(grpc / "port", handler["grpc"]["port"]);
  }
  first("sleep");
  if (count == 0) check.required(path, "must specify a handler type");
}

void check_probe(Check& check, const Path& path, const Value& probe, bool once) {
  if (probe.is_null()) return;
  check_handler(check, path, probe);
  for (const char* member :
       {"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"})
    check.non_negative(path / member, probe[member]);
  if (const Value& grace = probe["terminationGracePeriodSeconds"]; !grace.is_null() && number(grace) <= 0)
    check.invalid(path / "terminationGracePeriodSeconds", grace, "must be greater than 0");
  if (once && number(probe["successThreshold"]) != 1)
    check.invalid(path / "successThreshold", number(probe["successThreshold"]), "must be 1");
}

void check_probes(Check& check, const Path& path, const Value& container) {
  const Path lifecycle = path / "lifecycle";
  for (const char* hook : {"postStart", "preStop"})
    if (const Value& handler = container["lifecycle"][hook]; !handler.is_null())
      check_handler(check, lifecycle / hook, handler);
  check_probe(check, path / "livenessProbe", container["livenessProbe"], true);
  check_probe(check, path / "readinessProbe", container["readinessProbe"], false);
  check_probe(check, path / "startupProbe", container["startupProbe"], true);
}

void check_container(Check& check, const Path& path, const Value& container, const Names& volumes) {
  if (const std::string_view name = container.text("name"); name.empty()) {
    check.required(path / "name");
  } else {
    check_label(check, path / "name", name);
  }
  if (container.text("image").empty()) check.required(path / "image");
  check.one_of(path / "terminationMessagePolicy", container["terminationMessagePolicy"],
               {"File", "FallbackToLogsOnError"});
  check_ports(check, path / "ports", container["ports"]);
  check_env(check, path / "env", container["env"]);
  check_env_from(check, path / "envFrom", container["envFrom"]);
  check_mounts(check, path / "volumeMounts", container["volumeMounts"], volumes);
  check_devices(check, path / "volumeDevices", container["volumeDevices"], volumes);
  check.one_of(path / "imagePullPolicy", container["imagePullPolicy"], {"Always", "IfNotPresent", "Never"});
  check_resources(check, path / "resources", container["resources"]);
}

void check_containers(Check& check, const Path& path, const Value& containers, const Names& volumes) {
  const Array& all = items(containers);
  if (all.empty()) return check.required(path);
  Names names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = path[i];
    check_container(check, one, all[i], volumes);
    const std::string_view name = all[i].text("name");
    if (!names.insert(name).second) check.duplicate(one / "name", Value(name));
    check_probes(check, one, all[i]);
  }
  check_host_ports(check, path, all);
}

void check_init_containers(Check& check, const Path& path, const Value& spec, const Names& volumes) {
  const Array& all = items(spec["initContainers"]);
  Names names;
  for (const Value& one : items(spec["containers"])) names.insert(one.text("name"));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = path[i];
    check_container(check, one, all[i], volumes);
    const std::string_view name = all[i].text("name");
    if (!name.empty() && !names.insert(name).second) check.duplicate(one / "name", Value(name));
    if (all[i].text("restartPolicy") == "Always") {
      check_probes(check, one, all[i]);
      continue;
    }
    for (const char* member : {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"})
      if (!all[i][member].is_null())
        check.forbidden(one / member, "may not be set for init containers without restartPolicy=Always");
  }
}

// ---- volumes -------------------------------------------------------------------------------------------------------

void check_mode(Check& check, const Path& path, const Value& mode) {
  if (number(mode) < 0 || number(mode) > 0777)
    check.invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive");
}

void check_files(Check& check, const Path& path, const Value& source) {
  check_mode(check, path / "defaultMode", source["defaultMode"]);
  const Path list = path / "items";
  const Array& all = items(source["items"]);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = list[i];
    if (all[i].text("key").empty()) check.required(one / "key");
    const std::string_view where = all[i].text("path");
    if (where.empty()) check.required(one / "path");
    if (where.starts_with('/')) check.invalid(one / "path", Value(where), "must be a relative path");
    if (where == ".." || where.starts_with("../") || contains(where, "/../") || where.ends_with("/.."))
      check.invalid(one / "path", Value(where), "must not contain '..'");
    check_mode(check, one / "mode", all[i]["mode"]);
  }
}

void check_one_source(Check& check, const Path& at, std::string_view member, const Value& source) {
  if (member == "secret") {
    if (source.text("secretName").empty()) check.required(at / "secretName");
    check_files(check, at, source);
  } else if (member == "configMap") {
    if (source.text("name").empty()) check.required(at / "name");
    check_files(check, at, source);
  } else if (member == "persistentVolumeClaim") {
    if (source.text("claimName").empty()) check.required(at / "claimName");
  } else if (member == "hostPath") {
    const std::string_view where = source.text("path");
    if (where.empty()) check.required(at / "path");
    if (contains(where, "..")) check.invalid(at / "path", Value(where), "must not contain '..'");
    check.one_of(at / "type", source["type"],
                 {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"});
  } else if (member == "emptyDir") {
    if (const auto size = quantity(source["sizeLimit"]); size && size->sign() < 0)
      check.forbidden(at / "sizeLimit", "SizeLimit field must be a valid resource quantity");
  } else if (member == "ephemeral") {
    const Path claim = at / "volumeClaimTemplate";
    if (source["volumeClaimTemplate"].is_null()) {
      check.required(claim);
    } else {
      check_claim_spec(check, claim / "spec", source["volumeClaimTemplate"]["spec"]);
    }
  }
}

void check_volume_source(Check& check, const Path& path, const Value& volume) {
  bool one = false;
  const auto source = [&](std::string_view member, const Value& value) {
    const Path at = path / member;
    if (one) return check.forbidden(at, "may not specify more than 1 volume type");
    one = true;
    check_one_source(check, at, member, value);
  };
  // The one that the server looks at first: of two, the other is the one too many.
  if (const Value& first = volume["emptyDir"]; !first.is_null()) source("emptyDir", first);
  for (const auto& [member, value] : members(volume))
    if (member != "name" && member != "emptyDir") source(member, value);
  if (!one) check.required(path, "must specify a volume type");
}

Names check_volumes(Check& check, const Path& path, const Value& volumes) {
  Names names;
  const Array& all = items(volumes);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = path[i];
    const std::size_t before = check.count();
    check_volume_source(check, one, all[i]);
    const std::string_view name = all[i].text("name");
    if (name.empty()) {
      check.required(one / "name");
    } else {
      check_label(check, one / "name", name);
    }
    if (names.contains(name)) check.duplicate(one / "name", Value(name));
    if (check.count() == before) names.insert(name);
  }
  return names;
}

// ---- the pod -------------------------------------------------------------------------------------------------------

void check_tolerations(Check& check, const Path& path, const Value& tolerations) {
  const Array& all = items(tolerations);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = path[i];
    const std::string_view key = all[i].text("key");
    const std::string_view op = all[i].text("operator");
    const std::string_view effect = all[i].text("effect");
    const std::string_view value = all[i].text("value");
    if (!key.empty()) check.names(one / "key", Value(key), api::check_label_key(key));
    if (key.empty() && op != "Exists")
      check.invalid(one / "operator", Value(op),
                    "operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
    if (!all[i]["tolerationSeconds"].is_null() && effect != "NoExecute")
      check.invalid(one / "effect", Value(effect), "effect must be 'NoExecute' when `tolerationSeconds` is set");
    if (op == "Exists") {
      if (!value.empty())
        check.invalid(one / "operator", Value(value), "value must be empty when `operator` is 'Exists'");
    } else if (op.empty() || op == "Equal") {
      check.names(one / "operator", Value(value), api::check_label_value(value));
    } else if (op != "Lt" && op != "Gt") {
      check.one_of(one / "operator", Value(op), {"Equal", "Exists"});
    }
    if (!effect.empty()) check.one_of(one / "effect", Value(effect), {"NoSchedule", "PreferNoSchedule", "NoExecute"});
  }
}

// What differs, a line each way. The server prints its own structs here, we the API's.
std::string difference(const Value& old, const Value& now) {
  std::string out;
  const auto line = [&](char sign, const std::string& name, const Value& value) {
    if (!value.is_null()) fmt::format_to(std::back_inserter(out), "{} \"{}\": {}\n", sign, name, json::dump(value));
  };
  std::set<std::string> names;
  for (const auto& [name, value] : members(old)) names.insert(name);
  for (const auto& [name, value] : members(now)) names.insert(name);
  for (const std::string& name : names)
    if (old[name] != now[name]) {
      line('-', name, old[name]);
      line('+', name, now[name]);
    }
  return out;
}

void keep_images(Value& spec, const Value& old, std::string_view list) {
  Array* all = spec[list].as_array();
  if (all == nullptr) {
    spec.as_object()->erase(list);
    return;
  }
  for (std::size_t i = 0; i < all->size(); ++i)
    if (Object* one = (*all)[i].as_object()) (*one)["image"] = old[list][i]["image"];
}

bool check_same_containers(Check& check, const Path& path, const Value& containers, const Value& old) {
  if (items(containers).size() == items(old).size()) return true;
  check.forbidden(path, "pod updates may not add or remove containers");
  return false;
}

void check_only_added(Check& check, const Path& path, const Value& tolerations, const Value& old) {
  for (const Value& one : items(old)) {
    const auto same = [&](Value other) {
      other["tolerationSeconds"] = one["tolerationSeconds"];
      if (one["tolerationSeconds"].is_null()) other.as_object()->erase("tolerationSeconds");
      return other == one;
    };
    if (std::ranges::none_of(items(tolerations), same))
      return check.forbidden(path, "existing toleration can not be modified except its tolerationSeconds");
  }
}

}  // namespace

void check_resource_name(Check& check, const Path& path, std::string_view name) {
  const std::size_t before = check.count();
  check.names(path, Value(name), api::check_label_key(name));
  if (check.count() != before || contains(name, "/")) return;
  static constexpr std::array<std::string_view, 20> kStandard{"cpu",
                                                              "memory",
                                                              "ephemeral-storage",
                                                              "requests.cpu",
                                                              "requests.memory",
                                                              "requests.ephemeral-storage",
                                                              "limits.cpu",
                                                              "limits.memory",
                                                              "limits.ephemeral-storage",
                                                              "pods",
                                                              "resourcequotas",
                                                              "services",
                                                              "replicationcontrollers",
                                                              "secrets",
                                                              "configmaps",
                                                              "persistentvolumeclaims",
                                                              "storage",
                                                              "requests.storage",
                                                              "services.nodeports",
                                                              "services.loadbalancers"};
  const bool huge = name.starts_with("hugepages-") || name.starts_with("requests.hugepages-");
  if (!huge && std::ranges::find(kStandard, name) == kStandard.end())
    check.invalid(path, Value(name), "must be a standard resource type or fully qualified");
}

void check_amount(Check& check, const Path& path, std::string_view resource, const Value& amount) {
  const auto value = quantity(amount);
  if (!value) return;
  if (value->sign() < 0) check.invalid(path, amount, "must be greater than or equal to 0");
  if (is_counted(resource) && !value->as_int64()) check.invalid(path, amount, "must be an integer");
}

void check_pod_spec(Check& check, const Path& path, const Value& spec, const Value& more_volumes) {
  Names volumes = check_volumes(check, path / "volumes", spec["volumes"]);
  for (const Value& one : items(more_volumes)) volumes.insert(one["metadata"].text("name"));
  check_containers(check, path / "containers", spec["containers"], volumes);
  check_init_containers(check, path / "initContainers", spec, volumes);
  check.one_of(path / "restartPolicy", spec["restartPolicy"], {"Always", "OnFailure", "Never"});
  check.one_of(path / "dnsPolicy", spec["dnsPolicy"], {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"});
  check.labels(path / "nodeSelector", spec["nodeSelector"]);
  for (const char* member : {"serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"})
    if (const std::string_view name = spec.text(member); !name.empty())
      check.names(path / member, Value(name), api::check_dns_subdomain(name));
  if (const Value& deadline = spec["activeDeadlineSeconds"];
      !deadline.is_null() && (number(deadline) < 1 || number(deadline) > kMaxInt32))
    check.invalid(path / "activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive");
  for (const char* member : {"hostname", "subdomain"})
    if (const std::string_view name = spec.text(member); !name.empty()) check_label(check, path / member, name);
  check_tolerations(check, path / "tolerations", spec["tolerations"]);
}

void check_pod_template(Check& check, const Path& path, const Value& pod_template, const Value& more_volumes) {
  check.labels(path / "labels", pod_template["metadata"]["labels"]);
  const Path spec = path / "spec";
  check_pod_spec(check, spec, pod_template["spec"], more_volumes);
  if (!items(pod_template["spec"]["ephemeralContainers"]).empty())
    check.forbidden(spec / "ephemeralContainers", "ephemeral containers not allowed in pod template");
}

void check_pod_update(Check& check, const Value& pod, const Value& old) {
  const Path path("spec");
  const Value& spec = pod["spec"];
  const Value& before = old["spec"];
  for (const char* list : {"containers", "initContainers"})
    if (!check_same_containers(check, path / list, spec[list], before[list])) return;
  const Value& deadline = spec["activeDeadlineSeconds"];
  const Value& old_deadline = before["activeDeadlineSeconds"];
  if (!deadline.is_null() && !old_deadline.is_null() && number(old_deadline) < number(deadline))
    return check.invalid(path / "activeDeadlineSeconds", deadline, "must be less than or equal to previous value");
  if (deadline.is_null() && !old_deadline.is_null())
    check.invalid(path / "activeDeadlineSeconds", Value(), "must not update from a positive integer to nil value");
  check_only_added(check, path / "tolerations", spec["tolerations"], before["tolerations"]);
  for (const Value& gate : items(spec["schedulingGates"])) {
    const Array& known = items(before["schedulingGates"]);
    if (std::ranges::find(known, gate) == known.end())
      return check.forbidden(
          path / "schedulingGates",
          fmt::format("only deletion is allowed, but found new scheduling gate '{}'", gate.text("name")));
  }
  if (spec == before) return;
  Value same = spec;
  keep_images(same, before, "containers");
  keep_images(same, before, "initContainers");
  for (const char* member : {"activeDeadlineSeconds", "tolerations", "schedulingGates"}) {
    if (before[member].is_null()) {
      same.as_object()->erase(member);
    } else {
      same[member] = before[member];
    }
  }
  if (number(before["terminationGracePeriodSeconds"]) < 0 && same["terminationGracePeriodSeconds"] == Value(1))
    same["terminationGracePeriodSeconds"] = before["terminationGracePeriodSeconds"];
  const bool gated = !items(before["schedulingGates"]).empty();
  if (gated)
    for (const char* member : {"nodeSelector", "affinity"}) {
      if (before[member].is_null()) {
        same.as_object()->erase(member);
      } else {
        same[member] = before[member];
      }
    }
  if (same != before)
    check.forbidden(path,
                    "pod updates may not change fields other than "
                    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
                    "`spec.tolerations` (only additions to existing tolerations),"
                    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n" +
                        difference(before, same));
}

void check_ephemeral_containers(Check& check, const Value& pod, const Value& old) {
  const Path spec("spec");
  const Path path = spec / "ephemeralContainers";
  const Array& all = items(pod["spec"]["ephemeralContainers"]);
  Names others;
  for (const char* list : {"containers", "initContainers"})
    for (const Value& one : items(pod["spec"][list])) others.insert(one.text("name"));
  Names volumes;
  for (const Value& one : items(pod["spec"]["volumes"])) volumes.insert(one.text("name"));
  Names names = others;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = path[i];
    check_container(check, one, all[i], volumes);
    const std::string_view name = all[i].text("name");
    if (!name.empty() && !names.insert(name).second) check.duplicate(one / "name", Value(name));
    const Value& target = all[i]["targetContainerName"];
    if (!target.is_null() && !others.contains(all[i].text("targetContainerName")))
      check.not_found(one / "targetContainerName", target);
    for (const char* member : {"lifecycle", "livenessProbe", "ports", "readinessProbe", "startupProbe", "resources"})
      if (!is_blank(all[i][member])) check.forbidden(one / member, "cannot be set for an Ephemeral Container");
  }
  for (const Value& before : items(old["spec"]["ephemeralContainers"])) {
    const std::string_view name = before.text("name");
    const auto now = std::ranges::find_if(all, [&](const Value& one) { return one.text("name") == name; });
    if (now == all.end()) {
      check.forbidden(path, fmt::format("existing ephemeral containers \"{}\" may not be removed\n", name));
    } else if (*now != before) {
      check.forbidden(path, fmt::format("existing ephemeral containers \"{}\" may not be changed\n", name));
    }
  }
}

void check_claim_spec(Check& check, const Path& path, const Value& spec) {
  const Array& modes = items(spec["accessModes"]);
  if (modes.empty()) check.required(path / "accessModes", "at least 1 access mode is required");
  check.label_selector(path / "selector", spec["selector"]);
  for (const Value& mode : modes)
    check.one_of(path / "accessModes", mode, {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"});
  if (modes.size() > 1 && std::ranges::find(modes, Value("ReadWriteOncePod")) != modes.end())
    check.forbidden(path / "accessModes", "may not use ReadWriteOncePod with other access modes");
  const Path resources = path / "resources";
  const Path storage = resources.key("storage");
  const Value& amount = spec["resources"]["requests"]["storage"];
  if (amount.is_null()) {
    check.required(storage);
  } else if (const auto size = quantity(amount); size && size->sign() <= 0) {
    check.invalid(storage, amount, "must be greater than zero");
  }
  if (const std::string_view name = spec.text("storageClassName"); !name.empty())
    check.names(path / "storageClassName", Value(name), api::check_dns_subdomain(name));
  if (!spec["volumeMode"].is_null()) check.one_of(path / "volumeMode", spec["volumeMode"], {"Block", "Filesystem"});
}

}  // namespace kopper::plane::builtin
