#pragma once

#include <filesystem>
#include <string>

#include "kopper/rt/stream.h"

namespace kopper::local {

// Parts of 127.0.0.0/8 that no other cluster of this machine uses, for as long as this lives: one of 127.96.0.0/11 for
// services, one of 127.128.0.0/11 for pods. A data directory keeps its block, for its services keep their addresses.
class NetworkBlock {
 public:
  // Throws Error{Unavailable} when that of the data directory is in use, or all of them are.
  explicit NetworkBlock(const std::filesystem::path& data_dir);

  std::string services() const;  // "127.96.0.0/16"
  int pods() const;              // 128: pods are 127.128.y.z

 private:
  struct Claim {
    int number;
    rt::Listener held;
  };
  static Claim claim(const std::filesystem::path& data_dir);

  Claim claim_;
};

}  // namespace kopper::local
