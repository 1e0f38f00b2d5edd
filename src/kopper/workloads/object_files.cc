#include "kopper/workloads/object_files.h"

#include <charconv>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/rt/file.h"

namespace kopper::workloads {

namespace fs = std::filesystem;

namespace {

constexpr const char* kData = "..data";
constexpr const char* kNewData = "..data_tmp";

// Directories are named "..1", "..2" and so on.
unsigned number_of(const fs::path& name) {
  const auto& text = name.native();
  unsigned number = 0;
  if (text.size() > 2) std::from_chars(text.data() + 2, text.data() + text.size(), number);
  return number;
}

fs::path target_of(const fs::path& link) {
  std::error_code missing;
  return fs::read_symlink(link, missing);
}

ObjectFiles read(const fs::path& directory) {
  ObjectFiles found;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    const auto mode = static_cast<unsigned>(entry.status().permissions() & fs::perms::mask);
    found[entry.path().lexically_relative(directory).native()] = {rt::read_file(entry.path()), mode};
  }
  return found;
}

// Modes are set by hand: whatever our umask is, programs that change their user read their files.
void make_directories(const fs::path& directory) {
  if (fs::exists(directory)) return;
  make_directories(directory.parent_path());
  fs::create_directory(directory);
  fs::permissions(directory, static_cast<fs::perms>(0755));
}

void write(const fs::path& directory, const ObjectFiles& files) {
  make_directories(directory);
  for (const auto& [path, file] : files) {
    const auto full = directory / path;
    make_directories(full.parent_path());
    rt::write_file_in_place(full, file.bytes, 0600);
    fs::permissions(full, static_cast<fs::perms>(file.mode));
  }
}

// Names that pods see: links through "..data", one for each first part of a path.
void link(const fs::path& directory, const ObjectFiles& files) {
  std::set<std::string> names;
  for (const auto& [path, file] : files) names.insert(path.substr(0, path.find('/')));
  for (const auto& name : names) {
    if (!fs::is_symlink(directory / name)) fs::create_symlink(fs::path(kData) / name, directory / name);
  }
  for (const auto& entry : fs::directory_iterator(directory)) {
    const auto name = entry.path().filename().native();
    if (!name.starts_with("..") && !names.contains(name)) fs::remove(entry.path());
  }
}

void check(const std::string& path) {
  const fs::path parsed(path);
  bool escapes = path.empty() || parsed.is_absolute();
  for (const auto& part : parsed) escapes = escapes || part.native().starts_with("..") || part.empty();
  if (escapes) throw Error(Code::Invalid, fmt::format("invalid path \"{}\"", path));
}

}  // namespace

bool write_object_files(const fs::path& directory, const ObjectFiles& files) {
  for (const auto& [path, file] : files) check(path);
  try {
    make_directories(directory);
    const auto current = target_of(directory / kData);
    if (!current.empty() && fs::exists(directory / current) && read(directory / current) == files) {
      link(directory, files);
      return false;
    }
    const fs::path next = fmt::format("..{}", number_of(current) + 1);
    fs::remove_all(directory / next);  // what a crash left
    write(directory / next, files);
    fs::remove(directory / kNewData);
    fs::create_directory_symlink(next, directory / kNewData);
    fs::rename(directory / kNewData, directory / kData);
    link(directory, files);
    for (const auto& entry : fs::directory_iterator(directory)) {
      const auto name = entry.path().filename();
      if (name.native().starts_with("..") && name != kData && name != next) fs::remove_all(entry.path());
    }
    return true;
  } catch (const fs::filesystem_error& error) {
    throw Error(Code::Internal, error.what());
  }
}

}  // namespace kopper::workloads
