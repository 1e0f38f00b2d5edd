#include "kopper/rt/process.h"

#include <array>
#include <csignal>
#include <filesystem>
#include <optional>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "kopper/base/error.h"
#include "kopper/rt/file.h"
#include "kopper/rt/scope.h"

namespace kopper::rt {
namespace {

using namespace std::chrono_literals;

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

ProcessSpec with_pipes(std::string script) {
  auto spec = shell(std::move(script));
  spec.stdio = Stdio::Pipes;
  return spec;
}

Task<> read_into(Stream* stream, std::string* into) {
  std::array<char, 1000> buffer;
  for (;;) {
    const auto n = co_await stream->read(buffer);
    if (n == 0) co_return;
    into->append(buffer.data(), n);
  }
}

std::string read_all(Loop& loop, Stream& stream) {
  std::string all;
  loop.run(read_into(&stream, &all));
  return all;
}

Task<> read_line(Stream* stream, std::string* into) {
  std::array<char, 1> buffer;
  while (!into->ends_with('\n')) {
    const auto n = co_await stream->read(buffer);
    if (n == 0) co_return;
    into->append(buffer.data(), n);
  }
}

TEST(ProcessPipes, InputAndBothOutputs) {
  Loop loop;
  auto spec = with_pipes("echo started >&2; cat; echo ended >&2; exit 4");
  spec.open_input = true;
  Process process(spec);
  std::string line;
  loop.run(read_line(&process.errors(), &line));
  EXPECT_EQ(line, "started\n");
  loop.run(process.input().write("to and fro"));
  loop.run(process.input().shutdown());
  EXPECT_EQ(read_all(loop, process.output()), "to and fro");
  EXPECT_EQ(read_all(loop, process.errors()), "ended\n");
  EXPECT_EQ(loop.run(process.wait()).code, 4);
  EXPECT_THROW(process.info(), Error);
}

TEST(ProcessPipes, WithoutInputItIsEmpty) {
  Loop loop;
  Process process(with_pipes("cat; echo end"));
  EXPECT_EQ(read_all(loop, process.output()), "end\n");
  EXPECT_THROW(process.input(), Error);
}

TEST(ProcessPipes, MoreThanAPipeHolds) {
  Loop loop;
  Process process(with_pipes("head -c 3000000 /dev/zero"));
  EXPECT_EQ(read_all(loop, process.output()).size(), 3000000U);
  EXPECT_TRUE(loop.run(process.wait()).ok());
}

TEST(ProcessPipes, WhatWasWrittenCanBeReadAfterTheEnd) {
  Loop loop;
  Process process(with_pipes("echo out; echo err >&2"));
  EXPECT_TRUE(loop.run(process.wait()).ok());
  EXPECT_EQ(read_all(loop, process.output()), "out\n");
  EXPECT_EQ(read_all(loop, process.errors()), "err\n");
  EXPECT_EQ(read_all(loop, process.errors()), "");
}

// One in a session of its own is not killed with the group, and has the pipe until the test closes its input.
TEST(ProcessPipes, WhoEscapedHoldsUpNobody) {
  Loop loop;
  auto spec = with_pipes("setsid cat <&3 & echo said");
  spec.argv[2] = "exec 3<&0; " + spec.argv[2];
  spec.open_input = true;
  std::string said;
  Scope scope;
  Process process(spec);
  scope.spawn(read_into(&process.output(), &said));
  loop.run(process.wait());
  loop.run(scope.join());
  EXPECT_EQ(said, "said\n");
}

TEST(ProcessPipes, CancelledReadLosesNothing) {
  Loop loop(ClockMode::Manual);
  auto spec = with_pipes("cat");
  spec.open_input = true;
  Process process(spec);
  std::string text;
  {
    Scope scope;
    scope.spawn(read_into(&process.output(), &text));
    loop.poll();
    scope.cancel();
    loop.run(scope.join());
    Scope destroyed;
    destroyed.spawn(read_into(&process.output(), &text));
    loop.poll();
  }
  loop.run(process.input().write("here"));
  loop.run(process.input().shutdown());
  EXPECT_EQ(read_all(loop, process.output()), "here");
}

TEST(ProcessPipes, WritingToOneThatDoesNotReadFails) {
  Loop loop;
  auto spec = with_pipes("exec <&-; echo closed; exec sleep 1000");
  spec.open_input = true;
  Process process(spec);
  std::string line;
  loop.run(read_line(&process.output(), &line));
  try {
    loop.run(process.input().write("to nobody"));  // and no SIGPIPE
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::Unavailable);
  }
}

TEST(ProcessPipes, ChildHasNoOtherDescriptors) {
  Loop loop;
  Process process(with_pipes("ls /proc/self/fd"));
  EXPECT_EQ(read_all(loop, process.output()), "0\n1\n2\n3\n");  // 3: the folder that ls reads
}

TEST(ProcessPipes, InfoIsDescriptorThree) {
  Loop loop;
  auto spec = with_pipes(R"(echo '{"child-pid": 7}' >&3)");
  spec.open_info = true;
  Process process(spec);
  EXPECT_EQ(read_all(loop, process.info()), "{\"child-pid\": 7}\n");
}

TEST(ProcessPipes, LimitsAreThereFromTheStart) {
  Loop loop;
  auto spec = with_pipes("ulimit -n; ulimit -c");
  spec.limits = {{"nofile", 99}, {"core", 0}};
  Process process(spec);
  EXPECT_EQ(read_all(loop, process.output()), "99\n0\n");
}

TEST(ProcessTerminal, IsOneAndIsResized) {
  Loop loop;
  auto spec = shell("trap 'stty size' WINCH; test -t 0 && test -t 1 && test -t 2 && echo yes; read a; read b; exit 5");
  spec.stdio = Stdio::Terminal;
  Process process(spec);
  std::string line;
  loop.run(read_line(&process.output(), &line));
  EXPECT_EQ(line, "yes\r\n");
  process.resize(132, 43);
  line.clear();
  loop.run(process.input().write("\n"));  // dash runs the trap between two commands
  while (line.find("43 132") == std::string::npos) {
    line.clear();
    loop.run(read_line(&process.output(), &line));
    ASSERT_FALSE(line.empty());
  }
  loop.run(process.input().write("\n"));
  read_all(loop, process.output());
  EXPECT_EQ(loop.run(process.wait()).code, 5);
}

TEST(ProcessTerminal, InterruptsAsAKeyboardDoes) {
  Loop loop;
  auto spec = shell("echo up; exec cat");
  spec.stdio = Stdio::Terminal;
  Process process(spec);
  std::string line;
  loop.run(read_line(&process.output(), &line));
  loop.run(process.input().write("\x03"));
  EXPECT_EQ(loop.run(process.wait()).signal, SIGINT);
}

TEST(ProcessTerminal, MayBeLeftForTheProgramToTake) {
  Loop loop;
  auto spec = shell("(: </dev/tty) 2>&- || echo none; setsid --ctty --wait sh -c ': </dev/tty && echo taken'");
  spec.stdio = Stdio::Terminal;
  spec.takes_terminal = true;
  Process process(spec);
  EXPECT_EQ(read_all(loop, process.output()), "none\r\ntaken\r\n");
}

TEST(ProcessTerminal, EndsWhenTheHandleGoes) {
  Loop loop;
  int pid = 0;
  {
    auto spec = shell("exec sleep 1000");
    spec.stdio = Stdio::Terminal;
    Process process(spec);
    pid = process.pid();
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

}  // namespace
}  // namespace kopper::rt
