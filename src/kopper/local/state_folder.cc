#include "kopper/local/state_folder.h"

#include <charconv>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/rt/pids.h"

namespace kopper::local {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "kopper-up-";

// The process that a folder is named after; 0 when it is none of ours.
int owner_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return 0;
  int pid = 0;
  const auto* end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + kPrefix.size(), end, pid);
  return read.ec == std::errc() && read.ptr == end ? pid : 0;
}

void sweep(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const int pid = owner_of(entry.path().filename().string());
    if (pid != 0 && !rt::is_running(pid)) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

StateFolder::StateFolder(const fs::path& data_dir) {
  if (!data_dir.empty()) {
    path_ = fs::absolute(data_dir);
  } else {
    sweep(fs::temp_directory_path());
    path_ = fs::temp_directory_path() / fmt::format("{}{}", kPrefix, rt::own_pid());
    temporary_ = true;
  }
  std::error_code failure;
  fs::create_directories(path_, failure);
  // Secrets lie in there.
  if (!failure) fs::permissions(path_, fs::perms::owner_all, failure);
  if (failure) throw Error(Code::Invalid, fmt::format("{}: {}", path_.string(), failure.message()));
}

StateFolder::~StateFolder() {
  std::error_code ignored;
  if (temporary_) fs::remove_all(path_, ignored);
}

}  // namespace kopper::local
