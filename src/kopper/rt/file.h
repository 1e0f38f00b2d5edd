#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace kopper::rt {

// Small files: configuration, tokens, certificates. Synchronous; all throw Error naming the path and the cause
// ("/a/b: No such file or directory"), NotFound, Forbidden or Invalid.

// Throws Error{Invalid} when there are more than `limit` bytes.
std::string read_file(const std::filesystem::path& path, std::size_t limit = std::size_t{64} << 20U);

// Readers see the old bytes or the new ones, never a mixture: written beside it, then renamed. `mode` as in chmod.
void write_file_atomic(const std::filesystem::path& path, std::string_view bytes, unsigned mode = 0644);

// Makes the file or overwrites it, without a rename: who has it open, or bound at another place, sees the new bytes,
// and for a moment perhaps some of both. `mode` only when it is made.
void write_file_in_place(const std::filesystem::path& path, std::string_view bytes, unsigned mode = 0644);

// Lets this process have as many files and sockets open as the system allows without asking anybody; how many that is.
std::size_t raise_open_files() noexcept;

// Tells one content of a path from another without reading it. Follows symbolic links: mounted Secrets are swapped so.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;
  std::int64_t size = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
// Nothing when there is no such file.
std::optional<FileStamp> file_stamp(const std::filesystem::path& path);

// A file that others replace: a token, a certificate. Reads it again only when its stamp has changed.
class RotatedFile {
 public:
  explicit RotatedFile(std::filesystem::path path) : path_(std::move(path)) {}

  // The present content, valid until the next call. Throws what read_file() throws.
  const std::string& read();
  // True when read() would give other bytes than the last time, or has not been called.
  bool changed() const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::optional<FileStamp> stamp_;
  std::string content_;
};

}  // namespace kopper::rt
