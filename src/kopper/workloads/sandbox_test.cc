#include "kopper/workloads/sandbox.h"

#include <array>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "kopper/rt/file.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/pids.h"
#include "kopper/rt/process.h"

namespace kopper::workloads {
namespace {

using ::testing::HasSubstr;

struct Sandboxed : ::testing::Test {
  Sandboxed() : folder(std::filesystem::temp_directory_path() / ("kopper-sandbox-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder);
    rt::write_file_atomic(folder / "hosts", "127.1.2.3 redis-0.redis\n");
    sandbox.hostname = "redis-0";
    sandbox.hosts_file = folder / "hosts";
    sandbox.env = {{"PATH", "/usr/bin:/bin"}, {"COLOUR", "copper"}};
  }
  ~Sandboxed() override { std::filesystem::remove_all(folder); }

  rt::ProcessResult sh(std::string script) {
    sandbox.argv = {"sh", "-c", std::move(script)};
    rt::ProcessSpec spec;
    spec.argv = bubblewrap(sandbox);
    spec.clear_env = true;
    rt::Loop loop;
    return loop.run(rt::run_process(spec));
  }

  std::filesystem::path folder;
  Sandbox sandbox;
};

TEST_F(Sandboxed, HasItsOwnNameEnvironmentAndHosts) {
  const auto result = sh("hostname; echo $COLOUR; cat /etc/hosts; echo ${HOME-none}; pwd");
  EXPECT_EQ(result.status.code, 0) << result.err;
  EXPECT_EQ(result.out, "redis-0\ncopper\n127.1.2.3 redis-0.redis\nnone\n/\n");
}

TEST_F(Sandboxed, SeesOnlyItsOwnProcessesAndFiles) {
  const auto result = sh("ls /proc | grep -c '^[0-9]'; ls -A /home /root; ls /etc/shadow || echo hidden");
  EXPECT_THAT(result.out, HasSubstr("/home:\n\n/root:\nhidden\n"));
  EXPECT_LT(std::atoi(result.out.c_str()), 10);
}

TEST_F(Sandboxed, WritesToItsVolumesOnly) {
  const auto data = folder / "data";
  const auto config = folder / "config";
  std::filesystem::create_directories(data);
  std::filesystem::create_directories(config);
  rt::write_file_atomic(config / "a", "from outside");
  // The one inside the other is given first.
  sandbox.mounts = {{config, "/data/config", true}, {data, "/data"}, {"", "/scratch"}};
  sandbox.cwd = "/data";
  const auto result =
      sh("cat config/a; echo kept > file; echo gone > /scratch/file; echo x > config/a || echo refused; "
         "echo x > /usr/x || echo refused");
  EXPECT_EQ(result.out, "from outsiderefused\nrefused\n") << result.err;
  EXPECT_EQ(rt::read_file((data / "file").string()), "kept\n");
  EXPECT_EQ(rt::read_file((config / "a").string()), "from outside");
}

TEST_F(Sandboxed, MakesPlacesForVolumesInFoldersOfTheMachine) {
  const auto data = folder / "data";
  std::filesystem::create_directories(data);
  rt::write_file_atomic(data / "a", "mounted");
  sandbox.mounts = {{data, "/usr/local/etc/of-this-test", true}, {data, "/etc/ssl/of-this-test", true}};
  const auto result =
      sh("cat /usr/local/etc/of-this-test/a /etc/ssl/of-this-test/a; ls /usr/bin/env /etc/ssl/certs > /dev/null");
  EXPECT_EQ(result.out, "mountedmounted") << result.err;
  EXPECT_EQ(result.status.code, 0) << result.err;
}

TEST_F(Sandboxed, CommandsJoinIt) {
  sandbox.argv = {"sh", "-c", "echo mine > /tmp/file; echo ready; sleep 60"};
  sandbox.user = 999;
  sandbox.env.clear();
  rt::Loop loop;
  rt::ProcessSpec spec;
  spec.argv = bubblewrap(sandbox);
  spec.stdio = rt::Stdio::Pipes;
  rt::Process process(spec);
  std::array<char, 6> ready{};
  loop.run(rt::read_exactly(process.output(), ready));
  rt::ProcessSpec command;
  command.argv =
      enter_sandbox(sandbox, rt::children_of(process.pid()).at(0), {"sh", "-c", "id -u; cat /tmp/file; hostname"});
  const auto result = loop.run(rt::run_process(command));
  EXPECT_EQ(result.out, "999\nmine\nredis-0\n") << result.err;
}

TEST_F(Sandboxed, ExitCodesComeThrough) {
  EXPECT_EQ(sh("exit 7").status.code, 7);
  EXPECT_EQ(sh("kill -9 $$").status.code, 137);
}

}  // namespace
}  // namespace kopper::workloads
