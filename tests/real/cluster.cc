#include "real/cluster.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kopper::testing {
namespace {

const std::string kTool = std::string(KOPPER_SOURCE_DIR) + "/tools/real-apiserver";

// Standard input and outputs of a child are files, not pipes: nobody can block on a full one.
class TempFile {
 public:
  TempFile() : file_(std::tmpfile()) {
    if (!file_) throw std::runtime_error("no temporary file");
  }
  ~TempFile() { std::fclose(file_); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  int fd() const { return fileno(file_); }
  void write(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), file_);
    std::rewind(file_);
  }
  std::string read() {
    std::rewind(file_);
    std::string text;
    char buffer[4096];
    while (const auto n = std::fread(buffer, 1, sizeof buffer, file_)) text.append(buffer, n);
    return text;
  }

 private:
  std::FILE* file_;
};

[[noreturn]] void become(char* const* argv, int in, int out, int err) {
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execvp(argv[0], argv);
  _exit(127);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string make_temp_dir() {
  std::string path = (std::filesystem::temp_directory_path() / "kopper-real.XXXXXX").string();
  if (!mkdtemp(path.data())) throw std::runtime_error("cannot create " + path);
  return path;
}

std::optional<RealCluster> the_cluster;

class Environment : public ::testing::Environment {
 public:
  void SetUp() override {
    try {
      the_cluster.emplace();
    } catch (const std::exception& e) {
      FAIL() << e.what();
    }
  }
  void TearDown() override { the_cluster.reset(); }
};

}  // namespace

Output run(std::vector<std::string> command, const std::string& input) {
  std::vector<char*> argv;
  for (auto& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  TempFile in, out, err;
  in.write(input);
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork: " + std::string(std::strerror(errno)));
  if (pid == 0) become(argv.data(), in.fd(), out.fd(), err.fd());
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  const int exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (exit == 127) throw std::runtime_error("cannot run " + command.front() + ": " + err.read());
  return {exit, out.read(), err.read()};
}

RealCluster::RealCluster() {
  if (const char* running = std::getenv("KOPPER_REAL_DIR")) {
    dir_ = running;
    owned_ = false;
  } else {
    dir_ = make_temp_dir();
    try {
      std::vector<std::string> start{"start", dir_, "--owner", std::to_string(getpid())};
      if (const char* version = std::getenv("KOPPER_REAL_VERSION")) start.insert(start.end(), {"--version", version});
      tool(std::move(start));
    } catch (...) {
      std::filesystem::remove_all(dir_);
      throw;
    }
  }
  env_ = "\n" + read_file(dir_ + "/env");
}

RealCluster::~RealCluster() {
  if (!owned_) return;
  run({kTool, "stop", dir_});
  std::error_code ignored;
  std::filesystem::remove_all(dir_, ignored);
}

std::string RealCluster::value(const std::string& key) const {
  const auto at = env_.find("\n" + key + "=");
  if (at == std::string::npos) throw std::runtime_error(dir_ + "/env has no " + key);
  const auto begin = at + key.size() + 2;
  return env_.substr(begin, env_.find('\n', begin) - begin);
}

bool RealCluster::before(int minor) const { return std::stoi(version().substr(sizeof "v1." - 1)) < minor; }

Output RealCluster::tool(std::vector<std::string> args) const {
  args.insert(args.begin(), kTool);
  auto result = run(args);
  if (result.exit != 0) throw std::runtime_error("tools/real-apiserver " + args[1] + " failed:\n" + result.err);
  return result;
}

void RealCluster::restart_apiserver(std::vector<std::string> more_flags) {
  more_flags.insert(more_flags.begin(), {"restart", dir_, "--"});
  tool(std::move(more_flags));
}

long long RealCluster::compact_etcd() { return std::stoll(tool({"compact", dir_}).out); }

Output RealCluster::kubectl(std::vector<std::string> args, const std::string& input) const {
  const std::vector<std::string> prefix{"kubectl", "--kubeconfig=" + kubeconfig(), "--cache-dir=" + dir_ + "/kubectl"};
  args.insert(args.begin(), prefix.begin(), prefix.end());
  return run(std::move(args), input);
}

RealCluster& cluster() {
  if (!the_cluster) throw std::logic_error("the cluster exists only while tests run");
  return *the_cluster;
}

}  // namespace kopper::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  ::testing::AddGlobalTestEnvironment(new kopper::testing::Environment);  // gtest deletes it
  return RUN_ALL_TESTS();
}
