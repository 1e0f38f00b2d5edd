#include "kopper/workloads/container_log.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/rt/channel.h"

namespace kopper::workloads {

namespace {

using plane::LogStream;

constexpr std::size_t kChunk = std::size_t{64} << 10U;
constexpr std::size_t kMaxLive = std::size_t{1} << 20U;

// Always as long, so that times compare as texts.
std::string rfc3339_nano(rt::WallTime at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count(), time.subseconds().count());
}

struct Entry {
  std::string_view time;
  std::string_view text;  // with its newline, unless it is the beginning of a line
  LogStream stream = LogStream::Stdout;
};

// Nothing for what is no entry: a file may have lost its middle when the disk was full.
std::optional<Entry> parse(std::string_view line) {
  const auto word = [&line] {
    const auto at = line.find(' ');
    if (at == std::string_view::npos) return std::string_view();
    const auto found = line.substr(0, at);
    line.remove_prefix(at + 1);
    return found;
  };
  Entry entry;
  entry.time = word();
  const auto stream = word();
  const auto tag = word();
  if (tag.empty() || (stream != "stdout" && stream != "stderr")) return std::nullopt;
  entry.stream = stream == "stderr" ? LogStream::Stderr : LogStream::Stdout;
  if (tag.starts_with('P') && line.ends_with('\n')) line.remove_suffix(1);
  entry.text = line;
  return entry;
}

std::uint64_t size_of(const std::filesystem::path& path) {
  std::error_code none;
  const auto size = std::filesystem::file_size(path, none);
  return none ? 0 : size;
}

}  // namespace

// The two files are one sequence of bytes, of which the beginning is forgotten: places in it stay right when files are
// renamed.
struct ContainerLog::State {
  State(std::filesystem::path where, LogLimits limits_of_it)
      : path(std::move(where)), old_path(path.string() + ".1"), limits(limits_of_it) {
    begin = size_of(old_path);
    end = begin + size_of(path);
  }

  void open() {
    file.open(path, std::ios::binary | std::ios::app);
    if (!file) throw Error(Code::Unavailable, fmt::format("cannot write the log {}", path.string()));
    auto last = end - 1;
    if (end == begin || bytes(last, 1) == "\n") return;
    pending = "\n";  // the writer before was killed in the middle of a line
    write();
  }

  void add(LogStream stream, char tag, std::string_view text, std::string_view time) {
    auto entry = fmt::format("{} {} {} {}\n", time, stream == LogStream::Stderr ? "stderr" : "stdout", tag, text);
    if (end - begin + pending.size() + entry.size() > limits.file) {
      write();
      if (end > begin) rotate();
    }
    pending += entry;
  }

  void write() {
    file.write(pending.data(), static_cast<std::streamsize>(pending.size()));
    file.flush();
    end += pending.size();
    pending.clear();
    if (file) return;
    file.clear();
    end = begin + size_of(path);
  }

  void rotate() {
    file.close();
    std::error_code ignored;
    std::filesystem::rename(path, old_path, ignored);
    file.open(path, std::ios::binary | std::ios::trunc);
    old_begin = std::exchange(begin, end);
  }

  // Some bytes from `at` on, which is put forward when they are forgotten; none when there are none.
  std::string bytes(std::uint64_t& at, std::size_t limit) const {
    at = std::max(at, old_begin);
    const bool old = at < begin;
    const auto left = (old ? begin : end) - at;
    std::string found(std::min<std::uint64_t>(left, limit), '\0');
    if (found.empty()) return found;
    std::ifstream in(old ? old_path : path, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(at - (old ? old_begin : begin)));
    in.read(found.data(), static_cast<std::streamsize>(found.size()));
    found.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
    return found;
  }

  // Where the last `lines` begin.
  std::uint64_t tail(std::int64_t lines) const {
    auto at = end;
    while (at > old_begin) {
      const auto section = at > begin ? begin : old_begin;
      auto from = at - std::min<std::uint64_t>(at - section, kChunk);
      const auto block = bytes(from, static_cast<std::size_t>(at - from));
      for (auto i = block.size(); i > 0; --i) {
        if (block[i - 1] == '\n' && from + i < end && --lines == 0) return from + i;
      }
      if (block.empty()) break;
      at = from;
    }
    return old_begin;
  }

  void tell(LogStream stream, std::string_view bytes);

  // constant after construction
  const std::filesystem::path path;
  const std::filesystem::path old_path;
  const LogLimits limits;
  // this loop only
  std::ofstream file;
  std::uint64_t old_begin = 0;
  std::uint64_t begin = 0;  // of what is in `path`
  std::uint64_t end = 0;
  std::string pending;                 // entries of this call
  std::array<std::string, 2> unended;  // lines, of stdout and stderr
  bool ended = false;
  rt::Event more;
  std::vector<Live*> live;
};

class ContainerLog::Reader final : public http::Body {
 public:
  Reader(std::shared_ptr<State> state, const plane::LogOptions& options)
      : state_(std::move(state)), options_(options), left_(options.limit_bytes.value_or(INT64_MAX)), end_(state_->end) {
    if (options.since) since_ = rfc3339_nano(*options.since);
    if (options.tail_lines) at_ = *options.tail_lines > 0 ? state_->tail(*options.tail_lines) : state_->end;
  }

  Task<std::optional<std::string_view>> read() override {
    for (;;) {
      text_.clear();
      if (left_ <= 0 || (!options_.follow && at_ >= end_)) co_return std::nullopt;
      const auto bytes = state_->bytes(at_, kChunk);
      if (!bytes.empty()) {
        take(bytes);
        if (!text_.empty()) co_return text_;
      } else if (!options_.follow || state_->ended || at_ < state_->end) {
        co_return std::nullopt;
      } else {
        co_await state_->more.wait();
      }
    }
  }

 private:
  // As many whole entries as there are.
  void take(std::string_view bytes) {
    const auto last = bytes.rfind('\n');
    bytes = bytes.substr(0, last == std::string_view::npos ? last : last + 1);
    at_ += bytes.size();
    while (!bytes.empty() && left_ > 0) {
      const auto size = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
      if (const auto entry = parse(bytes.substr(0, size))) format(*entry);
      bytes.remove_prefix(size);
    }
  }

  void format(const Entry& entry) {
    if (entry.time < since_) return;
    if (options_.stream != LogStream::All && options_.stream != entry.stream) return;
    std::string line;
    if (options_.timestamps && new_line_) line = fmt::format("{} ", entry.time);
    line += entry.text;
    if (std::cmp_greater(line.size(), left_)) line.resize(static_cast<std::size_t>(left_));
    left_ -= static_cast<std::int64_t>(line.size());
    text_ += line;
    new_line_ = entry.text.empty() || entry.text.ends_with('\n');
  }

  const std::shared_ptr<State> state_;
  const plane::LogOptions options_;
  std::string since_;
  std::int64_t left_;
  std::uint64_t at_ = 0;
  const std::uint64_t end_;
  bool new_line_ = true;
  std::string text_;
};

ContainerLog::ContainerLog(std::filesystem::path path, LogLimits limits)
    : state_(std::make_shared<State>(std::move(path), limits)) {
  state_->open();
}

ContainerLog::~ContainerLog() {
  if (!state_) return;
  state_->ended = true;
  state_->more.set();
}

ContainerLog::ContainerLog(ContainerLog&&) noexcept = default;

ContainerLog& ContainerLog::operator=(ContainerLog&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

void ContainerLog::append(LogStream stream, std::string_view bytes, rt::WallTime now) {
  state_->tell(stream, bytes);
  const auto time = rfc3339_nano(now);
  auto& unended = state_->unended[stream == LogStream::Stderr ? 1 : 0];
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    const auto take = std::min(std::min(newline, bytes.size()), state_->limits.line - unended.size());
    unended += bytes.substr(0, take);
    bytes.remove_prefix(take);
    const bool whole = bytes.starts_with('\n');
    if (whole) bytes.remove_prefix(1);
    if (!whole && (unended.size() < state_->limits.line || bytes.empty())) continue;
    state_->add(stream, whole ? 'F' : 'P', unended, time);
    unended.clear();
  }
  if (!state_->pending.empty()) state_->write();
  state_->more.set();
  state_->more.reset();
}

void ContainerLog::end(rt::WallTime now) {
  if (std::exchange(state_->ended, true)) return;
  const auto time = rfc3339_nano(now);
  for (const auto stream : {LogStream::Stdout, LogStream::Stderr}) {
    auto& unended = state_->unended[stream == LogStream::Stderr ? 1 : 0];
    if (!unended.empty()) state_->add(stream, 'P', unended, time);
    unended.clear();
  }
  if (!state_->pending.empty()) state_->write();
  state_->more.set();
}

std::unique_ptr<http::Body> ContainerLog::read(const plane::LogOptions& options) const {
  return std::make_unique<Reader>(state_, options);
}

std::unique_ptr<http::Body> ContainerLog::read_files(const std::filesystem::path& path,
                                                     const plane::LogOptions& options) {
  if (!std::filesystem::exists(path)) throw Error(Code::NotFound, fmt::format("no log at {}", path.string()));
  auto state = std::make_shared<State>(path, LogLimits());
  state->ended = true;
  return std::make_unique<Reader>(std::move(state), options);
}

std::unique_ptr<ContainerLog::Live> ContainerLog::listen() const { return std::make_unique<Live>(state_); }

ContainerLog::Live::Live(std::shared_ptr<State> state) : state_(std::move(state)) { state_->live.push_back(this); }

ContainerLog::Live::~Live() { std::erase(state_->live, this); }

void ContainerLog::State::tell(LogStream stream, std::string_view bytes) {
  if (bytes.empty()) return;
  for (auto* one : live) {
    one->chunks_.push_back({.is_error = stream == LogStream::Stderr, .bytes = std::string(bytes)});
    one->size_ += bytes.size();
    while (one->size_ > kMaxLive && one->chunks_.size() > 1) {
      one->size_ -= one->chunks_.front().bytes.size();
      one->chunks_.pop_front();
    }
  }
}

Task<std::optional<plane::Attachment::Chunk>> ContainerLog::Live::next() {
  while (chunks_.empty()) {
    if (state_->ended) co_return std::nullopt;
    co_await state_->more.wait();
  }
  auto chunk = std::move(chunks_.front());
  chunks_.pop_front();
  size_ -= chunk.bytes.size();
  co_return chunk;
}

}  // namespace kopper::workloads
