#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kopper/client/config.h"
#include "kopper/http/handler.h"
#include "kopper/json/value.h"
#include "kopper/rt/process.h"
#include "kopper/rt/scope.h"

namespace kopper::local {

struct Answer {
  int status = 0;
  http::Headers headers;
  std::string body;

  json::Value json() const;  // null when it is none
};

// Asks and reads the answer to its end. Throws Error when there is none. `handler` outlives the task.
Task<Answer> ask(http::Handler& handler, http::Request request);
http::Request request(std::string method, std::string target, std::string body = "",
                      std::string type = "application/json");

// `kopper cluster`, or `kopper up`, as its users meet it: the program itself, with its files in a temporary folder of
// its own.
class Program {
 public:
  Program();
  ~Program();  // kills it
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path data() const { return folder_ / "data"; }  // of the flag --data-dir, when a test gives it
  std::string log() const;                                         // what it printed

  std::string verb = "cluster";
  // More of argv, in front: {"prlimit", "--fsize=…"}.
  std::vector<std::string> wrapper;

  void launch(std::vector<std::string> flags = std::vector<std::string>());
  // Launches it and waits until it is ready. Throws Error with what it printed when it ends instead.
  Task<> start(std::vector<std::string> flags = std::vector<std::string>());
  Task<> kill();                 // -9
  Task<rt::ExitStatus> stop();   // SIGTERM
  Task<rt::ExitStatus> ended();  // by itself

  bool ready() const;
  int pid() const { return process_->pid(); }
  client::Config config() const;  // how to reach it, as an administrator
  std::shared_ptr<http::Handler> connect() const;
  std::size_t resident_mb() const;  // memory that it has now

 private:
  Task<> note_end();

  const std::filesystem::path folder_;
  std::optional<rt::Process> process_;
  std::optional<rt::ExitStatus> status_;
  rt::Scope tasks_;
};

}  // namespace kopper::local
