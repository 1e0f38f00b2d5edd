#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kopper/json/value.h"

namespace kopper::cmd {

// One object of a file, and where it stands: "deploy.yaml:14".
struct Manifest {
  std::string source;
  json::Value object;

  std::string_view api_version() const { return object.text("apiVersion"); }
  std::string_view kind() const { return object.text("kind"); }
  std::string_view name() const { return object["metadata"].text("name"); }
  std::string_view namespace_() const { return object["metadata"].text("namespace"); }
};

// The objects of a YAML or JSON text; a List gives its items, an empty document nothing.
// Throws Error{Invalid} naming the source and the field that is missing or wrong.
std::vector<Manifest> parse_manifests(std::string_view text, std::string_view source);

// Files, folders (their *.yaml, *.yml and *.json, in order of name) and "-" for standard input.
std::vector<Manifest> read_manifests(const std::vector<std::string>& paths);

}  // namespace kopper::cmd
