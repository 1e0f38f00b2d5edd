#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kopper/json/value.h"
#include "kopper/plane/schema.h"
#include "kopper/plane/status.h"

namespace kopper::plane::builtin {

struct Findings {
  // Why the object cannot be decoded: "json: cannot unmarshal string into Go struct field …". "" when it can. The
  // object is then half changed.
  std::string error;
  // What strict field validation refuses, one each: `unknown field "spec.foo"`.
  std::vector<std::string> strict;
};

// Makes of a client's object what the server's decoding and encoding would: members in the order of the schema, unknown
// ones removed, blanks dropped or added, the keys of maps sorted, quantities and times in their canonical form, base64
// checked. Idempotent; call it again after members were added (defaults, patches), to put them in their place.
Findings conform(json::Value& object, const Schema& schema);

// 400: `Deployment in version "v1" cannot be handled as a Deployment: ` + why.
Refusal undecodable(std::string_view version, std::string_view kind, std::string_view why);
// 400 for fieldValidation=Strict: `… strict decoding error: unknown field "spec.foo", unknown field "spec.bar"`.
Refusal strict_error(std::string_view version, std::string_view kind, const std::vector<std::string>& strict);

}  // namespace kopper::plane::builtin
