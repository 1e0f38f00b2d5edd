#include "kopper/workloads/downward_api.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "kopper/base/error.h"

namespace kopper::workloads {

using api::Quantity;
using api::corev1::Container;
using api::corev1::Pod;

namespace {

// A text as Go's %q writes it.
std::string quoted(std::string_view text) {
  constexpr std::string_view kEscaped = "\a\b\f\n\r\t\v\\\"";
  constexpr std::string_view kLetters = "abfnrtv\\\"";
  std::string out = "\"";
  for (const char c : text) {
    if (const auto at = kEscaped.find(c); at != kEscaped.npos) {
      out += '\\';
      out += kLetters[at];
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string lines(const std::map<std::string, std::string>& entries) {
  std::string out;
  for (const auto& [key, value] : entries) {
    if (!out.empty()) out += '\n';
    out += key + '=' + quoted(value);
  }
  return out;
}

// The key of "metadata.labels['key']"; nothing when `path` is not about that map.
std::optional<std::string> subscript(std::string_view path, std::string_view map) {
  if (!path.starts_with(map)) return std::nullopt;
  path.remove_prefix(map.size());
  if (path.size() < 4 || !path.starts_with("['") || !path.ends_with("']")) return std::nullopt;
  return std::string(path.substr(2, path.size() - 4));
}

std::string at(const std::map<std::string, std::string>& entries, const std::string& key) {
  const auto found = entries.find(key);
  return found != entries.end() ? found->second : std::string();
}

const Container& named(const Pod& pod, const std::string& name) {
  for (const auto* list : {&pod.spec.containers, &pod.spec.initContainers}) {
    if (const auto found = std::ranges::find(*list, name, &Container::name); found != list->end()) return *found;
  }
  throw Error(Code::NotFound, fmt::format("container {} not found", name));
}

}  // namespace

std::string pod_hostname(const Pod& pod) {
  constexpr std::size_t kLongest = 63;
  auto name = pod.spec.hostname.empty() ? pod.metadata.name : pod.spec.hostname;
  if (name.size() > kLongest) name.resize(kLongest);
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) name.pop_back();
  return name;
}

std::string field_value(const Pod& pod, const PodFacts& facts, const api::corev1::ObjectFieldSelector& field) {
  const std::string_view path = field.fieldPath;
  const auto& meta = pod.metadata;
  if (path == "metadata.name") return meta.name;
  if (path == "metadata.namespace") return meta.namespace_;
  if (path == "metadata.uid") return meta.uid;
  if (path == "metadata.labels") return lines(meta.labels);
  if (path == "metadata.annotations") return lines(meta.annotations);
  if (const auto key = subscript(path, "metadata.labels")) return at(meta.labels, *key);
  if (const auto key = subscript(path, "metadata.annotations")) return at(meta.annotations, *key);
  if (path == "spec.nodeName") return pod.spec.nodeName;
  if (path == "spec.serviceAccountName") return pod.spec.serviceAccountName;
  if (path == "status.podIP" || path == "status.podIPs") return facts.ip;
  if (path == "status.hostIP" || path == "status.hostIPs") return facts.host_ip;
  throw Error(Code::Invalid, fmt::format("unsupported fieldPath: {}", path));
}

std::string resource_value(const Pod& pod, const Container* container, const PodFacts& facts,
                           const api::corev1::ResourceFieldSelector& selector) {
  const auto& of =
      selector.containerName.empty() && container != nullptr ? *container : named(pod, selector.containerName);
  const std::string_view path = selector.resource;
  const bool limit = path.starts_with("limits.");
  const auto dot = path.find('.');
  if (dot == path.npos || (!limit && !path.starts_with("requests."))) {
    throw Error(Code::Invalid, fmt::format("unsupported container resource : {}", path));
  }
  const std::string name(path.substr(dot + 1));
  const auto amount_in = [&name](const std::map<std::string, Quantity>& amounts) {
    const auto found = amounts.find(name);
    return found != amounts.end() ? found->second : Quantity();
  };
  auto amount = amount_in(limit ? of.resources.limits : of.resources.requests);
  if (limit && amount.is_zero()) amount = amount_in(facts.allocatable);
  const auto divisor = selector.divisor && !selector.divisor->is_zero() ? *selector.divisor : Quantity(1);
  const bool cpu = name == "cpu";
  const auto whole = [cpu](const Quantity& it) { return static_cast<double>(cpu ? it.milli_value() : it.value()); };
  return fmt::format("{}", static_cast<std::int64_t>(std::ceil(whole(amount) / whole(divisor))));
}

}  // namespace kopper::workloads
