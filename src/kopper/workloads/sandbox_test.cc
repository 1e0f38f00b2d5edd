#include "kopper/workloads/sandbox.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "kopper/rt/file.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/process.h"

namespace kopper::workloads {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
  const auto result = sh("ls /proc | grep -c '^[0-9]'; ls /; ls /home /root 2>&1");
  EXPECT_THAT(result.out, Not(HasSubstr("\nroot\n")));
  EXPECT_THAT(result.out, HasSubstr("No such file"));
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

TEST_F(Sandboxed, ExitCodesComeThrough) {
  EXPECT_EQ(sh("exit 7").status.code, 7);
  EXPECT_EQ(sh("kill -9 $$").status.code, 137);
}

}  // namespace
}  // namespace kopper::workloads
