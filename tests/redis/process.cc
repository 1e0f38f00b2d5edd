#include "redis/process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace redis::testing {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::runtime_error failure(const std::string& what) { return std::runtime_error(what + ": " + std::strerror(errno)); }

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (auto& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// A child with these outputs that dies with this program.
pid_t spawn(std::vector<std::string> command, int output) {
  const std::vector<char*> argv = pointers(command);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw failure("fork");
  if (pid > 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The inode of the socket that listens there; "" when there is none.
std::string listening_socket(const std::string& address, unsigned port) {
  in_addr binary{};
  ::inet_pton(AF_INET, address.c_str(), &binary);
  std::array<char, 16> wanted{};
  std::snprintf(wanted.data(), wanted.size(), "%08X:%04X", binary.s_addr, port);
  std::ifstream table("/proc/net/tcp");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, retransmits, user, timeout, inode;
    words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >> inode;
    if (local == wanted.data() && state == "0A") return inode;
  }
  return "";
}

}  // namespace

Finished run_program(const std::vector<std::string>& command, std::chrono::seconds patience) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw failure("pipe");
  const pid_t pid = spawn(command, ends[1]);
  ::close(ends[1]);
  Finished out;
  const auto until = Clock::now() + patience;
  for (std::array<char, 4096> buffer{};;) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now()).count();
    pollfd ready{.fd = ends[0], .events = POLLIN, .revents = 0};
    if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) == 0) {
      ::kill(pid, SIGKILL);
      out.out += "\n" + command.front() + ": killed after " + std::to_string(patience.count()) + " s";
      break;
    }
    const ssize_t got = ::read(ends[0], buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    out.out.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  out.exit = wait_for(pid);
  if (out.exit == 127) throw std::runtime_error("cannot run " + command.front() + ": " + out.out);
  return out;
}

bool eventually(const std::function<bool()>& holds, milliseconds patience) {
  for (const auto until = Clock::now() + patience; Clock::now() < until; std::this_thread::sleep_for(milliseconds(10)))
    if (holds()) return true;
  return holds();
}

Process::Process(std::vector<std::string> command, const std::filesystem::path& output) {
  const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) throw failure(output.string());
  pid_ = spawn(std::move(command), file);
  ::close(file);
}

Process::~Process() {
  if (pid_ > 0) end(SIGKILL);
}

bool Process::ended() const {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
}

void Process::signal(int number) const { ::kill(pid_, number); }

void Process::end(int number) {
  do signal(number);
  while (!eventually([this] { return ended(); }, std::chrono::seconds(1)));
  wait_for(std::exchange(pid_, -1));
}

int listener(const std::string& address, unsigned port) {
  const std::string inode = listening_socket(address, port);
  if (inode.empty()) return -1;
  std::error_code gone;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    const std::string name = process.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    for (std::filesystem::directory_iterator each(process.path() / "fd", gone), end; each != end;
         each.increment(gone)) {
      if (std::filesystem::read_symlink(each->path(), gone) == "socket:[" + inode + "]") return std::stoi(name);
      if (gone) break;
    }
  }
  return -1;
}

}  // namespace redis::testing
