#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace redis::testing {

// What a finished program left. `exit` is 128 + n when signal n ended it.
struct Finished {
  int exit = 0;
  std::string out;  // both outputs
};
// Throws std::runtime_error only when it cannot be started. Killed after `patience`.
Finished run_program(const std::vector<std::string>& command, std::chrono::seconds patience = std::chrono::seconds(60));

// Asks until it is true, at most `patience` long; what it was last.
bool eventually(const std::function<bool()>& holds, std::chrono::milliseconds patience = std::chrono::seconds(60));

// A program beside the test, which writes into a file. Killed when this goes, and when the test dies.
class Process {
 public:
  Process(std::vector<std::string> command, const std::filesystem::path& output);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int pid() const { return pid_; }
  bool ended() const;
  void signal(int number) const;
  // Signals until it has ended: a redis-server that writes its first append-only file refuses SIGTERM.
  void end(int number);

 private:
  int pid_ = -1;
};

// The process of this user that listens there; -1 when there is none.
int listener(const std::string& address, unsigned port);

}  // namespace redis::testing
