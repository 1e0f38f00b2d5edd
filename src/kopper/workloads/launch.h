#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/gen/core_v1.h"
#include "kopper/rt/process.h"
#include "kopper/workloads/image_map.h"
#include "kopper/workloads/pod_env.h"
#include "kopper/workloads/sandbox.h"

// From a container's spec to the program that is started for it.
namespace kopper::workloads {

// What the pods of this machine share.
struct Machine {
  std::filesystem::path state;  // pods/<uid>/… and volumes/<name>
  ImageMap images = ImageMap::defaults();
  std::vector<std::string> host_paths;  // what pods may see of the machine by hostPath
  std::string network_file;             // network_library(), as a file; "": pods share the machine's addresses
};

// The bytes of the library that gives each pod a network of its own: pod_network/preload.cc. To be written to a file.
std::string_view network_library();

// Runs the program, the last `words` of the call, in a session of its own at the terminal that the process gets: one
// that belongs to whoever called nsenter or bubblewrap, outside, is no use to shells.
void give_terminal(rt::ProcessSpec& spec, std::size_t words);

// How to start a container.
struct Launch {
  bool simulated = false;  // the image is not one of this machine: nothing is started
  Sandbox sandbox;
  Environment env;
  std::string stop_signal = "SIGTERM";
  int inside = 0;  // the first process of another container's sandbox, in which it runs; 0: in one of its own

  rt::ProcessSpec process() const;
  // The same for a command beside it, in the sandbox whose first process is `init`. Throws Error when it is none of the
  // machine's programs.
  rt::ProcessSpec process(int init, const std::vector<std::string>& argv) const;
};

struct LaunchInput {
  Environment env;
  std::vector<Mount> mounts;
  std::string hosts_file;
  std::string ip;  // "": the machine's
};

// Throws Error with the reason that a node gives: ErrImagePull when the image's program is not installed, naming the
// package that has it; CreateContainerConfigError; StartError when the command is none of the machine's programs.
Launch plan_launch(const api::corev1::Pod& pod, const api::corev1::Container& container, const Machine& machine,
                   LaunchInput input);

}  // namespace kopper::workloads
