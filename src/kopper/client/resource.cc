#include "kopper/client/resource.h"

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/http/url.h"

namespace kopper::client {

std::string Resource::api_version() const { return group.empty() ? version : group + "/" + version; }

std::string Resource::name() const { return group.empty() ? plural : plural + "." + group; }

std::string Resource::prefix() const {
  return group.empty() ? "/api/" + http::escape(version)
                       : fmt::format("/apis/{}/{}", http::escape(group), http::escape(version));
}

std::string Resource::collection_path(std::string_view namespace_) const {
  if (!namespaced || namespace_.empty()) return fmt::format("{}/{}", prefix(), http::escape(plural));
  return fmt::format("{}/namespaces/{}/{}", prefix(), http::escape(namespace_), http::escape(plural));
}

std::string Resource::object_path(const Key& key, std::string_view subresource) const {
  const auto refuse = [&](std::string_view why) {
    throw Error(Code::Invalid, fmt::format("{} \"{}\": {}", name(), key.str(), why));
  };
  if (key.name.empty()) refuse("the name is empty");
  // Not escaped by percent-encoding, and resolved away by servers and proxies: they would name another object.
  if (key.name == "." || key.name == "..") refuse("not a name");
  if (namespaced && key.namespace_.empty()) refuse("the namespace is empty");
  if (!namespaced && !key.namespace_.empty()) refuse("the kind is cluster-scoped, but a namespace is given");
  auto path = fmt::format("{}/{}", collection_path(key.namespace_), http::escape(key.name));
  if (!subresource.empty()) path += fmt::format("/{}", subresource);
  return path;
}

Resource resource_of(const Kind& kind) {
  return {.group = std::string(kind.group),
          .version = std::string(kind.version),
          .plural = kind.plural_name(),
          .kind = std::string(kind.kind),
          .namespaced = kind.scope == Scope::Namespaced};
}

}  // namespace kopper::client
