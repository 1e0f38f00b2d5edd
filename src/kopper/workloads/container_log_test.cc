#include "kopper/workloads/container_log.h"

#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/rt/file.h"
#include "kopper/rt/scope.h"

namespace kopper::workloads {
namespace {

using namespace std::chrono_literals;
using plane::LogOptions;
using plane::LogStream;

class ContainerLogTest : public ::testing::Test {
 protected:
  ContainerLogTest() {
    std::string name = ::testing::TempDir() + "container_log.XXXXXX";
    dir_ = ::mkdtemp(name.data());
  }
  ~ContainerLogTest() override { std::filesystem::remove_all(dir_); }

  std::filesystem::path path() const { return dir_ / "0.log"; }
  rt::WallTime now() const { return loop_.wall_now(); }
  void out(ContainerLog& log, std::string_view text) { log.append(LogStream::Stdout, text, now()); }
  void err(ContainerLog& log, std::string_view text) { log.append(LogStream::Stderr, text, now()); }
  std::string read(const ContainerLog& log, const LogOptions& options = LogOptions()) {
    const auto body = log.read(options);
    return loop_.run(http::read_all(*body));
  }

  rt::Loop loop_{rt::ClockMode::Manual};
  std::filesystem::path dir_;
};

TEST_F(ContainerLogTest, WritesWhatRuntimesWrite) {
  ContainerLog log(path(), LogLimits{.file = 1000, .line = 8});
  out(log, "one\ntw");
  err(log, "oops\n");
  loop_.advance(1500ns);
  out(log, "o\n\n12345678\n123456789\n");
  out(log, "rest");
  log.end(now());
  EXPECT_EQ(rt::read_file(path()),
            "2026-01-01T00:00:00.000000000Z stdout F one\n"
            "2026-01-01T00:00:00.000000000Z stderr F oops\n"
            "2026-01-01T00:00:00.000001500Z stdout F two\n"
            "2026-01-01T00:00:00.000001500Z stdout F \n"
            "2026-01-01T00:00:00.000001500Z stdout F 12345678\n"
            "2026-01-01T00:00:00.000001500Z stdout P 12345678\n"
            "2026-01-01T00:00:00.000001500Z stdout F 9\n"
            "2026-01-01T00:00:00.000001500Z stdout P rest\n");
  EXPECT_EQ(read(log), "one\noops\ntwo\n\n12345678\n123456789\nrest");
}

TEST_F(ContainerLogTest, ReadsWithTheOptionsOfKubectl) {
  ContainerLog log(path());
  out(log, "a\n");
  loop_.advance(10s);
  err(log, "b\n");
  loop_.advance(10s);
  out(log, "c\n");
  LogOptions tail;
  tail.tail_lines = 2;
  EXPECT_EQ(read(log, tail), "b\nc\n");
  tail.tail_lines = 0;
  EXPECT_EQ(read(log, tail), "");
  tail.tail_lines = 9;
  EXPECT_EQ(read(log, tail), "a\nb\nc\n");
  LogOptions since;
  since.since = now() - 10s;
  since.timestamps = true;
  EXPECT_EQ(read(log, since), "2026-01-01T00:00:10.000000000Z b\n2026-01-01T00:00:20.000000000Z c\n");
  LogOptions limit;
  limit.limit_bytes = 3;
  EXPECT_EQ(read(log, limit), "a\nb");
  LogOptions errors;
  errors.stream = LogStream::Stderr;
  EXPECT_EQ(read(log, errors), "b\n");
}

TEST_F(ContainerLogTest, TimeStandsOnlyBeforeTheFirstPartOfALine) {
  ContainerLog log(path(), LogLimits{.file = 1000, .line = 4});
  out(log, "123456\n");
  LogOptions options;
  options.timestamps = true;
  EXPECT_EQ(read(log, options), "2026-01-01T00:00:00.000000000Z 123456\n");
}

TEST_F(ContainerLogTest, FollowsUntilTheEnd) {
  ContainerLog log(path());
  out(log, "before\n");
  LogOptions options;
  options.follow = true;
  options.tail_lines = 1;
  const auto body = log.read(options);
  std::string text;
  bool done = false;
  rt::Scope scope;
  scope.spawn([](http::Body* from, std::string* into, bool* finished) -> Task<> {
    for (;;) {
      const auto chunk = co_await from->read();
      if (!chunk) break;
      into->append(*chunk);
    }
    *finished = true;
  }(body.get(), &text, &done));
  loop_.poll();
  EXPECT_EQ(text, "before\n");
  out(log, "while\nnot yet a line");
  loop_.poll();
  EXPECT_EQ(text, "before\nwhile\n");
  EXPECT_FALSE(done);
  log.end(now());
  loop_.poll();
  EXPECT_EQ(text, "before\nwhile\nnot yet a line");
  EXPECT_TRUE(done);
  EXPECT_EQ(read(log, options), "not yet a line");  // who comes later does not wait
}

TEST_F(ContainerLogTest, FollowerMayOutliveTheLogOrGoBefore) {
  LogOptions options;
  options.follow = true;
  std::unique_ptr<http::Body> body;
  {
    ContainerLog log(path());
    out(log, "x\n");
    body = log.read(options);
    rt::Scope destroyed;
    const auto other = log.read(options);
    destroyed.spawn([](http::Body* from) -> Task<> { co_await http::read_all(*from); }(other.get()));
    loop_.poll();
  }
  EXPECT_EQ(loop_.run(http::read_all(*body)), "x\n");
}

TEST_F(ContainerLogTest, KeepsOneOldFile) {
  ContainerLog log(path(), LogLimits{.file = 200, .line = 100});
  LogOptions follow;
  follow.follow = true;
  const auto from_the_start = log.read(follow);
  for (int i = 0; i < 20; ++i) out(log, fmt::format("line {:02}\n", i));  // 47 bytes each: four a file
  EXPECT_LE(std::filesystem::file_size(path()), 200U);
  EXPECT_LE(std::filesystem::file_size(path().string() + ".1"), 200U);
  EXPECT_EQ(read(log), "line 12\nline 13\nline 14\nline 15\nline 16\nline 17\nline 18\nline 19\n");
  LogOptions tail;
  tail.tail_lines = 6;
  EXPECT_EQ(read(log, tail), "line 14\nline 15\nline 16\nline 17\nline 18\nline 19\n");
  log.end(now());
  EXPECT_EQ(loop_.run(http::read_all(*from_the_start)), read(log));
}

TEST_F(ContainerLogTest, GoesOnAfterARestart) {
  {
    ContainerLog log(path());
    out(log, "first\n");
  }
  {
    std::string torn = rt::read_file(path()) + "2026-01-01T00:00:00.0000";
    rt::write_file_atomic(path(), torn);
    ContainerLog log(path());
    out(log, "second\n");
  }
  const auto body = ContainerLog::read_files(path(), LogOptions());
  EXPECT_EQ(loop_.run(http::read_all(*body)), "first\nsecond\n");
  EXPECT_THROW(ContainerLog::read_files(dir_ / "1.log", LogOptions()), Error);
}

TEST_F(ContainerLogTest, LongLogIsReadInPieces) {
  ContainerLog log(path());
  std::string all;
  for (int i = 0; i < 30000; ++i) all += fmt::format("this is line number {}\n", i);
  out(log, all);
  EXPECT_EQ(read(log), all);
  LogOptions tail;
  tail.tail_lines = 20000;
  EXPECT_EQ(read(log, tail), all.substr(all.find("this is line number 10000\n")));
}

TEST_F(ContainerLogTest, LiveGivesWhatComesAsItComes) {
  ContainerLog log(path());
  out(log, "before\n");
  const auto live = log.listen();
  out(log, "$ ");
  err(log, "e");
  auto chunk = loop_.run(live->next());
  EXPECT_EQ(chunk->bytes, "$ ");
  EXPECT_FALSE(chunk->is_error);
  chunk = loop_.run(live->next());
  EXPECT_EQ(chunk->bytes, "e");
  EXPECT_TRUE(chunk->is_error);
  for (int i = 0; i < 40; ++i) out(log, std::string(100000, static_cast<char>('a' + i % 26)));
  log.end(now());
  std::size_t size = 0;
  while ((chunk = loop_.run(live->next()))) size += chunk->bytes.size();
  EXPECT_EQ(size, 1000000U);
}

}  // namespace
}  // namespace kopper::workloads
