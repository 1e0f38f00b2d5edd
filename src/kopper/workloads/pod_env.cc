#include "kopper/workloads/pod_env.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/workloads/image_map.h"

namespace kopper::workloads {

using api::corev1::ConfigMap;
using api::corev1::Container;
using api::corev1::EnvVar;
using api::corev1::Pod;
using api::corev1::Secret;
using api::corev1::Service;

namespace {

void set(Environment& env, const std::string& name, std::string value) {
  const auto found = std::ranges::find(env, name, &Environment::value_type::first);
  if (found != env.end()) {
    found->second = std::move(value);
  } else {
    env.emplace_back(name, std::move(value));
  }
}

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return c == '-' ? '_' : std::toupper(c); });
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

void add_service(Environment& env, const Service& service) {
  const auto& spec = service.spec;
  if (spec.clusterIP.empty() || spec.clusterIP == "None" || spec.ports.empty()) return;
  const auto name = upper(service.metadata.name);
  set(env, name + "_SERVICE_HOST", spec.clusterIP);
  set(env, name + "_SERVICE_PORT", fmt::format("{}", spec.ports[0].port));
  for (const auto& port : spec.ports) {
    if (!port.name.empty()) set(env, name + "_SERVICE_PORT_" + upper(port.name), fmt::format("{}", port.port));
  }
  // What Docker set for linked containers.
  const bool v6 = spec.clusterIP.find(':') != std::string::npos;
  for (std::size_t i = 0; i < spec.ports.size(); ++i) {
    const auto& port = spec.ports[i];
    const auto protocol = port.protocol.empty() ? std::string("TCP") : port.protocol;
    const auto url =
        fmt::format(fmt::runtime(v6 ? "{}://[{}]:{}" : "{}://{}:{}"), lower(protocol), spec.clusterIP, port.port);
    if (i == 0) set(env, name + "_PORT", url);
    const auto prefix = fmt::format("{}_PORT_{}_{}", name, port.port, upper(protocol));
    set(env, prefix, url);
    set(env, prefix + "_PROTO", lower(protocol));
    set(env, prefix + "_PORT", fmt::format("{}", port.port));
    set(env, prefix + "_ADDR", spec.clusterIP);
  }
}

// What kubelet takes from envFrom; other keys are left out.
bool is_variable_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= ' ' && c < 0x7f && c != '='; });
}

std::optional<std::string> text_of(const ConfigMap& map, const std::string& key) {
  const auto found = map.data.find(key);
  return found != map.data.end() ? std::optional(found->second) : std::nullopt;
}
std::optional<std::string> text_of(const Secret& secret, const std::string& key) {
  const auto found = secret.data.find(key);
  return found != secret.data.end() ? std::optional(found->second.data) : std::nullopt;
}

template <class T>
std::shared_ptr<const T> lookup(const std::function<std::shared_ptr<const T>(std::string_view)>& find,
                                const std::string& name, bool optional) {
  auto found = find ? find(name) : nullptr;
  if (!found && !optional) throw Error(Code::NotFound, fmt::format("{} \"{}\" not found", lower(T::kind.kind), name));
  return found;
}

class Builder {
 public:
  Builder(const Pod& pod, const Container& container, const PodFacts& facts, const PodSources& sources,
          Environment base)
      : pod_(pod), container_(container), facts_(facts), sources_(sources), env_(std::move(base)) {}

  Environment build() && {
    for (const auto& from : container_.envFrom) {
      if (from.configMapRef) {
        const auto& ref = *from.configMapRef;
        const auto map = find_config_map(sources_, ref.name, ref.optional.value_or(false));
        if (!map) continue;
        for (const auto& [key, value] : map->data) add(from.prefix + key, value);
      } else if (from.secretRef) {
        const auto& ref = *from.secretRef;
        const auto secret = find_secret(sources_, ref.name, ref.optional.value_or(false));
        if (!secret) continue;
        for (const auto& [key, value] : secret->data) add(from.prefix + key, value.data);
      }
    }
    for (const auto& variable : container_.env) {
      if (auto value = value_of(variable)) set(env_, variable.name, std::move(*value));
    }
    return std::move(env_);
  }

 private:
  void add(const std::string& name, std::string value) {
    if (is_variable_name(name)) set(env_, name, std::move(value));
  }

  // Nothing: an optional source that is not there.
  std::optional<std::string> value_of(const EnvVar& variable) const {
    if (!variable.value.empty() || !variable.valueFrom) {
      return expand(variable.value, [this](std::string_view name) -> std::optional<std::string> {
        const auto* found = find_variable(env_, name);
        return found != nullptr ? std::optional(*found) : std::nullopt;
      });
    }
    const auto& from = *variable.valueFrom;
    if (from.fieldRef) return field_value(pod_, facts_, *from.fieldRef);
    if (from.resourceFieldRef) return resource_value(pod_, &container_, facts_, *from.resourceFieldRef);
    if (from.configMapKeyRef) return keyed(sources_.config_map, *from.configMapKeyRef);
    if (from.secretKeyRef) return keyed(sources_.secret, *from.secretKeyRef);
    if (from.fileKeyRef) {
      throw Error(Code::Unsupported, fmt::format("variable {}: fileKeyRef is not supported here", variable.name));
    }
    return std::string();
  }

  template <class T, class Reference>
  std::optional<std::string> keyed(const std::function<std::shared_ptr<const T>(std::string_view)>& find,
                                   const Reference& ref) const {
    const bool optional = ref.optional.value_or(false);
    const auto object = lookup(find, ref.name, optional);
    if (!object) return std::nullopt;
    auto value = text_of(*object, ref.key);
    if (!value && !optional) {
      throw Error(Code::NotFound, fmt::format("couldn't find key {} in {} {}/{}", ref.key, T::kind.kind,
                                              pod_.metadata.namespace_, ref.name));
    }
    return value;
  }

  const Pod& pod_;
  const Container& container_;
  const PodFacts& facts_;
  const PodSources& sources_;
  Environment env_;
};

}  // namespace

std::shared_ptr<const ConfigMap> find_config_map(const PodSources& sources, const std::string& name, bool optional) {
  return lookup(sources.config_map, name, optional);
}

std::shared_ptr<const Secret> find_secret(const PodSources& sources, const std::string& name, bool optional) {
  return lookup(sources.secret, name, optional);
}

const std::string* find_variable(const Environment& env, std::string_view name) {
  const auto found = std::ranges::find(env, name, &Environment::value_type::first);
  return found != env.end() ? &found->second : nullptr;
}

Environment service_variables(const Pod& pod, const std::vector<std::shared_ptr<const Service>>& services) {
  Environment env;
  const bool links = pod.spec.enableServiceLinks.value_or(true);
  // The API server's first: a service of that name in the pod's own namespace replaces it.
  for (const auto& service : services) {
    const auto& meta = service->metadata;
    if (meta.namespace_ == "default" && meta.name == "kubernetes") add_service(env, *service);
  }
  for (const auto& service : services) {
    if (links && service->metadata.namespace_ == pod.metadata.namespace_) add_service(env, *service);
  }
  return env;
}

Environment container_env(const Pod& pod, const Container& container, const PodFacts& facts, const PodSources& sources,
                          const Environment& services) {
  auto env = Builder(pod, container, facts, sources, services).build();
  // Of the image and the runtime, which $(NAME) does not see.
  const Environment defaults{{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
                             {"HOSTNAME", pod_hostname(pod)},
                             {"HOME", "/root"}};
  for (const auto& [name, value] : defaults) {
    if (find_variable(env, name) == nullptr) env.emplace_back(name, value);
  }
  return env;
}

}  // namespace kopper::workloads
