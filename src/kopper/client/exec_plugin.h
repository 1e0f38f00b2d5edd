#pragma once

#include <cstdint>
#include <exception>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kopper/base/error.h"
#include "kopper/client/config.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/task.h"
#include "kopper/rt/wait_list.h"

namespace kopper::client {

// What a credential plugin printed.
struct ExecCredential {
  std::string token;
  std::string client_certificate;  // PEM; with client_key or not at all
  std::string client_key;
  std::optional<rt::WallTime> expires;  // never, when absent
};

// The ExecCredential a plugin finds in KUBERNETES_EXEC_INFO. Reads the CA file when the plugin wants cluster info.
std::string exec_info(const Config& config);

// Reads what a plugin printed; it must be of `api_version`. Errors never show the output, it is secret.
std::expected<ExecCredential, Error> parse_exec_credential(std::string_view output, std::string_view api_version);

// Runs the plugin of a Config and keeps what it printed until that expires or is refused. Concurrent callers share one
// run. A plugin never gets the terminal: one that cannot do without is an error. Loop-confined.
class ExecPlugin {
 public:
  using Credential = std::shared_ptr<const ExecCredential>;

  // `config.exec` must be set.
  explicit ExecPlugin(Config config) : config_(std::move(config)) {}

  // Throws Error{Unauthorized} with the plugin's own words when it fails, Error{Timeout} when it takes over a minute.
  Task<Credential> get();
  // After a server refused `refused`: runs the plugin again, unless somebody has done so already.
  Task<Credential> renew(Credential refused);
  // The last one, expired or not; null before the first run.
  Credential current() const { return current_; }

 private:
  bool fresh() const;
  Task<Credential> run();
  Task<ExecCredential> execute() const;

  // constant after construction
  Config config_;
  // this loop only
  Credential current_;
  bool running_ = false;
  std::uint64_t runs_ = 0;
  std::exception_ptr failure_;  // of the last run
  rt::WaitList waiting_;
};

}  // namespace kopper::client
