#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace kopper::workloads {

struct ObjectFile {
  std::string bytes;
  unsigned mode = 0644;

  friend bool operator==(const ObjectFile&, const ObjectFile&) = default;
};
// By their path below the volume: "tls/key.pem".
using ObjectFiles = std::map<std::string, ObjectFile>;

// Makes `directory` hold these files and no others, as kubelet does with ConfigMaps: they lie in a directory that
// "..data" points to, so that all of them change in one step, and programs may watch for it. False when they were so
// already. Throws Error.
bool write_object_files(const std::filesystem::path& directory, const ObjectFiles& files);

}  // namespace kopper::workloads
