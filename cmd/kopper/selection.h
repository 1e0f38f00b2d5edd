#pragma once

#include <string>
#include <vector>

#include "kopper/client/discovery.h"
#include "kopper/client/options.h"

#include "args.h"
#include "manifest.h"
#include "session.h"

namespace kopper::cmd {

// What the words after get, watch and delete mean: "pods web", "pods/web", "po -l app=web -A".
struct Selection {
  client::ApiResource resource;
  std::string namespace_;  // "" = all, or the resource has none
  std::vector<std::string> names;
  client::ListOptions list;  // the same, for a list

  Key key(const std::string& name) const { return {namespace_, name}; }
};

Task<Selection> select(Session* session, const Args* args);

// Where the object of a manifest lives. Throws Error{NotFound} when the cluster does not know its kind.
Task<client::ApiResource> find_resource(Session* session, const Manifest* manifest);
Key key_of(const Manifest& manifest, const client::ApiResource& resource, const Session& session);

}  // namespace kopper::cmd
