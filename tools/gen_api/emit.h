#pragma once

#include <map>
#include <string>
#include <vector>

#include "model.h"

namespace kopper::gen {

// File name → text: a header and one or more sources a group, and sources.cmake that lists them.
std::map<std::string, std::string> emit(const std::vector<Group>& groups, const Options& options);

// definitions.cc: every schema of the document as JSON, for kopper/api/definitions.h.
std::string emit_definitions(const Document& document);

// The documents without prose and without what the generator does not read: one file a group, "core_v1.json",
// and others.json with what they refer to.
std::map<std::string, std::string> reduce(const Document& document, const std::vector<std::string>& groups);

}  // namespace kopper::gen
