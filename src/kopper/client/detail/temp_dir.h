#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace kopper::client::detail {

// A folder of a test's own, gone with it.
class TempDir {
 public:
  TempDir() {
    auto name = (std::filesystem::temp_directory_path() / "kopper-client-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string path() const { return path_; }
  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }

  // Writes a file, with the folders it needs; the full path.
  std::string write(std::string_view name, std::string_view text) const {
    const auto file = path(name);
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file, std::ios::trunc) << text;
    return file;
  }

  std::string write_script(std::string_view name, std::string_view text) const {
    const auto file = write(name, text);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }

 private:
  std::string path_;
};

}  // namespace kopper::client::detail
