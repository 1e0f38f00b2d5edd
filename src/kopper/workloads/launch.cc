#include "kopper/workloads/launch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/rt/pids.h"

namespace kopper::embedded {
std::string_view pod_network();
}

namespace kopper::workloads {

using api::corev1::Container;
using api::corev1::Pod;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
// Where the library lies in every sandbox.
constexpr const char* kNetworkLibrary = "/run/kopper/pod-network.so";

Error refused(std::string reason, std::string message) {
  Error error(Code::Invalid, std::move(message));
  error.reason = std::move(reason);
  return error;
}

bool is_program(const fs::path& path) {
  std::error_code ignored;
  const auto status = fs::status(path, ignored);
  return fs::is_regular_file(status) && (status.permissions() & fs::perms::owner_exec) != fs::perms::none;
}

bool on_path(std::string_view name, std::string_view path) {
  while (!path.empty()) {
    const auto end = std::min(path.find(':'), path.size());
    if (is_program(fs::path(path.substr(0, end)) / name)) return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

bool lies_in(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/' || folder == "/");
}

// Where the machine has what the container calls `path`; "" when only the container knows.
fs::path on_machine(const std::string& path, const std::vector<Mount>& mounts) {
  const Mount* inner = nullptr;
  for (const auto& mount : mounts) {
    if (lies_in(path, mount.path) && (inner == nullptr || mount.path.size() > inner->path.size())) inner = &mount;
  }
  if (inner == nullptr) return path;
  if (inner->host.empty()) return {};
  return inner->host + path.substr(inner->path.size());
}

void check_program(const std::string& name, const Environment& env, const std::vector<Mount>& mounts) {
  if (name.find('/') == name.npos) {
    const auto* path = find_variable(env, "PATH");
    if (on_path(name, path == nullptr ? kPath : std::string_view(*path))) return;
    throw refused("StartError", fmt::format("exec: \"{}\": executable file not found in $PATH", name));
  }
  const auto file = on_machine(name, mounts);
  std::error_code ignored;
  if (name.starts_with('/') && !file.empty() && !fs::exists(file, ignored)) {
    throw refused("StartError", fmt::format("exec: \"{}\": stat {}: no such file or directory", name, name));
  }
}

std::optional<std::int64_t> user_of(const Pod& pod, const Container& container) {
  if (container.securityContext && container.securityContext->runAsUser) return container.securityContext->runAsUser;
  if (pod.spec.securityContext) return pod.spec.securityContext->runAsUser;
  return std::nullopt;
}
std::optional<std::int64_t> group_of(const Pod& pod, const Container& container) {
  if (container.securityContext && container.securityContext->runAsGroup) return container.securityContext->runAsGroup;
  if (pod.spec.securityContext) return pod.spec.securityContext->runAsGroup;
  return std::nullopt;
}
bool never_root(const Pod& pod, const Container& container) {
  if (container.securityContext && container.securityContext->runAsNonRoot) {
    return *container.securityContext->runAsNonRoot;
  }
  return pod.spec.securityContext && pod.spec.securityContext->runAsNonRoot.value_or(false);
}

// Root inside is root outside or, when we are not, whoever we are: programs that give root up could not do so.
void set_user(Sandbox& sandbox, const Pod& pod, const Container& container, const ImageProgram& image) {
  const auto asked = user_of(pod, container);
  const auto user = asked.value_or(image.user);
  if (never_root(pod, container) && user == 0) {
    throw refused(
        "CreateContainerConfigError",
        fmt::format("container has runAsNonRoot and image will run as root (pod: \"{}_{}({})\", container: {})",
                    pod.metadata.name, pod.metadata.namespace_, pod.metadata.uid, container.name));
  }
  if (user == 0 && (rt::user_id() == 0 || !asked)) return;
  sandbox.user = user;
  sandbox.group = group_of(pod, container).value_or(user == image.user ? user : 0);
}

}  // namespace

std::string_view network_library() { return embedded::pod_network(); }

void give_terminal(rt::ProcessSpec& spec, std::size_t words) {
  spec.stdio = rt::Stdio::Terminal;
  spec.takes_terminal = true;
  const std::vector<std::string> setsid{"/usr/bin/setsid", "--ctty"};
  spec.argv.insert(spec.argv.end() - static_cast<std::ptrdiff_t>(words), setsid.begin(), setsid.end());
}

rt::ProcessSpec Launch::process() const {
  if (inside != 0) return process(inside, sandbox.argv);
  rt::ProcessSpec spec;
  spec.argv = bubblewrap(sandbox);
  spec.env = env;
  spec.clear_env = true;
  return spec;
}

rt::ProcessSpec Launch::process(int init, const std::vector<std::string>& argv) const {
  if (!argv.empty()) check_program(argv[0], env, sandbox.mounts);
  rt::ProcessSpec spec;
  spec.argv = enter_sandbox(sandbox, init, argv);
  spec.env = env;
  spec.clear_env = true;
  return spec;
}

Launch plan_launch(const Pod& pod, const Container& container, const Machine& machine, LaunchInput input) {
  Launch out;
  const auto image = machine.images.find(container.image);
  if (!image) {
    out.simulated = true;
    return out;
  }
  if (!on_path(image->program, kPath) && !is_program(image->program)) {
    throw refused("ErrImagePull",
                  fmt::format("{} stands for the program {}, which this machine has not: apt install {}",
                              container.image, image->program, image->package));
  }
  auto& sandbox = out.sandbox;
  sandbox.argv = command_line(*image, container.command, container.args, [&](std::string_view name) {
    const auto* value = find_variable(input.env, name);
    return value == nullptr ? std::optional<std::string>() : std::optional<std::string>(*value);
  });
  if (sandbox.argv.empty()) throw refused("CreateContainerError", "no command specified");
  check_program(sandbox.argv[0], input.env, input.mounts);
  set_user(sandbox, pod, container, *image);
  sandbox.hostname = pod_hostname(pod);
  sandbox.hosts_file = std::move(input.hosts_file);
  sandbox.mounts = std::move(input.mounts);
  sandbox.directories = image->directories;
  sandbox.cwd = container.workingDir.empty() ? image->directory : container.workingDir;
  if (!sandbox.cwd.empty()) sandbox.directories.push_back(sandbox.cwd);
  sandbox.read_only_root =
      container.securityContext && container.securityContext->readOnlyRootFilesystem.value_or(false);
  if (!machine.network_file.empty() && !input.ip.empty()) {
    sandbox.mounts.push_back({machine.network_file, kNetworkLibrary, true});
    sandbox.env = {{"LD_PRELOAD", kNetworkLibrary}, {"KOPPER_POD_IP", input.ip}};
  }
  out.env = std::move(input.env);
  const std::string asked = container.lifecycle ? container.lifecycle->stopSignal : "";
  if (!asked.empty()) {
    out.stop_signal = asked;
  } else if (!image->stop_signal.empty()) {
    out.stop_signal = image->stop_signal;
  }
  return out;
}

}  // namespace kopper::workloads
