#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kopper::workloads {

struct Mount {
  std::string host;  // "": memory that ends with the container
  std::string path;  // in the container
  bool read_only = false;
};

// What a container sees of this machine: its programs, read-only; its volumes; processes, host name and shared memory
// of its own. The network is the machine's: pods have addresses of 127.0.0.0/8.
struct Sandbox {
  std::string hostname;
  std::string hosts_file;  // becomes /etc/hosts
  std::vector<Mount> mounts;
  std::vector<std::pair<std::string, std::string>> env;  // all there is
  std::string cwd;                                       // "": /
  std::vector<std::string> argv;
};

// How bubblewrap is called for it. The container ends when whoever called it does.
std::vector<std::string> bubblewrap(const Sandbox& sandbox);

}  // namespace kopper::workloads
