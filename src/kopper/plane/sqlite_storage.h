#pragma once

#include <filesystem>
#include <memory>

#include "kopper/plane/storage.h"

namespace kopper::plane {

// A folder with a SQLite database. Changes that come while the disk is busy are committed together, so that the disk's
// speed bounds how long a write takes, not how many there are.
class SqliteStorage final : public Storage {
 public:
  // Opens or makes it; other users of the machine cannot read it. Throws Error naming the folder: also when another
  // process has it open.
  explicit SqliteStorage(const std::filesystem::path& folder);
  ~SqliteStorage() override;

  Task<Loaded> load() override;
  void write(Write change) override;
  Task<> durable(std::uint64_t revision) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kopper::plane
