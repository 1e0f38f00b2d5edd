#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kopper::workloads {

struct Mount {
  std::string host;  // "": memory that ends with the container
  std::string path;  // in the container
  bool read_only = false;
};

// What a container sees of this machine: its programs and some of /etc, read-only; its volumes; processes, host name
// and shared memory of its own. The network is the machine's: pods have addresses of 127.0.0.0/8.
struct Sandbox {
  std::string hostname;
  std::string hosts_file;  // becomes /etc/hosts
  std::vector<Mount> mounts;
  std::vector<std::string> directories;                  // more that it can write to, which end with it
  std::vector<std::pair<std::string, std::string>> env;  // more of it than bubblewrap is started with; no secrets
  std::string cwd;                                       // "": /
  std::optional<std::int64_t> user;                      // whom the program takes itself for; none: who we are
  std::int64_t group = 0;                                // with `user`
  bool read_only_root = false;
  std::vector<std::string> argv;
};

// How bubblewrap is called for it. The container ends when whoever called it does. Its environment is that of the call:
// everybody on the machine can read command lines.
std::vector<std::string> bubblewrap(const Sandbox& sandbox);

// How to run a command inside a running sandbox, whose first process is `init`: it sees the same files and processes.
std::vector<std::string> enter_sandbox(const Sandbox& sandbox, int init, const std::vector<std::string>& argv);

}  // namespace kopper::workloads
