#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kopper/json/value.h"

#include "conformance/cases.h"
#include "conformance/runner.h"

namespace kopper::conformance {

// The answers of one scenario without what two servers, or two runs, cannot have in common:
//  - the namespace is "$ns", a generated name its prefix and "*****", a uid "uid-1", "uid-2", … as they first appear
//  - the resourceVersions of objects are "rv1" < "rv2" < …, in their order: what stayed, what moved and what came first
//    is still compared. Those of lists, tables and bookmarks, which move with every write of anybody, are the newest
//    object's that they can have seen: "rv3+"
//  - times are "<time>" or "<microtime>", addresses and ports that the server chose "<ip>" and "<port>", tokens
//    "<token>", ages in tables "<age>"
//  - managedFields, which are sorted by second, are sorted by who and how
//  - discovery is cut to the groups that Kopper has types of, and to those of the scenario
// What a request of the scenario said itself is kept as it is.
json::Array normalise(const Scenario& scenario, Transcript transcript);

// Keeps or takes away what patterns like "/items/*/metadata/name" name. `*` is any member or item.
json::Value keep_only(const json::Value& body, const std::vector<std::string>& patterns);
void drop(json::Value& body, const std::vector<std::string>& patterns);

}  // namespace kopper::conformance
