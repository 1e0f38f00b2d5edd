#include "kopper/workloads/sandbox.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "kopper/rt/pids.h"

namespace kopper::workloads {

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

void add(Words& to, std::initializer_list<std::string> words) { to.insert(to.end(), words); }

// What programs read of a machine's settings. The rest is the machine's own business: its passwords, keys and services.
constexpr auto kEtc = std::to_array<const char*>(
    {"alternatives", "bash.bashrc", "ca-certificates", "debian_version", "default",       "environment",  "fonts",
     "group",        "host.conf",   "inputrc",         "ld.so.cache",    "ld.so.conf",    "ld.so.conf.d", "localtime",
     "magic",        "mime.types",  "mysql",           "nginx",          "nsswitch.conf", "os-release",   "passwd",
     "perl",         "profile",     "protocols",       "python3",        "redis",         "resolv.conf",  "rpc",
     "services",     "ssl",         "terminfo",        "timezone"});

bool lies_in(const std::string& path, const std::string& folder) { return path.starts_with(folder + "/"); }

// What the machine has at `path`, read-only. Where a volume is to be in a folder of it that is not there, the folder is
// put together from its parts: nothing can be made in one that is read-only.
void show(Words& out, const fs::path& path, const std::vector<Mount>& mounts) {  // NOLINT(misc-no-recursion)
  std::error_code ignored;
  if (fs::is_symlink(path, ignored)) {
    add(out, {"--symlink", fs::read_symlink(path, ignored).string(), path.string()});
    return;
  }
  if (!fs::exists(path, ignored)) return;
  const bool lacks_a_place = std::ranges::any_of(mounts, [&](const Mount& mount) {
    return lies_in(mount.path, path.string()) && !fs::exists(mount.path, ignored);
  });
  if (!lacks_a_place) {
    add(out, {"--ro-bind", path.string(), path.string()});
    return;
  }
  add(out, {"--dir", path.string()});
  for (const auto& part : fs::directory_iterator(path, ignored)) show(out, part.path(), mounts);
}

// Without root, bubblewrap mounts terminals in one user namespace and runs the program in another one inside of it,
// which nobody can enter from outside any more: then there are no new terminals, but commands can join.
void add_devices(Words& out) {
  if (rt::user_id() == 0) {
    add(out, {"--dev", "/dev"});
    return;
  }
  add(out, {"--dir", "/dev"});
  for (const std::string name : {"null", "zero", "full", "random", "urandom", "tty"}) {
    add(out, {"--dev-bind", "/dev/" + name, "/dev/" + name});
  }
  add(out, {"--symlink", "/proc/self/fd", "/dev/fd", "--tmpfs", "/dev/shm"});
  int number = 0;
  for (const std::string name : {"stdin", "stdout", "stderr"}) {
    add(out, {"--symlink", "/proc/self/fd/" + std::to_string(number++), "/dev/" + name});
  }
}

}  // namespace

Words bubblewrap(const Sandbox& sandbox) {
  Words out;
  const auto add = [&out](std::initializer_list<std::string> words) { workloads::add(out, words); };
  add({"bwrap", "--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname",
       sandbox.hostname});
  if (sandbox.user) {
    add({"--unshare-user", "--uid", std::to_string(*sandbox.user), "--gid", std::to_string(sandbox.group)});
  }
  add({"--tmpfs", "/"});
  show(out, "/usr", sandbox.mounts);
  add({"--dir", "/etc"});
  for (const auto* name : kEtc) show(out, fs::path("/etc") / name, sandbox.mounts);
  // Since Debian 12 these are links on every machine.
  for (const std::string name : {"bin", "sbin", "lib", "lib64"}) add({"--symlink", "usr/" + name, "/" + name});
  add({"--proc", "/proc"});
  add_devices(out);
  for (const std::string name : {"/tmp", "/run", "/root", "/home", "/var/tmp", "/var/log", "/var/lib", "/var/cache"})
    add({"--dir", name});
  add({"--symlink", "../run", "/var/run"});
  for (const auto& directory : sandbox.directories) add({"--dir", directory});
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
  if (sandbox.read_only_root) add({"--remount-ro", "/"});
  for (const auto& [name, value] : sandbox.env) add({"--setenv", name, value});
  add({"--chdir", sandbox.cwd.empty() ? "/" : sandbox.cwd, "--"});
  out.insert(out.end(), sandbox.argv.begin(), sandbox.argv.end());
  return out;
}

Words enter_sandbox(const Sandbox& sandbox, int init, const Words& argv) {
  Words out{"nsenter", "--target", std::to_string(init)};
  // A user of its own means a user namespace of its own.
  if (sandbox.user || rt::user_id() != 0) add(out, {"--user", "--preserve-credentials"});
  add(out, {"--mount", "--pid", "--uts", "--ipc", "--wdns=" + (sandbox.cwd.empty() ? "/" : sandbox.cwd), "--"});
  if (!sandbox.env.empty()) add(out, {"env"});
  for (const auto& [name, value] : sandbox.env) add(out, {name + "=" + value});
  out.insert(out.end(), argv.begin(), argv.end());
  return out;
}

}  // namespace kopper::workloads
