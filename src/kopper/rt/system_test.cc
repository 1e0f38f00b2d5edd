// What touches the system beyond sockets: threads, signals, files and processes.
#include <csignal>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "kopper/base/error.h"
#include "kopper/rt/file.h"
#include "kopper/rt/offload.h"
#include "kopper/rt/process.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/signal.h"

namespace kopper::rt {
namespace {

using namespace std::chrono_literals;

TEST(Loop, PostFromAnotherThread) {
  Loop loop;
  int value = 0;
  std::thread thread([&] { loop.post([&] { value = 7; }); });
  thread.join();
  loop.poll();
  EXPECT_EQ(value, 7);
}

TEST(Loop, RemoteOutlivesTheLoop) {
  auto loop = std::make_unique<Loop>();
  const auto remote = loop->remote();
  loop.reset();
  remote.post([] { FAIL(); });
}

TEST(Offload, ReturnsTheValueAndForwardsErrors) {
  Loop loop(ClockMode::Manual);
  ThreadPool pool(2);
  const auto here = std::this_thread::get_id();
  EXPECT_NE(loop.run(offload(pool, [] { return std::this_thread::get_id(); })), here);
  EXPECT_THROW(loop.run(offload(pool, [] { throw Error(Code::Conflict, "no"); })), Error);
  EXPECT_EQ(*loop.run(offload(pool, [] { return std::make_unique<int>(5); })), 5);
}

TEST(Offload, CallerMayGoAwayMeanwhile) {
  std::atomic<bool> go = false;
  ThreadPool pool;
  {
    Loop loop(ClockMode::Manual);
    Scope scope;
    scope.spawn(offload(pool, [&go] { go.wait(false); }));
    loop.poll();
    scope.cancel();
    loop.poll();
    EXPECT_TRUE(scope.empty());
    scope.spawn(offload(pool, [] {}));
  }
  go = true;
  go.notify_all();
}

TEST(Signal, IsReceived) {
  Loop loop;
  std::optional<int> received;
  Scope scope;
  scope.spawn([](std::optional<int>* out) -> Task<> {
    std::vector<int> signals{SIGUSR1, SIGUSR2};
    *out = co_await wait_signal(std::move(signals));
  }(&received));
  loop.poll();
  std::raise(SIGUSR2);
  loop.run(scope.join());
  EXPECT_EQ(received, SIGUSR2);
}

TEST(Signal, WaitMayBeGivenUp) {
  Loop loop;
  Scope scope;
  scope.spawn([]() -> Task<> { co_await wait_signal(std::vector<int>(1, SIGUSR1)); }());
  loop.poll();
  scope.cancel();
  loop.run(scope.join());
  scope.spawn([]() -> Task<> { co_await wait_signal(std::vector<int>(1, SIGUSR1)); }());
  loop.poll();
}

class Files : public testing::Test {
 public:
  Files() {
    std::string name = testing::TempDir() + "rt_test.XXXXXX";
    dir = ::mkdtemp(name.data());
  }
  ~Files() override { std::filesystem::remove_all(dir); }
  std::filesystem::path dir;
};

TEST_F(Files, WrittenFileIsReadBack) {
  const auto path = dir / "a";
  write_file_atomic(path, std::string(100'000, 'x'), 0600);
  EXPECT_EQ(read_file(path).size(), 100'000U);
  struct stat found{};
  ASSERT_EQ(::stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
  EXPECT_THROW(read_file(path, 1000), Error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir), {}), 1) << "no temporary file is left";
}

TEST_F(Files, ErrorsNameThePath) {
  const auto path = dir / "missing" / "a";
  for (const auto& call : {std::function<void()>([&] { read_file(path); }),
                           std::function<void()>([&] { write_file_atomic(path, "x"); })}) {
    try {
      call();
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code, Code::NotFound);
      EXPECT_EQ(std::string(error.what()), path.native() + ": No such file or directory");
    }
  }
}

TEST_F(Files, RotatedFileIsReadAgainOnlyWhenReplaced) {
  const auto path = dir / "token";
  write_file_atomic(path, "one");
  RotatedFile file(path);
  EXPECT_TRUE(file.changed());
  EXPECT_EQ(file.read(), "one");
  EXPECT_FALSE(file.changed());
  write_file_atomic(path, "two");
  EXPECT_TRUE(file.changed());
  EXPECT_EQ(file.read(), "two");
  std::filesystem::remove(path);
  EXPECT_THROW(file.read(), Error);
}

ProcessSpec shell(std::string script) {
  ProcessSpec spec;
  spec.argv = {"sh", "-c", std::move(script)};
  return spec;
}

TEST(Process, GivesOutputAndStatus) {
  Loop loop;
  auto spec = shell("cat; echo $A $B >&2; pwd >&2; exit 3");
  spec.input = "in";
  spec.env = {{"A", "1"}, {"B", "2"}};
  spec.cwd = "/";
  const auto result = loop.run(run_process(spec));
  EXPECT_EQ(result.out, "in");
  EXPECT_EQ(result.err, "1 2\n/\n");
  EXPECT_EQ(result.status.code, 3);
  EXPECT_EQ(result.status.str(), "exit code 3");
  EXPECT_FALSE(result.truncated);
}

TEST(Process, OutputIsCapped) {
  Loop loop;
  auto spec = shell("head -c 300000 /dev/zero");
  spec.output_limit = 1000;
  const auto result = loop.run(run_process(spec));
  EXPECT_EQ(result.out.size(), 1000U);
  EXPECT_TRUE(result.truncated);
  EXPECT_TRUE(result.status.ok());
}

TEST(Process, EnvironmentCanBeCleared) {
  Loop loop;
  ProcessSpec spec;
  spec.argv = {"/usr/bin/env"};
  spec.clear_env = true;
  spec.env = {{"ONLY", "this"}};
  EXPECT_EQ(loop.run(run_process(spec)).out, "ONLY=this\n");
}

TEST(Process, MissingProgramIsNamed) {
  Loop loop;
  ProcessSpec spec;
  spec.argv = {"no-such-program"};
  try {
    loop.run(run_process(spec));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::NotFound);
    EXPECT_STREQ(error.what(), "run no-such-program: No such file or directory");
  }
}

// The pipe from a process and its children ends when the last of them is gone.
TEST(Process, TimeoutKillsTheWholeGroup) {
  Loop loop(ClockMode::Manual);
  std::optional<Code> code;
  Scope scope;
  const auto fifo_dir = testing::TempDir() + "rt_fifo.XXXXXX";
  std::string name = fifo_dir;
  const std::filesystem::path dir = ::mkdtemp(name.data());
  const auto fifo = dir / "alive";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  scope.spawn([](std::string path, std::optional<Code>* out) -> Task<> {
    try {
      auto spec = shell("exec 3>" + path + "; sleep 1000 & sleep 1000");
      co_await timeout(5s, run_process(std::move(spec)));
    } catch (const Error& error) {
      *out = error.code;
    }
  }(fifo, &code));
  loop.poll();
  std::FILE* alive = std::fopen(fifo.c_str(), "r");  // returns when the shell has opened the other end
  loop.advance(5s);
  EXPECT_EQ(code, Code::Timeout);
  EXPECT_EQ(std::fgetc(alive), EOF);  // returns when both are dead
  std::fclose(alive);
  std::filesystem::remove_all(dir);
}

TEST(Process, WhatIsLeftOfTheGroupEndsWithTheProgram) {
  Loop loop;
  const auto result = loop.run(run_process(shell("sleep 1000 & echo done")));
  EXPECT_EQ(result.out, "done\n");
  EXPECT_TRUE(result.status.ok());
}

TEST(Process, HandleSignalsAndWaits) {
  Loop loop;
  Process process(shell("exec sleep 1000"));
  process.signal(SIGTERM);
  const auto status = loop.run(process.wait());
  EXPECT_EQ(status.signal, SIGTERM);
  EXPECT_EQ(status.code, 128 + SIGTERM);
  EXPECT_EQ(status.str(), "killed by signal 15 (Terminated)");
  EXPECT_EQ(loop.run(process.wait()).signal, SIGTERM);
}

TEST(Process, HandleWritesToAFile) {
  Loop loop;
  std::string name = testing::TempDir() + "rt_out.XXXXXX";
  const std::filesystem::path dir = ::mkdtemp(name.data());
  auto spec = shell("echo out; echo err >&2");
  spec.output_file = dir / "log";
  Process process(spec);
  EXPECT_TRUE(loop.run(process.wait()).ok());
  EXPECT_EQ(read_file(dir / "log"), "out\nerr\n");
  std::filesystem::remove_all(dir);
}

TEST(Process, DestructorKills) {
  Loop loop;
  int pid = 0;
  {
    Process process(shell("sleep 1000"));
    pid = process.pid();
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

}  // namespace
}  // namespace kopper::rt
