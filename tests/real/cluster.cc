#include "real/cluster.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
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

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (auto& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

pid_t spawn(char* const* argv, int in, int out, int err) {
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork: " + std::string(std::strerror(errno)));
  if (pid == 0) become(argv, in, out, err);
  return pid;
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
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
  const std::vector<char*> argv = pointers(command);
  TempFile in, out, err;
  in.write(input);
  const int exit = wait_for(spawn(argv.data(), in.fd(), out.fd(), err.fd()));
  if (exit == 127) throw std::runtime_error("cannot run " + command.front() + ": " + err.read());
  return {exit, out.read(), err.read()};
}

Running::Running(std::vector<std::string> command) {
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
    throw std::runtime_error("pipe: " + std::string(std::strerror(errno)));
  pid_ = spawn(pointers(command).data(), in[0], out[1], out[1]);
  close(in[0]);
  close(out[1]);
  in_ = in[1];
  out_ = fdopen(out[0], "r");
}

Running::~Running() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    wait();
  }
  std::fclose(out_);
}

std::optional<std::string> Running::line() {
  std::string text;
  for (int c = std::fgetc(out_); c != EOF; c = std::fgetc(out_)) {
    if (c == '\n') return text;
    text += static_cast<char>(c);
  }
  if (text.empty()) return std::nullopt;
  return text;
}

int Running::wait() {
  close(std::exchange(in_, -1));
  return wait_for(std::exchange(pid_, -1));
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
      if (const char* kopper = std::getenv("KOPPER_REAL_LOCAL")) start.insert(start.end(), {"--kopper", kopper});
      if (const char* flag = std::getenv("KOPPER_REAL_FLAG")) {
        start.emplace_back("--");
        std::istringstream words(flag);
        for (std::string word; words >> word;) start.push_back(word);
      }
      tool(std::move(start));
    } catch (...) {
      std::filesystem::remove_all(dir_);
      throw;
    }
  }
  env_ = "\n" + read_file(dir_ + "/env");
  if (const char* chosen = std::getenv("KOPPER_KUBECTL")) kubectl_ = program(chosen);
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

std::string RealCluster::program(const std::string& kubectl) const {
  if (kubectl.contains('/')) return kubectl;
  std::vector<std::string> build{"build"};
  if (kubectl != "newest") build.insert(build.end(), {"--version", kubectl});
  const std::string folder = tool(std::move(build)).out;
  return folder.substr(0, folder.find('\n')) + "/kubectl";
}

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

std::vector<std::string> RealCluster::kubectl_command(std::vector<std::string> args) const {
  const std::vector<std::string> prefix{kubectl_, "--kubeconfig=" + kubeconfig(), "--cache-dir=" + dir_ + "/kubectl"};
  args.insert(args.begin(), prefix.begin(), prefix.end());
  return args;
}

Output RealCluster::kubectl(std::vector<std::string> args, const std::string& input) const {
  return run(kubectl_command(std::move(args)), input);
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
