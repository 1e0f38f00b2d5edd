#pragma once

#include <string>
#include <vector>

#include "kopper/json/value.h"
#include "kopper/meta/type.h"
#include "kopper/plane/call.h"

namespace kopper::plane {

// A patch as it was sent: JSON, merge, strategic or apply.
struct PatchDocument {
  std::string type;  // the media type
  json::Value content;
  const meta::Type* strategic = nullptr;  // whose merge keys a strategic patch follows
  std::vector<std::string> complaints;    // what strict decoding refuses: keys that came twice, unknown members

  bool is_strategic() const { return type == "application/strategic-merge-patch+json"; }
  bool is_apply() const { return type.starts_with("application/apply-patch+"); }
  // What `object` becomes. An apply merges here like a merge patch: owners are the business of who knows them.
  // Throws Refusal: 400 for a patch that makes no sense, 422 for one that does not fit the object.
  json::Value applied_to(const json::Value& object) const;
};

// Throws Refusal: 415 for media types that are no patch (or strategic when `strategic` is null), 400 for what cannot be
// decoded, 422 for options that do not go together.
PatchDocument read_patch(const Call& call, const meta::Type* strategic);

}  // namespace kopper::plane
