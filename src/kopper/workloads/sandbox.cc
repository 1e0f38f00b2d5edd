#include "kopper/workloads/sandbox.h"

#include <algorithm>

namespace kopper::workloads {

std::vector<std::string> bubblewrap(const Sandbox& sandbox) {
  std::vector<std::string> out{"bwrap",         "--die-with-parent", "--new-session", "--unshare-pid",
                               "--unshare-ipc", "--unshare-uts",     "--hostname",    sandbox.hostname};
  const auto add = [&out](std::initializer_list<std::string> words) { out.insert(out.end(), words); };
  add({"--tmpfs", "/", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc"});
  // Since Debian 12 these are links on every machine.
  for (const std::string name : {"bin", "sbin", "lib", "lib64"}) add({"--symlink", "usr/" + name, "/" + name});
  add({"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run", "--tmpfs", "/var"});
  for (const std::string name : {"/var/tmp", "/var/log", "/var/lib", "/var/cache"}) add({"--dir", name});
  if (!sandbox.hosts_file.empty()) add({"--ro-bind", sandbox.hosts_file, "/etc/hosts"});
  // What lies inside another volume comes after it, else it would be hidden.
  auto mounts = sandbox.mounts;
  std::ranges::stable_sort(mounts, {}, [](const Mount& mount) { return mount.path.size(); });
  for (const auto& mount : mounts) {
    if (mount.host.empty()) {
      add({"--tmpfs", mount.path});
    } else {
      add({mount.read_only ? "--ro-bind" : "--bind", mount.host, mount.path});
    }
  }
  add({"--clearenv"});
  for (const auto& [name, value] : sandbox.env) add({"--setenv", name, value});
  add({"--chdir", sandbox.cwd.empty() ? "/" : sandbox.cwd, "--"});
  out.insert(out.end(), sandbox.argv.begin(), sandbox.argv.end());
  return out;
}

}  // namespace kopper::workloads
