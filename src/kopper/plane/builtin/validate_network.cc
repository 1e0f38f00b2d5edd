#include "kopper/plane/builtin/validate_network.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "kopper/plane/ip.h"

namespace kopper::plane::builtin {
namespace {

bool is_headless(const Value& spec) {
  return spec["clusterIPs"][0] == Value("None") || spec["clusterIP"] == Value("None");
}

void check_service_ports(Check& check, const Path& path, const Value& spec) {
  const Array& ports = items(spec["ports"]);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Path one = path[i];
    const std::string_view name = ports[i].text("name");
    if (name.empty()) {
      if (ports.size() > 1) check.required(one / "name");
    } else {
      check.names(one / "name", Value(name), api::check_dns_label(name));
      if (!names.insert(name).second) check.duplicate(one / "name", Value(name));
    }
    check.port_number(one / "port", ports[i]["port"]);
    check.one_of(one / "protocol", ports[i]["protocol"], {"SCTP", "TCP", "UDP"});
    check.port_number_or_name(one / "targetPort", ports[i]["targetPort"]);
  }
}

// No port twice, and node ports only where there are any.
void check_unique_ports(Check& check, const Path& path, const Value& spec) {
  const Array& ports = items(spec["ports"]);
  std::set<std::pair<std::string_view, std::int64_t>> node_ports;
  std::set<std::pair<std::string_view, std::int64_t>> own_ports;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Path one = path[i];
    const std::int64_t node_port = number(ports[i]["nodePort"]);
    const std::string_view protocol = ports[i].text("protocol");
    if (node_port != 0 && spec.text("type") == "ClusterIP")
      check.forbidden(one / "nodePort", "may not be used when `type` is 'ClusterIP'");
    if (node_port != 0 && !node_ports.emplace(protocol, node_port).second) check.duplicate(one / "nodePort", node_port);
    if (!own_ports.emplace(protocol, number(ports[i]["port"])).second)
      check.duplicate(one, Object{{"Name", ""},
                                  {"Protocol", protocol},
                                  {"AppProtocol", nullptr},
                                  {"Port", ports[i]["port"]},
                                  {"TargetPort", 0},
                                  {"NodePort", 0}});
  }
}

void check_cluster_ips(Check& check, const Path& path, const Value& spec) {
  const Path ips_path = path / "clusterIPs";
  const Array& ips = items(spec["clusterIPs"]);
  const std::string_view ip = spec.text("clusterIP");
  if (!ip.empty() && !ips.empty() && ips[0] != Value(ip))
    check.invalid(ips_path, spec["clusterIPs"], "first value must match `clusterIP`");
  if (ip.empty() && !ips.empty())
    check.invalid(ips_path, spec["clusterIPs"], "must be empty when `clusterIP` is not specified");
  const Path families = path / "ipFamilies";
  const Array& all = items(spec["ipFamilies"]);
  for (std::size_t i = 0; i < all.size(); ++i) check.one_of(families[i], all[i], {"IPv4", "IPv6"});
  if (!spec["ipFamilyPolicy"].is_null())
    check.one_of(path / "ipFamilyPolicy", spec["ipFamilyPolicy"],
                 {"PreferDualStack", "RequireDualStack", "SingleStack"});
  for (std::size_t i = 0; i < ips.size(); ++i) {
    const std::string* text = ips[i].as_string();
    if (text == nullptr || (i == 0 && *text == "None")) continue;
    if (!is_ip(*text))
      check.invalid(ips_path[i], ips[i], "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
  }
}

void check_service_update(Check& check, const Path& path, const Value& spec, const Value& old) {
  if (spec.text("type") == "ExternalName" || old.text("type") == "ExternalName") return;
  const Path ips = path / "clusterIPs";
  const Value& before = old["clusterIPs"][0];
  if (!before.is_null() && spec["clusterIPs"][0] != before)
    check.invalid(ips[0], spec["clusterIPs"], "may not change once set");
}

void check_backend(Check& check, const Path& path, const Value& backend) {
  const Value& service = backend["service"];
  if (!backend["resource"].is_null() && !service.is_null())
    return check.invalid(path, "", "cannot set both resource and service backends");
  if (!backend["resource"].is_null()) return;
  if (service.is_null()) return check.invalid(path, "", "resource or service backend is required");
  const Path at = path / "service";
  if (const std::string_view name = service.text("name"); name.empty()) {
    check.required(at / "name");
  } else {
    check.names(at / "name", Value(name), api::check_dns_label(name));
  }
  const Path port = at / "port";
  const bool named = !service["port"].text("name").empty();
  const bool numbered = number(service["port"]["number"]) != 0;
  if (named && numbered) {
    check.invalid(path, "", "cannot set both port name & port number");
  } else if (named) {
    check.port_name(port / "name", service["port"].text("name"));
  } else if (numbered) {
    check.port_number(port / "number", service["port"]["number"]);
  } else {
    check.required(path, "port name or number is required");
  }
}

void check_ingress_path(Check& check, const Path& path, const Value& value) {
  const Value& type = value["pathType"];
  if (type.is_null()) return check.required(path / "pathType", "pathType must be specified");
  const std::string_view where = value.text("path");
  const bool free = type == Value("ImplementationSpecific");
  if (!check.one_of(path / "pathType", type, {"Exact", "ImplementationSpecific", "Prefix"})) {
    // Nothing to say of a path whose kind is not known.
  } else if (!where.starts_with('/') && !(free && where.empty())) {
    check.invalid(path / "path", Value(where), "must be an absolute path");
  } else if (!free) {
    for (const char* part : {"//", "/./", "/../", "%2f", "%2F"})
      if (where.find(part) != std::string_view::npos)
        check.invalid(path / "path", Value(where), fmt::format("must not contain '{}'", part));
    for (const char* end : {"/..", "/."})
      if (where.ends_with(end)) check.invalid(path / "path", Value(where), fmt::format("cannot end with '{}'", end));
  }
  check_backend(check, path / "backend", value["backend"]);
}

void check_host(Check& check, const Path& path, std::string_view host) {
  if (host.empty()) return;
  if (is_ip(host)) check.invalid(path, Value(host), "must be a DNS name, not an IP address");
  if (!host.contains('*')) return check.names(path, Value(host), api::check_dns_subdomain(host));
  if (!host.starts_with("*.") || !api::check_dns_subdomain(host.substr(2)).empty())
    check.invalid(path, Value(host),
                  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must "
                  "consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character "
                  "(e.g. '*.example.com', regex used for validation is "
                  "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
}

void check_policy_ports(Check& check, const Path& path, const Value& ports) {
  const Array& all = items(ports);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = path[i];
    const Value& port = all[i]["port"];
    const Value& end = all[i]["endPort"];
    check.one_of(one / "protocol", all[i]["protocol"], {"TCP", "UDP", "SCTP"});
    if (!port.is_null()) check.port_number_or_name(one / "port", port);
    if (end.is_null()) continue;
    if (port.is_null()) {
      check.invalid(one / "endPort", end, "may not be specified when `port` is not specified");
    } else if (port.is_string()) {
      check.invalid(one / "endPort", end, "may not be specified when `port` is non-numeric");
    } else if (number(end) < number(port)) {
      check.invalid(one / "endPort", end, "must be greater than or equal to `port`");
    }
  }
}

void check_exceptions(Check& check, const Path& path, const Value& block) {
  const auto whole = Cidr::parse(block.text("cidr"));
  const Array& all = items(block["except"]);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string* text = all[i].as_string();
    const auto part = text == nullptr ? std::nullopt : Cidr::parse(*text);
    if (!part) {
      check.invalid(path[i], all[i], "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    } else if (part->ip.v6 != whole->ip.v6 || !whole->contains(part->ip) || part->length <= whole->length) {
      check.invalid(path[i], all[i], "must be a strict subset of `cidr`");
    }
  }
}

void check_peers(Check& check, const Path& path, const Value& peers) {
  const Array& all = items(peers);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = path[i];
    const Value& block = all[i]["ipBlock"];
    check.label_selector(one / "podSelector", all[i]["podSelector"]);
    check.label_selector(one / "namespaceSelector", all[i]["namespaceSelector"]);
    const bool selects = !all[i]["podSelector"].is_null() || !all[i]["namespaceSelector"].is_null();
    if (!block.is_null()) {
      const Path at = one / "ipBlock";
      if (block.text("cidr").empty()) {
        check.required(at / "cidr");
      } else if (!is_cidr(block.text("cidr"))) {
        check.invalid(at / "cidr", block["cidr"], "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
      } else {
        check_exceptions(check, at / "except", block);
      }
    }
    if (!selects && block.is_null()) check.required(one, "must specify a peer");
    if (selects && !block.is_null()) check.forbidden(one, "may not specify both ipBlock and another peer");
  }
}

}  // namespace

void check_ingress_class(Check& check, const Value& object, const Value* old) {
  const Path path("spec");
  const Value& controller = object["spec"]["controller"];
  if (old != nullptr) check.immutable(path / "controller", controller, (*old)["spec"]["controller"]);
}

void check_service(Check& check, const Value& object, const Value* old) {
  const Path path("spec");
  const Value& spec = object["spec"];
  const std::string_view type = spec.text("type");
  const Path ips = path / "clusterIPs";
  if (items(spec["ports"]).empty() && !is_headless(spec) && type != "ExternalName") check.required(path / "ports");
  if ((type == "LoadBalancer" || type == "NodePort") && is_headless(spec))
    check.invalid(ips[0], "None", fmt::format("may not be set to 'None' for {} services", type));
  if (type == "ExternalName") {
    if (!items(spec["clusterIPs"]).empty() || !spec.text("clusterIP").empty())
      check.forbidden(ips, "may not be set for ExternalName services");
    std::string_view name = spec.text("externalName");
    if (name.ends_with('.')) name.remove_suffix(1);
    if (name.empty()) {
      check.required(path / "externalName");
    } else {
      check.names(path / "externalName", Value(name), api::check_dns_subdomain(name));
    }
  }
  const Path ports = path / "ports";
  check_service_ports(check, ports, spec);
  check.labels(path / "selector", spec["selector"]);
  check.one_of(path / "sessionAffinity", spec["sessionAffinity"], {"ClientIP", "None"});
  if (spec.text("sessionAffinity") == "ClientIP") {
    const Path config = path / "sessionAffinityConfig";
    const Path client = config / "clientIP";
    if (const std::int64_t seconds = number(spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]);
        seconds < 1 || seconds > 86400)
      check.invalid(client / "timeoutSeconds", seconds, "must be greater than 0 and less than 86400");
  }
  if (type != "ExternalName") check_cluster_ips(check, path, spec);
  const Path external = path / "externalIPs";
  const Array& addresses = items(spec["externalIPs"]);
  for (std::size_t i = 0; i < addresses.size(); ++i)
    if (const std::string* ip = addresses[i].as_string(); ip != nullptr && !is_ip(*ip))
      check.invalid(external[i], addresses[i], "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
  check.one_of(path / "type", spec["type"], {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"});
  check_unique_ports(check, ports, spec);
  if (!spec["externalTrafficPolicy"].is_null())
    check.one_of(path / "externalTrafficPolicy", spec["externalTrafficPolicy"], {"Cluster", "Local"});
  if (!spec["internalTrafficPolicy"].is_null())
    check.one_of(path / "internalTrafficPolicy", spec["internalTrafficPolicy"], {"Cluster", "Local"});
  if (old != nullptr) check_service_update(check, path, spec, (*old)["spec"]);
}

void check_endpoints(Check& check, const Value& object, const Value*) {
  const Path path("subsets");
  const Array& all = items(object["subsets"]);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = path[i];
    if (items(all[i]["addresses"]).empty() && items(all[i]["notReadyAddresses"]).empty())
      check.required(one, "must specify `addresses` or `notReadyAddresses`");
    for (const char* list : {"addresses", "notReadyAddresses"}) {
      const Path addresses = one / list;
      const Array& every = items(all[i][list]);
      for (std::size_t a = 0; a < every.size(); ++a) {
        const Path address = addresses[a];
        if (is_ip(every[a].text("ip"))) continue;
        check.invalid(address / "ip", every[a]["ip"], "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
        check.invalid(address / "ip", every[a]["ip"], "must be a valid IP address");
      }
    }
    const Path ports = one / "ports";
    const Array& every = items(all[i]["ports"]);
    for (std::size_t p = 0; p < every.size(); ++p) {
      const Path port = ports[p];
      const std::string_view name = every[p].text("name");
      if (name.empty()) {
        if (every.size() > 1) check.required(port / "name");
      } else {
        check.names(port / "name", Value(name), api::check_dns_label(name));
      }
      check.port_number(port / "port", every[p]["port"]);
      check.one_of(port / "protocol", every[p]["protocol"], {"SCTP", "TCP", "UDP"});
    }
  }
}

void check_endpoint_slice(Check& check, const Value& object, const Value* old) {
  const Value& type = object["addressType"];
  if (object.text("addressType").empty()) {
    check.required(Path("addressType"));
  } else {
    check.one_of(Path("addressType"), type, {"FQDN", "IPv4", "IPv6"});
  }
  const Path path("endpoints");
  const Array& all = items(object["endpoints"]);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = path[i];
    const Path addresses = one / "addresses";
    const Array& every = items(all[i]["addresses"]);
    if (every.empty()) check.required(addresses);
    for (std::size_t a = 0; a < every.size(); ++a)
      if (const std::string* ip = every[a].as_string();
          ip != nullptr && (type == Value("IPv4") || type == Value("IPv6")) && !is_ip(*ip))
        check.invalid(addresses[a], every[a], "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
  }
  if (old != nullptr && type != (*old)["addressType"])
    check.invalid(Path("addressType"), Value(), "field is immutable");
}

void check_ingress(Check& check, const Value& object, const Value*) {
  const Path path("spec");
  const Value& spec = object["spec"];
  const Array& rules = items(spec["rules"]);
  if (rules.empty() && spec["defaultBackend"].is_null())
    check.invalid(path, Value(), "either `defaultBackend` or `rules` must be specified");
  if (!spec["defaultBackend"].is_null()) check_backend(check, path / "defaultBackend", spec["defaultBackend"]);
  const Path rules_path = path / "rules";
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Path one = rules_path[i];
    check_host(check, one / "host", rules[i].text("host"));
    if (rules[i]["http"].is_null()) continue;
    const Path http = one / "http";
    const Path paths = http / "paths";
    const Array& all = items(rules[i]["http"]["paths"]);
    if (all.empty()) check.required(paths);
    for (std::size_t p = 0; p < all.size(); ++p) check_ingress_path(check, paths[p], all[p]);
  }
  const Path tls = path / "tls";
  const Array& certificates = items(spec["tls"]);
  for (std::size_t i = 0; i < certificates.size(); ++i) {
    const Path one = tls[i];
    const Path hosts = one / "hosts";
    const Array& all = items(certificates[i]["hosts"]);
    for (std::size_t h = 0; h < all.size(); ++h)
      if (const std::string* host = all[h].as_string())
        check.names(hosts[h], all[h],
                    api::check_dns_subdomain(host->starts_with("*.") ? std::string_view(*host).substr(2) : *host));
  }
  if (const std::string_view name = spec.text("ingressClassName"); !name.empty())
    check.names(path / "ingressClassName", Value(name), api::check_dns_subdomain(name));
}

void check_network_policy(Check& check, const Value& object, const Value*) {
  const Path path("spec");
  const Value& spec = object["spec"];
  check.label_selector(path / "podSelector", spec["podSelector"]);
  for (const auto& [list, peers] : {std::pair("ingress", "from"), std::pair("egress", "to")}) {
    const Path rules = path / list;
    const Array& all = items(spec[list]);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Path one = rules[i];
      check_policy_ports(check, one / "ports", all[i]["ports"]);
      check_peers(check, one / peers, all[i][peers]);
    }
  }
  const Path types = path / "policyTypes";
  const Array& all = items(spec["policyTypes"]);
  if (all.size() > 2) return check.invalid(types, spec["policyTypes"], "may not specify more than two policyTypes");
  for (std::size_t i = 0; i < all.size(); ++i) check.one_of(types[i], all[i], {"Ingress", "Egress"});
}

}  // namespace kopper::plane::builtin
