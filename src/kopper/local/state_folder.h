#pragma once

#include <filesystem>

namespace kopper::local {

// Where pods keep their files: a part of the data directory, or a folder that ends with the process.
class StateFolder {
 public:
  // Without a data directory: a new folder of the system's temporary one; those of processes that are gone are removed.
  explicit StateFolder(const std::filesystem::path& data_dir);
  ~StateFolder();
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool temporary_ = false;
};

}  // namespace kopper::local
