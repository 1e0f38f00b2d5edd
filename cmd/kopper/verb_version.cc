#include <fmt/core.h>

#include "verbs.h"
#include "version.h"

namespace kopper::cmd {
namespace {

void print_version(Output output, const client::ServerVersion* server) {
  if (output == Output::Json || output == Output::Yaml) {
    json::Object versions{{"client", json::Object{{"version", kVersion}}}};
    if (server != nullptr) {
      versions["server"] = json::Object{{"version", server->git_version}, {"platform", server->platform}};
    }
    return print_object(std::move(versions), output);
  }
  fmt::print("kopper: {}\n", kVersion);
  if (server != nullptr) fmt::print("server: {} ({})\n", server->git_version, server->platform);
}

}  // namespace

Task<int> run_version(Session* session, const Args* args) {
  if (session == nullptr) {
    print_version(args->output, nullptr);
    co_return 0;
  }
  const auto server = co_await client::server_version(session->client);
  print_version(args->output, &server);
  co_return 0;
}

}  // namespace kopper::cmd
