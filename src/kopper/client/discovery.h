#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/base/error.h"
#include "kopper/client/client.h"
#include "kopper/client/resource.h"
#include "kopper/rt/task.h"

namespace kopper::client {

// A resource as the server describes it.
struct ApiResource {
  Resource resource;
  std::string singular;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  std::vector<std::string> verbs;
  std::vector<std::string> subresources;  // "status", "scale"
  bool preferred = true;                  // this version is the one the server prefers of its group

  friend bool operator==(const ApiResource&, const ApiResource&) = default;
};

// An API whose server does not answer: one line for people, the others go on.
struct BrokenApi {
  std::string api_version;
  std::string problem;

  friend bool operator==(const BrokenApi&, const BrokenApi&) = default;
};

// All that a server serves: core first, then the groups in the server's order, preferred versions first.
struct Catalog {
  std::vector<ApiResource> resources;
  std::vector<BrokenApi> broken;

  // By any name people use, in any case: plural, singular, short name or kind; "deployments.apps" and
  // "deployments.v1.apps" when it must be exact. The preferred version unless one is named.
  const ApiResource* find(std::string_view name) const;
  // The other way: what an object says of itself. An empty version is the preferred one.
  const ApiResource* find(std::string_view group, std::string_view version, std::string_view kind) const;
};

// Pure decoders of the answers. `core` says that the list is that of /api.
std::expected<Catalog, DecodeError> parse_aggregated(std::string_view json);
std::expected<Catalog, DecodeError> parse_legacy_resources(std::string_view json);

// Asks for everything in two calls (aggregated discovery, Kubernetes 1.26 and later), or in two and one a version.
// An API that does not answer is in `broken`.
Task<Catalog> discover(Client client);

struct ServerVersion {
  std::string major;
  std::string minor;
  std::string git_version;  // "v1.34.1"
  std::string platform;
};
Task<ServerVersion> server_version(Client client);

// Finds resources by name, and asks again when a name is not known: a CRD may have been added. Loop-confined.
class RestMapper {
 public:
  explicit RestMapper(Client client) : client_(std::move(client)) {}

  // Throws Error{NotFound} with one line; it tells which APIs did not answer, since the name may be theirs.
  Task<ApiResource> find(std::string name);
  Task<ApiResource> find(std::string group, std::string version, std::string kind);

  Task<> refresh();
  // As of the last refresh.
  const Catalog& catalog() const { return catalog_; }

 private:
  Client client_;
  Catalog catalog_;
};

}  // namespace kopper::client
