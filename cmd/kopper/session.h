#pragma once

#include <string>
#include <string_view>

#include "kopper/client/api.h"
#include "kopper/client/client.h"
#include "kopper/client/config.h"
#include "kopper/client/discovery.h"
#include "kopper/json/value.h"

#include "args.h"

namespace kopper::cmd {

// One run of the tool: the cluster it talks to. Not copied, not moved; lives in main as long as the loop runs.
class Session {
 public:
  // Reads the kubeconfig; connects to nothing yet.
  explicit Session(const Args& args);
  Session(const client::Config& config, const Args& args);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  client::Client client;
  client::RestMapper mapper;
  std::string namespace_;  // the flag's, else the context's
};

// "pod/web", "deployment.apps/web".
std::string display_name(const client::ApiResource& resource, std::string_view name);

// Prints `object` as JSON or YAML, as kubectl does: without managedFields.
void print_object(json::Value object, Output output);

// "error: …" on standard error, each cause that adds something below it.
void print_error(const Error& error);

}  // namespace kopper::cmd
