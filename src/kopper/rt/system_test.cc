// What touches the system beyond sockets: threads, signals and files.
#include <csignal>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "kopper/base/error.h"
#include "kopper/rt/file.h"
#include "kopper/rt/offload.h"
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

TEST_F(Files, WritesInPlaceForWhoHasItOpen) {
  const auto path = dir / "hosts";
  write_file_in_place(path, "a longer text");
  const auto before = file_stamp(path);
  write_file_in_place(path, "short");
  EXPECT_EQ(read_file(path), "short");
  EXPECT_EQ(file_stamp(path)->inode, before->inode);
  EXPECT_THROW(write_file_in_place(dir / "no" / "x", ""), Error);
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

}  // namespace
}  // namespace kopper::rt
