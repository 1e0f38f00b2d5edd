#include <cstdio>

#include <fmt/core.h>

#include "kopper/base/log.h"
#include "kopper/plane/local_server.h"
#include "kopper/rt/file.h"
#include "kopper/rt/signal.h"

#include "verbs.h"

namespace kopper::cmd {

Task<int> run_cluster(const Args* args) {
  plane::LocalServerOptions options;
  options.port = args->port;
  options.data_dir = args->data_dir;
  options.token_file = args->token_file;
  options.plane.event_ttl = args->event_ttl;
  options.debug_faults = args->debug_faults;
  if (!args->version_compat.empty()) options.plane.version = fmt::format("v{}.0", args->version_compat);
  if (args->history > 0) options.plane.state.history = args->history;
  plane::LocalServer server(options);
  co_await server.start();
  const std::string path = args->kubeconfig.empty() ? "kopper.kubeconfig" : args->kubeconfig;
  rt::write_file_atomic(path, server.kubeconfig(), 0600);
  fmt::print("kopper cluster is ready at {}: for development, on this machine only\n", server.url());
  fmt::print("  {}\n", args->data_dir.empty() ? "objects are kept in memory and end with it (--data-dir keeps them)"
                                              : fmt::format("objects are kept in {}", args->data_dir));
  if (args->debug_faults) fmt::print("  faults may be asked for at /debug/faults\n");
  fmt::print("  export KUBECONFIG={}\n", std::filesystem::absolute(path).string());
  std::fflush(stdout);
  co_await rt::wait_stop_signal();
  co_await server.stop(std::chrono::seconds(5));
  co_return 0;
}

}  // namespace kopper::cmd
