#include "kopper/rt/file.h"

#include <cerrno>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kopper/base/error.h"
#include "kopper/rt/detail/fd.h"

namespace kopper::rt {

namespace {

// Blocking, not on a loop.
struct PlainFd {
  int fd = -1;
  ~PlainFd() {
    if (fd >= 0) ::close(fd);
  }
};

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw errno_error(path.native(), error, Code::Invalid);
}

void write_all(int fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const auto n = ::write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      fail(path, errno);
    }
  }
}

}  // namespace

std::string read_file(const std::filesystem::path& path, std::size_t limit) {
  const PlainFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) fail(path, errno);
  std::string content;
  std::size_t size = 0;
  for (;;) {
    if (content.size() - size < 4096) content.resize(std::max<std::size_t>(16384, content.size() * 2));
    const auto n = ::read(file.fd, content.data() + size, content.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path, errno);
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
    if (size > limit) throw Error(Code::Invalid, fmt::format("{}: more than {} bytes", path.native(), limit));
  }
  content.resize(size);
  return content;
}

void write_file_atomic(const std::filesystem::path& path, std::string_view bytes, unsigned mode) {
  auto temporary = path.native() + ".XXXXXX";
  const PlainFd file{::mkostemp(temporary.data(), O_CLOEXEC)};
  if (file.fd < 0) fail(path, errno);
  try {
    write_all(file.fd, bytes, path);
    if (::fchmod(file.fd, mode) != 0 || ::fsync(file.fd) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
      fail(path, errno);
    }
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void write_file_in_place(const std::filesystem::path& path, std::string_view bytes, unsigned mode) {
  const PlainFd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, mode)};
  if (file.fd < 0) fail(path, errno);
  write_all(file.fd, bytes, path);
  // Cut afterwards: a reader finds old bytes rather than an empty file.
  if (::ftruncate(file.fd, static_cast<off_t>(bytes.size())) != 0) fail(path, errno);
}

std::optional<FileStamp> file_stamp(const std::filesystem::path& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    fail(path, errno);
  }
  FileStamp stamp;
  stamp.device = found.st_dev;
  stamp.inode = found.st_ino;
  stamp.modified_ns = found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec;
  stamp.size = found.st_size;
  return stamp;
}

const std::string& RotatedFile::read() {
  // The stamp first: when the file is replaced in between, the next call reads once more, and nothing stays old.
  const auto stamp = file_stamp(path_);
  if (!stamp || stamp != stamp_) {
    content_ = read_file(path_);
    stamp_ = stamp;
  }
  return content_;
}

bool RotatedFile::changed() const { return !stamp_ || file_stamp(path_) != stamp_; }

std::size_t raise_open_files() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  return limit.rlim_cur;
}

}  // namespace kopper::rt
