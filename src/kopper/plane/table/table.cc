#include "kopper/plane/table/table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/api/selector.h"
#include "kopper/api/time.h"
#include "kopper/plane/table/pod_row.h"
#include "kopper/plane/table/reading.h"

namespace kopper::plane::table {
namespace {

// ---- formats -------------------------------------------------------------------------------------------------------

std::string images_or_names(const Value& containers, std::string_view member) {
  std::vector<std::string_view> out;
  for (const Value& one : items(containers)) out.push_back(one.text(member));
  return fmt::format("{}", fmt::join(out, ","));
}

std::string labels(const Value& map) {
  std::vector<std::string> out;
  for (const auto& [key, value] : members(map)) out.push_back(fmt::format("{}={}", key, text(value)));
  return out.empty() ? "<none>" : fmt::format("{}", fmt::join(out, ","));
}

// Of a LabelSelector; "" when it selects everything.
std::string selector_text(const Value& selector) {
  using Op = api::Requirement::Op;
  api::Selector out;
  for (const auto& [key, value] : members(selector["matchLabels"]))
    out.add({.key = key, .op = Op::Equals, .values = {text(value)}});
  for (const Value& one : items(selector["matchExpressions"])) {
    std::vector<std::string> values;
    for (const Value& value : items(one["values"])) values.push_back(text(value));
    std::ranges::sort(values);
    const std::string_view op = one.text("operator");
    out.add({.key = std::string(one.text("key")),
             .op = op == "In"       ? Op::In
                   : op == "NotIn"  ? Op::NotIn
                   : op == "Exists" ? Op::Exists
                                    : Op::DoesNotExist,
             .values = std::move(values)});
  }
  return out.str();
}

std::string selector(const Value& value) { return or_else(selector_text(value), "<none>"); }

// The first few, and how many more there are.
std::string with_more(std::vector<std::string> list, std::size_t count, std::size_t shown,
                      std::string_view comma = ",") {
  if (list.size() > shown) list.resize(shown);
  const std::string joined = fmt::format("{}", fmt::join(list, comma));
  return count > shown ? fmt::format("{} + {} more...", joined, count - shown) : joined;
}

std::string balancer_addresses(const Value& balancer) {
  std::set<std::string> out;
  for (const Value& one : items(balancer["ingress"])) {
    const std::string_view address = one.text("ip").empty() ? one.text("hostname") : one.text("ip");
    if (!address.empty()) out.insert(std::string(address));
  }
  return fmt::format("{}", fmt::join(out, ","));
}

std::string access_modes(const Value& modes) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kShort{
      {{"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}}};
  std::vector<std::string_view> out;
  for (const auto& [mode, name] : kShort)
    if (std::ranges::any_of(items(modes), [&](const Value& one) { return text(one) == mode; })) out.push_back(name);
  return fmt::format("{}", fmt::join(out, ","));
}

// The class that a volume or claim names; the annotation is from before there was a member.
std::string storage_class(const Value& object) {
  const std::string_view old = object["metadata"]["annotations"].text("volume.beta.kubernetes.io/storage-class");
  return old.empty() ? text(object["spec"]["storageClassName"]) : std::string(old);
}

std::string_view phase(const Value& object) {
  return object["metadata"]["deletionTimestamp"].is_null() ? object["status"].text("phase") : "Terminating";
}

// ---- rows ----------------------------------------------------------------------------------------------------------

// An object and the time, and what all rows ask of them.
struct Row {
  const Value& object;
  Time now;

  Value name() const { return Value(object["metadata"].text("name")); }
  Value created() const { return age(object["metadata"]["creationTimestamp"], now); }
  const Value& spec() const { return object["spec"]; }
  const Value& status() const { return object["status"]; }
  const Value& containers() const { return spec()["template"]["spec"]["containers"]; }
};

Array pod(const Row& row) { return pod_cells(row.object, row.now); }

Array pod_template(const Row& row) {
  const Value& all = row.object["template"]["spec"]["containers"];
  return {row.name(), images_or_names(all, "name"), images_or_names(all, "image"),
          labels(row.object["template"]["metadata"]["labels"])};
}

Array replication_controller(const Row& row) {
  return {row.name(),
          number(row.spec()["replicas"]),
          number(row.status()["replicas"]),
          number(row.status()["readyReplicas"]),
          row.created(),
          images_or_names(row.containers(), "name"),
          images_or_names(row.containers(), "image"),
          labels(row.spec()["selector"])};
}

Array replica_set(const Row& row) {
  return {row.name(),
          number(row.spec()["replicas"]),
          number(row.status()["replicas"]),
          number(row.status()["readyReplicas"]),
          row.created(),
          images_or_names(row.containers(), "name"),
          images_or_names(row.containers(), "image"),
          selector(row.spec()["selector"])};
}

Array deployment(const Row& row) {
  return {row.name(),
          fmt::format("{}/{}", number(row.status()["readyReplicas"]), number(row.spec()["replicas"])),
          number(row.status()["updatedReplicas"]),
          number(row.status()["availableReplicas"]),
          row.created(),
          images_or_names(row.containers(), "name"),
          images_or_names(row.containers(), "image"),
          selector_text(row.spec()["selector"])};
}

Array stateful_set(const Row& row) {
  return {row.name(), fmt::format("{}/{}", number(row.status()["readyReplicas"]), number(row.spec()["replicas"])),
          row.created(), images_or_names(row.containers(), "name"), images_or_names(row.containers(), "image")};
}

Array daemon_set(const Row& row) {
  const Value& status = row.status();
  return {row.name(),
          number(status["desiredNumberScheduled"]),
          number(status["currentNumberScheduled"]),
          number(status["numberReady"]),
          number(status["updatedNumberScheduled"]),
          number(status["numberAvailable"]),
          labels(row.spec()["template"]["spec"]["nodeSelector"]),
          row.created(),
          images_or_names(row.containers(), "name"),
          images_or_names(row.containers(), "image"),
          selector(row.spec()["selector"])};
}

std::string job_status(const Row& row) {
  const auto has = [&](const char* type) { return condition(row.status(), type).text("status") == "True"; };
  if (has("Complete")) return "Complete";
  if (has("Failed")) return "Failed";
  if (!row.object["metadata"]["deletionTimestamp"].is_null()) return "Terminating";
  for (const char* type : {"Suspended", "FailureTarget", "SuccessCriteriaMet"})
    if (has(type)) return type;
  return "Running";
}

Array job(const Row& row) {
  const std::int64_t done = number(row.status()["succeeded"]);
  const std::int64_t parallel = number(row.spec()["parallelism"]);
  std::string completions = fmt::format("{}/1", done);
  if (const Value& wanted = row.spec()["completions"]; !wanted.is_null()) {
    completions = fmt::format("{}/{}", done, number(wanted));
  } else if (parallel > 1) {
    completions += fmt::format(" of {}", parallel);
  }
  std::string duration;
  if (const auto start = time_of(row.status()["startTime"]))
    duration = human_duration(
        time_of(row.status()["completionTime"]).value_or(std::chrono::floor<std::chrono::seconds>(row.now)) - *start);
  return {row.name(),
          job_status(row),
          std::move(completions),
          std::move(duration),
          row.created(),
          images_or_names(row.containers(), "name"),
          images_or_names(row.containers(), "image"),
          selector(row.spec()["selector"])};
}

Array cron_job(const Row& row) {
  const Value& spec = row.spec();
  const Value& last = row.status()["lastScheduleTime"];
  const Value& job = spec["jobTemplate"]["spec"];
  const bool* suspend = spec["suspend"].as_bool();
  return {row.name(),
          text(spec["schedule"]),
          or_else(text(spec["timeZone"]), "<none>"),
          suspend == nullptr ? "<unset>"
          : *suspend         ? "True"
                             : "False",
          items(row.status()["active"]).size(),
          last.is_null() ? "<none>" : age(last, row.now),
          row.created(),
          images_or_names(job["template"]["spec"]["containers"], "name"),
          images_or_names(job["template"]["spec"]["containers"], "image"),
          selector(job["selector"])};
}

std::string external_ip(const Row& row) {
  std::vector<std::string> own;
  for (const Value& one : items(row.spec()["externalIPs"])) own.push_back(text(one));
  const std::string_view type = row.spec().text("type");
  if (type == "ExternalName") return text(row.spec()["externalName"]);
  if (type == "LoadBalancer") {
    std::string all = balancer_addresses(row.status()["loadBalancer"]);
    for (const std::string& one : own) all += all.empty() ? one : "," + one;
    return or_else(all, "<pending>");
  }
  if (type == "ClusterIP" || type == "NodePort") return or_else(fmt::format("{}", fmt::join(own, ",")), "<none>");
  return "<unknown>";
}

Array service(const Row& row) {
  std::vector<std::string> ports;
  for (const Value& port : items(row.spec()["ports"])) {
    const std::int64_t node = number(port["nodePort"]);
    ports.push_back(node > 0 ? fmt::format("{}:{}/{}", number(port["port"]), node, port.text("protocol"))
                             : fmt::format("{}/{}", number(port["port"]), port.text("protocol")));
  }
  const Value& address = row.spec()["clusterIPs"][0];
  return {row.name(),
          text(row.spec()["type"]),
          address.is_null() ? "<none>" : text(address),
          external_ip(row),
          or_else(fmt::format("{}", fmt::join(ports, ",")), "<none>"),
          row.created(),
          labels(row.spec()["selector"])};
}

Array endpoints(const Row& row) {
  std::vector<std::string> out;
  for (const Value& subset : items(row.object["subsets"])) {
    const auto add = [&](const Value* port) {
      for (const Value& address : items(subset["addresses"])) {
        const std::string_view ip = address.text("ip");
        const bool six = ip.find(':') != std::string_view::npos;
        out.push_back(port == nullptr ? std::string(ip)
                                      : fmt::format(fmt::runtime(six ? "[{}]:{}" : "{}:{}"), ip, number(*port)));
      }
    };
    if (items(subset["ports"]).empty()) add(nullptr);
    for (const Value& port : items(subset["ports"])) add(&port["port"]);
  }
  const std::size_t count = out.size();
  const bool none = items(row.object["subsets"]).empty();
  return {row.name(), none ? "<none>" : with_more(std::move(out), count, 3), row.created()};
}

Array endpoint_slice(const Row& row) {
  std::vector<std::string> ports;
  std::vector<std::string> addresses;
  for (const Value& port : items(row.object["ports"]))
    ports.push_back(!port["port"].is_null()  ? json::dump(port["port"])
                    : port["name"].is_null() ? "*"
                                             : text(port["name"]));
  for (const Value& endpoint : items(row.object["endpoints"]))
    for (const Value& address : items(endpoint["addresses"])) addresses.push_back(text(address));
  const auto shown = [](std::vector<std::string> list) {
    const std::size_t count = list.size();
    return or_else(with_more(std::move(list), count, 3), "<unset>");
  };
  return {row.name(), text(row.object["addressType"]), shown(std::move(ports)), shown(std::move(addresses)),
          row.created()};
}

Array config_map(const Row& row) {
  return {row.name(), members(row.object["data"]).size() + members(row.object["binaryData"]).size(), row.created()};
}

Array secret(const Row& row) {
  return {row.name(), text(row.object["type"]), members(row.object["data"]).size(), row.created()};
}

Array name_and_age(const Row& row) { return {row.name(), row.created()}; }

Array name_and_date(const Row& row) { return {row.name(), Value(row.object["metadata"]["creationTimestamp"])}; }

Array name_space(const Row& row) { return {row.name(), text(row.status()["phase"]), row.created()}; }

Array node(const Row& row) {
  const Value& ready = condition(row.status(), "Ready");
  std::string state = ready.is_null() ? "Unknown" : ready.text("status") == "True" ? "Ready" : "NotReady";
  if (row.spec()["unschedulable"] == Value(true)) state += ",SchedulingDisabled";
  constexpr std::string_view kRole = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  for (const auto& [key, value] : members(row.object["metadata"]["labels"])) {
    if (key.starts_with(kRole) && key.size() > kRole.size()) roles.insert(key.substr(kRole.size()));
    if (key == "kubernetes.io/role" && !text(value).empty()) roles.insert(text(value));
  }
  const auto address = [&](std::string_view type) -> std::string {
    for (const Value& one : items(row.status()["addresses"]))
      if (one.text("type") == type) return std::string(one.text("address"));
    return "<none>";
  };
  const Value& info = row.status()["nodeInfo"];
  std::string kernel = or_else(text(info["kernelVersion"]), "<unknown>");
  if (!info.text("architecture").empty()) kernel += fmt::format(" ({})", info.text("architecture"));
  return {row.name(),
          std::move(state),
          or_else(fmt::format("{}", fmt::join(roles, ",")), "<none>"),
          row.created(),
          text(info["kubeletVersion"]),
          address("InternalIP"),
          address("ExternalIP"),
          or_else(text(info["osImage"]), "<unknown>"),
          std::move(kernel),
          or_else(text(info["containerRuntimeVersion"]), "<unknown>")};
}

// Both groups' events: they are one kind under two names for its members.
Array event(const Row& row) {
  const auto either = [&](const char* old, const char* fresh) -> const Value& {
    const Value& value = row.object[old];
    return value.is_null() ? row.object[fresh] : value;
  };
  const Value& about = either("involvedObject", "regarding");
  const Value& first_time = either("firstTimestamp", "deprecatedFirstTimestamp");
  const Value& last_time = either("lastTimestamp", "deprecatedLastTimestamp");
  const std::string first = age(first_time.is_null() ? row.object["eventTime"] : first_time, row.now);
  std::string last = last_time.is_null() ? first : age(last_time, row.now);
  std::int64_t count = number(either("count", "deprecatedCount"));
  if (const Value& series = row.object["series"]; !series.is_null()) {
    last = age(series["lastObservedTime"], row.now);
    count = number(series["count"]);
  } else if (count == 0) {
    count = 1;
  }
  std::string target(about.text("kind"));
  std::ranges::transform(target, target.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  if (!about.text("name").empty()) target += fmt::format("/{}", about.text("name"));
  const Value& source = either("source", "deprecatedSource");
  const std::string who = or_else(text(source["component"]), text(either("reportingComponent", "reportingController")));
  const std::string where = or_else(text(source["host"]), text(row.object["reportingInstance"]));
  return {std::move(last),
          text(row.object["type"]),
          text(row.object["reason"]),
          std::move(target),
          text(about["fieldPath"]),
          where.empty() ? who : fmt::format("{}, {}", who, where),
          trimmed(text(either("message", "note"))),
          first,
          count,
          row.name()};
}

Array volume(const Row& row) {
  const Value& spec = row.spec();
  const Value& claim = spec["claimRef"];
  return {row.name(),
          or_else(text(spec["capacity"]["storage"]), "0"),
          access_modes(spec["accessModes"]),
          text(spec["persistentVolumeReclaimPolicy"]),
          Value(phase(row.object)),
          claim.is_null() ? std::string() : fmt::format("{}/{}", claim.text("namespace"), claim.text("name")),
          storage_class(row.object),
          text_or(spec["volumeAttributesClassName"], "<unset>"),
          text(row.status()["reason"]),
          row.created(),
          text_or(spec["volumeMode"], "<unset>")};
}

Array claim(const Row& row) {
  const Value& spec = row.spec();
  const bool bound = !spec.text("volumeName").empty();
  return {row.name(),
          Value(phase(row.object)),
          text(spec["volumeName"]),
          bound ? or_else(text(row.status()["capacity"]["storage"]), "0") : std::string(),
          bound ? access_modes(row.status()["accessModes"]) : std::string(),
          storage_class(row.object),
          text_or(spec["volumeAttributesClassName"], "<unset>"),
          row.created(),
          text_or(spec["volumeMode"], "<unset>")};
}

Array ingress(const Row& row) {
  const Array& rules = items(row.spec()["rules"]);
  std::vector<std::string> hosts;
  for (const Value& rule : rules)
    if (hosts.size() < 3 && !rule.text("host").empty()) hosts.push_back(text(rule["host"]));
  const std::size_t count = hosts.size() == 3 ? rules.size() : hosts.size();
  return {row.name(),
          text_or(row.spec()["ingressClassName"], "<none>"),
          or_else(with_more(std::move(hosts), count, 3), "*"),
          balancer_addresses(row.status()["loadBalancer"]),
          items(row.spec()["tls"]).empty() ? "80" : "80, 443",
          row.created()};
}

Array ingress_class(const Row& row) {
  const Value& parameters = row.spec()["parameters"];
  std::string written = "<none>";
  if (!parameters.is_null()) {
    written = text(parameters["kind"]);
    if (!parameters["apiGroup"].is_null()) written += fmt::format(".{}", parameters.text("apiGroup"));
    written += fmt::format("/{}", parameters.text("name"));
  }
  std::string name = text(row.name());
  if (row.object["metadata"]["annotations"].text("ingressclass.kubernetes.io/is-default-class") == "true")
    name += " (default)";
  return {std::move(name), text(row.spec()["controller"]), std::move(written), row.created()};
}

Array network_policy(const Row& row) { return {row.name(), selector(row.spec()["podSelector"]), row.created()}; }

Array role_binding(const Row& row) {
  const auto subjects = [&](std::string_view kind) {
    std::vector<std::string> out;
    for (const Value& one : items(row.object["subjects"]))
      if (one.text("kind") == kind)
        out.push_back(kind == "ServiceAccount" ? fmt::format("{}/{}", one.text("namespace"), one.text("name"))
                                               : std::string(one.text("name")));
    return fmt::format("{}", fmt::join(out, ", "));
  };
  const Value& role = row.object["roleRef"];
  return {row.name(),        fmt::format("{}/{}", role.text("kind"), role.text("name")),
          row.created(),     subjects("User"),
          subjects("Group"), subjects("ServiceAccount")};
}

Array budget(const Row& row) {
  const auto amount = [](const Value& value) {
    return value.is_null() ? "N/A" : value.is_string() ? text(value) : json::dump(value);
  };
  return {row.name(), amount(row.spec()["minAvailable"]), amount(row.spec()["maxUnavailable"]),
          number(row.status()["disruptionsAllowed"]), row.created()};
}

// One metric of an autoscaler: what is, and what is wanted.
std::string metric(const Value& spec, const Value& status) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kMembers{
      {{"External", "external"},
       {"Pods", "pods"},
       {"Object", "object"},
       {"Resource", "resource"},
       {"ContainerResource", "containerResource"}}};
  const auto* known =
      std::ranges::find(kMembers, spec.text("type"), &std::pair<std::string_view, std::string_view>::first);
  if (known == kMembers.end()) return "<unknown type>";
  const Value& wanted = spec[known->second]["target"];
  const Value& current = status[known->second]["current"];
  const bool resource = known->second == "resource" || known->second == "containerResource";
  const std::string prefix = resource ? fmt::format("{}: ", spec[known->second].text("name")) : std::string();
  if (!wanted["averageValue"].is_null()) {
    const bool says_so = known->second == "external" || known->second == "object";
    return fmt::format("{}{}/{}{}", prefix, text_or(current["averageValue"], "<unknown>"), text(wanted["averageValue"]),
                       says_so ? " (avg)" : "");
  }
  if (!resource) return fmt::format("{}/{}", text_or(current["value"], "<unknown>"), text_or(wanted["value"], "<nil>"));
  const auto percent = [](const Value& value, const char* unknown) {
    return value.is_null() ? std::string(unknown) : json::dump(value) + "%";
  };
  return fmt::format("{}{}/{}", prefix, percent(current["averageUtilization"], "<unknown>"),
                     percent(wanted["averageUtilization"], "<auto>"));
}

Array autoscaler(const Row& row) {
  const Value& spec = row.spec();
  std::vector<std::string> targets;
  const Array& metrics = items(spec["metrics"]);
  for (std::size_t i = 0; i < metrics.size(); ++i)
    targets.push_back(metric(metrics[i], row.status()["currentMetrics"][i]));
  // The first version knows one metric.
  if (const Value& cpu = spec["targetCPUUtilizationPercentage"]; !cpu.is_null()) {
    const Value& current = row.status()["currentCPUUtilizationPercentage"];
    targets.push_back(
        fmt::format("cpu: {}/{}%", current.is_null() ? "<unknown>" : json::dump(current) + "%", json::dump(cpu)));
  }
  const std::size_t count = targets.size();
  const Value& target = spec["scaleTargetRef"];
  return {row.name(),
          fmt::format("{}/{}", target.text("kind"), target.text("name")),
          targets.empty() ? "<none>" : with_more(std::move(targets), count, 2, ", "),
          spec["minReplicas"].is_null() ? "<unset>" : json::dump(spec["minReplicas"]),
          number(spec["maxReplicas"]),
          number(row.status()["currentReplicas"]),
          row.created()};
}

Array lease(const Row& row) { return {row.name(), text(row.spec()["holderIdentity"]), row.created()}; }

// A list marks the newest of the default classes; that there is one is all that a row knows.
Array storage_class_row(const Row& row) {
  std::string name = text(row.name());
  if (row.object["metadata"]["annotations"].text("storageclass.kubernetes.io/is-default-class") == "true")
    name += " (default)";
  return {std::move(name),
          text(row.object["provisioner"]),
          text_or(row.object["reclaimPolicy"], "Delete"),
          text_or(row.object["volumeBindingMode"], "Immediate"),
          row.object["allowVolumeExpansion"] == Value(true),
          row.created()};
}

Array controller_revision(const Row& row) {
  std::string owner = "<none>";
  for (const Value& one : items(row.object["metadata"]["ownerReferences"])) {
    if (one["controller"] != Value(true)) continue;
    const std::string_view version = one.text("apiVersion");
    const std::size_t slash = version.find('/');
    owner = one.text("kind");
    if (slash != std::string_view::npos) owner += fmt::format(".{}", version.substr(0, slash));
    std::ranges::transform(owner, owner.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    owner += fmt::format("/{}", one.text("name"));
  }
  return {row.name(), std::move(owner), number(row.object["revision"]), row.created()};
}

Array quota(const Row& row) {
  std::vector<std::string> requests;
  std::vector<std::string> limits;
  for (const auto& [name, hard] : members(row.status()["hard"]))
    (name.starts_with("limits.") ? limits : requests)
        .push_back(fmt::format("{}: {}/{}", name, text_or(row.status()["used"][name], "0"), text(hard)));
  return {row.name(), fmt::format("{}", fmt::join(requests, ", ")), fmt::format("{}", fmt::join(limits, ", ")),
          row.created()};
}

Array webhooks(const Row& row) { return {row.name(), items(row.object["webhooks"]).size(), row.created()}; }

Array admission_policy(const Row& row) {
  const Value& parameters = row.spec()["paramKind"];
  const Value& rules = row.spec()["validations"];
  return {
      row.name(), items(rules.is_null() ? row.spec()["mutations"] : rules).size(),
      parameters.is_null() ? "<unset>" : fmt::format("{}/{}", parameters.text("apiVersion"), parameters.text("kind")),
      row.created()};
}

Array admission_binding(const Row& row) {
  const Value& parameters = row.spec()["paramRef"];
  std::string written = "<unset>";
  if (!parameters.is_null()) {
    if (!parameters.text("name").empty()) {
      written = parameters.text("namespace").empty()
                    ? fmt::format("*/{}", parameters.text("name"))
                    : fmt::format("{}/{}", parameters.text("namespace"), parameters.text("name"));
    } else {
      written = selector(parameters["selector"]);
    }
  }
  return {row.name(), text(row.spec()["policyName"]), std::move(written), row.created()};
}

Array definition(const Row& row) {
  const Value& spec = row.spec();
  std::vector<std::string> versions;
  for (const Value& one : items(spec["versions"]))
    if (one["served"] == Value(true))
      versions.push_back(fmt::format("{}{}", one.text("name"), one["storage"] == Value(true) ? "(storage)" : ""));
  std::ranges::sort(versions);
  std::vector<std::string> short_names;
  for (const Value& one : items(spec["names"]["shortNames"])) short_names.push_back(text(one));
  return {row.name(),
          text(spec["scope"]),
          fmt::format("{}", fmt::join(versions, ",")),
          Value(row.object["metadata"]["creationTimestamp"]),
          text(spec["group"]),
          text(spec["names"]["kind"]),
          fmt::format("{}", fmt::join(short_names, ",")),
          condition(row.status(), "Established").text("status") == "True"};
}

Array priority_class(const Row& row) {
  return {row.name(), number(row.object["value"]), row.object["globalDefault"] == Value(true), row.created(),
          text(row.object["preemptionPolicy"])};
}

Array api_service(const Row& row) {
  const Value& service = row.spec()["service"];
  const Value& available = condition(row.status(), "Available");
  std::string state = text_or(available["status"], "Unknown");
  if (state != "True" && !available.text("reason").empty()) state += fmt::format(" ({})", available.text("reason"));
  return {row.name(),
          service.is_null() ? "Local" : fmt::format("{}/{}", service.text("namespace"), service.text("name")),
          std::move(state), row.created()};
}

Array volume_attachment(const Row& row) {
  return {row.name(),
          text(row.spec()["attacher"]),
          text(row.spec()["source"]["persistentVolumeName"]),
          text(row.spec()["nodeName"]),
          row.status()["attached"] == Value(true),
          row.created()};
}

Array csi_driver(const Row& row) {
  const Value& spec = row.spec();
  std::vector<std::string> modes;
  for (const Value& one : items(spec["volumeLifecycleModes"])) modes.push_back(text(one));
  std::vector<std::string> audiences;
  for (const Value& one : items(spec["tokenRequests"])) audiences.push_back(text(one["audience"]));
  return {row.name(),
          spec["attachRequired"] != Value(false),
          spec["podInfoOnMount"] == Value(true),
          spec["storageCapacity"] == Value(true),
          spec["tokenRequests"].is_null() ? "<unset>" : fmt::format("{}", fmt::join(audiences, ",")),
          spec["requiresRepublish"] == Value(true),
          or_else(fmt::format("{}", fmt::join(modes, ",")), "<none>"),
          row.created()};
}

Array csi_node(const Row& row) { return {row.name(), items(row.spec()["drivers"]).size(), row.created()}; }

Array service_cidr(const Row& row) {
  std::vector<std::string> all;
  for (const Value& one : items(row.spec()["cidrs"])) all.push_back(text(one));
  return {row.name(), fmt::format("{}", fmt::join(all, ",")), row.created()};
}

// ---- columns -------------------------------------------------------------------------------------------------------

struct Printer {
  std::string_view group;
  std::string_view resource;
  // "Name! | Desired:integer | Node+": a type that is not string after a colon, ! for the format name, + for -o wide.
  std::string_view columns;
  Array (*cells)(const Row&);
};

constexpr std::string_view kReplicas =
    "Name! | Desired:integer | Current:integer | Ready:integer | Age | Containers+ | Images+ | Selector+";
constexpr std::string_view kEvents =
    "Last Seen | Type | Reason | Object | Subobject+ | Source+ | Message | First Seen+ | Count+ | Name!+";
constexpr std::string_view kBindings = "Name! | Role | Age | Users+ | Groups+ | ServiceAccounts+";
constexpr std::string_view kRbac = "rbac.authorization.k8s.io";
constexpr std::string_view kAdmission = "admissionregistration.k8s.io";

constexpr std::array kPrinters = std::to_array<Printer>({
    {"", "pods", "Name! | Ready | Status | Restarts | Age | IP+ | Node+ | Nominated Node+ | Readiness Gates+", pod},
    {"", "podtemplates", "Name! | Containers | Images | Pod Labels", pod_template},
    {"", "replicationcontrollers", kReplicas, replication_controller},
    {"", "services", "Name! | Type | Cluster-IP | External-IP | Port(s) | Age | Selector+", service},
    {"", "endpoints", "Name! | Endpoints | Age", endpoints},
    {"", "configmaps", "Name! | Data | Age", config_map},
    {"", "secrets", "Name! | Type | Data | Age", secret},
    {"", "serviceaccounts", "Name! | Age", name_and_age},
    {"", "namespaces", "Name! | Status | Age", name_space},
    {"", "nodes",
     "Name! | Status | Roles | Age | Version | Internal-IP+ | External-IP+ | OS-Image+ | Kernel-Version+ | "
     "Container-Runtime+",
     node},
    {"", "events", kEvents, event},
    {"events.k8s.io", "events", kEvents, event},
    {"", "persistentvolumes",
     "Name! | Capacity | Access Modes | Reclaim Policy | Status | Claim | StorageClass | VolumeAttributesClass | "
     "Reason | Age | VolumeMode+",
     volume},
    {"", "persistentvolumeclaims",
     "Name! | Status | Volume | Capacity | Access Modes | StorageClass | VolumeAttributesClass | Age | VolumeMode+",
     claim},
    {"", "resourcequotas", "Name! | Request | Limit | Age", quota},
    {"apps", "deployments", "Name! | Ready | Up-to-date | Available | Age | Containers+ | Images+ | Selector+",
     deployment},
    {"apps", "replicasets", kReplicas, replica_set},
    {"apps", "statefulsets", "Name! | Ready | Age | Containers+ | Images+", stateful_set},
    {"apps", "daemonsets",
     "Name! | Desired:integer | Current:integer | Ready:integer | Up-to-date:integer | Available:integer | "
     "Node Selector | Age | Containers+ | Images+ | Selector+",
     daemon_set},
    {"apps", "controllerrevisions", "Name! | Controller | Revision | Age", controller_revision},
    {"batch", "jobs", "Name! | Status | Completions | Duration | Age | Containers+ | Images+ | Selector+", job},
    {"batch", "cronjobs",
     "Name! | Schedule | Timezone | Suspend:boolean | Active:integer | Last Schedule | Age | Containers+ | Images+ | "
     "Selector+",
     cron_job},
    {"discovery.k8s.io", "endpointslices", "Name! | AddressType | Ports | Endpoints | Age", endpoint_slice},
    {"networking.k8s.io", "ingresses", "Name! | Class | Hosts | Address | Ports | Age", ingress},
    {"networking.k8s.io", "ingressclasses", "Name! | Controller | Parameters | Age", ingress_class},
    {"networking.k8s.io", "networkpolicies", "Name! | Pod-Selector | Age", network_policy},
    {"networking.k8s.io", "servicecidrs", "Name! | CIDRs | Age", service_cidr},
    {kRbac, "rolebindings", kBindings, role_binding},
    {kRbac, "clusterrolebindings", kBindings, role_binding},
    {"policy", "poddisruptionbudgets", "Name! | Min Available | Max Unavailable | Allowed Disruptions:integer | Age",
     budget},
    {"autoscaling", "horizontalpodautoscalers", "Name! | Reference | Targets | MinPods | MaxPods | Replicas | Age",
     autoscaler},
    {"coordination.k8s.io", "leases", "Name! | Holder | Age", lease},
    {"storage.k8s.io", "storageclasses",
     "Name! | Provisioner | ReclaimPolicy | VolumeBindingMode | AllowVolumeExpansion | Age", storage_class_row},
    {"storage.k8s.io", "volumeattachments", "Name! | Attacher! | PV | Node | Attached:boolean | Age",
     volume_attachment},
    {"storage.k8s.io", "csinodes", "Name! | Drivers:integer | Age", csi_node},
    {"storage.k8s.io", "csidrivers",
     "Name! | AttachRequired:boolean | PodInfoOnMount:boolean | StorageCapacity:boolean | TokenRequests | "
     "RequiresRepublish:boolean | Modes | Age",
     csi_driver},
    {"scheduling.k8s.io", "priorityclasses", "Name! | Value:integer | Global-Default:boolean | Age | PreemptionPolicy",
     priority_class},
    {kAdmission, "mutatingwebhookconfigurations", "Name! | Webhooks:integer | Age", webhooks},
    {kAdmission, "validatingwebhookconfigurations", "Name! | Webhooks:integer | Age", webhooks},
    {kAdmission, "validatingadmissionpolicies", "Name! | Validations:integer | ParamKind | Age", admission_policy},
    {kAdmission, "mutatingadmissionpolicies", "Name! | Mutations:integer | ParamKind | Age", admission_policy},
    {kAdmission, "validatingadmissionpolicybindings", "Name! | PolicyName | ParamRef | Age", admission_binding},
    {kAdmission, "mutatingadmissionpolicybindings", "Name! | PolicyName | ParamRef | Age", admission_binding},
    {"apiextensions.k8s.io", "customresourcedefinitions",
     "Name! | Scope | Versions | Created At:date | Group+ | Kind+ | ShortNames+ | Established:boolean+", definition},
    {"apiregistration.k8s.io", "apiservices", "Name! | Service | Available | Age", api_service},
    {"", "", "Name! | Created At:date", name_and_date},  // any other; must be the last
});

std::size_t printer_of(std::string_view group, std::string_view resource) {
  const auto* at = std::ranges::find_if(
      kPrinters, [&](const Printer& one) { return one.resource == resource && one.group == group; });
  return at == kPrinters.end() ? kPrinters.size() - 1 : static_cast<std::size_t>(at - kPrinters.begin());
}

Column column(std::string_view written) {
  const auto ends = [&](char mark) {
    if (!written.ends_with(mark)) return false;
    written.remove_suffix(1);
    return true;
  };
  Column out;
  out.priority = ends('+') ? 1 : 0;
  out.format = ends('!') ? "name" : "";
  const std::size_t colon = written.find(':');
  out.name = written.substr(0, colon);
  out.type = colon == std::string_view::npos ? "string" : written.substr(colon + 1);
  return out;
}

std::vector<Column> read_columns(std::string_view written) {
  constexpr std::string_view kBetween = " | ";
  std::vector<Column> out;
  for (;;) {
    const std::size_t end = written.find(kBetween);
    out.push_back(column(written.substr(0, end)));
    if (end == std::string_view::npos) return out;
    written.remove_prefix(end + kBetween.size());
  }
}

}  // namespace

const std::vector<Column>& columns(std::string_view group, std::string_view resource) {
  static const std::vector<std::vector<Column>> all = [] {
    std::vector<std::vector<Column>> out;
    for (const Printer& one : kPrinters) out.push_back(read_columns(one.columns));
    return out;
  }();
  return all[printer_of(group, resource)];
}

Array cells(std::string_view group, std::string_view resource, const Value& object, Time now) {
  return kPrinters[printer_of(group, resource)].cells({object, now});
}

std::string human_duration(std::chrono::seconds duration) {
  const std::int64_t seconds = duration.count();
  const std::int64_t minutes = seconds / 60;
  const std::int64_t hours = minutes / 60;
  const std::int64_t days = hours / 24;
  // A second unit while the first is small.
  const auto both = [](std::int64_t big, char unit, std::int64_t rest, char small) {
    return rest == 0 ? fmt::format("{}{}", big, unit) : fmt::format("{}{}{}{}", big, unit, rest, small);
  };
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (minutes < 10) return both(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return fmt::format("{}m", minutes);
  if (hours < 8) return both(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return fmt::format("{}h", hours);
  if (days < 8) return both(days, 'd', hours % 24, 'h');
  if (days < 2 * 365) return fmt::format("{}d", days);
  if (days < 8 * 365) return both(days / 365, 'y', days % 365, 'd');
  return fmt::format("{}y", days / 365);
}

std::string age(const Value& time, Time now) {
  const auto since = time_of(time);
  return since ? human_duration(std::chrono::floor<std::chrono::seconds>(now) - *since) : "<unknown>";
}

}  // namespace kopper::plane::table
