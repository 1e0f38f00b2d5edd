#include "session.h"

#include <fmt/core.h>

#include "kopper/client/transport.h"
#include "kopper/json/yaml.h"

#include "version.h"

namespace kopper::cmd {
namespace {

client::Config config_of(const Args& args) {
  auto config = client::load_config({.kubeconfig = args.kubeconfig, .context = args.context});
  if (!args.as_user.empty()) {
    config.impersonate = {.user = args.as_user, .uid = {}, .groups = args.as_groups, .extra = {}};
  }
  return config;
}

client::Client connect(const client::Config& config, const Args& args) {
  return client::Client(client::make_transport(config),
                        {.field_manager = args.field_manager,
                         .user_agent = fmt::format("kopper/{}", kVersion),
                         .on_warning = [](std::string_view text) { fmt::print(stderr, "Warning: {}\n", text); },
                         .timeout = args.timeout,
                         .max_retries = 2});  // a person waits
}

}  // namespace

Session::Session(const Args& args) : Session(config_of(args), args) {}

Session::Session(const client::Config& config, const Args& args)
    : client(connect(config, args)),
      mapper(client),
      namespace_(args.namespace_.empty() ? config.namespace_ : args.namespace_) {}

std::string display_name(const client::ApiResource& resource, std::string_view name) {
  std::string kind = resource.singular;
  if (kind.empty()) kind = resource.resource.plural;
  if (!resource.resource.group.empty()) kind += "." + resource.resource.group;
  return fmt::format("{}/{}", kind, name);
}

void print_object(json::Value object, Output output) {
  const auto strip = [](json::Value& one) {
    if (auto* metadata = one.as_object() != nullptr ? one.as_object()->find("metadata") : nullptr) {
      if (metadata->as_object() != nullptr) metadata->as_object()->erase("managedFields");
    }
  };
  strip(object);
  if (auto* items = object.as_object() != nullptr ? object.as_object()->find("items") : nullptr) {
    if (items->as_array() != nullptr) {
      for (auto& item : *items->as_array()) strip(item);
    }
  }
  fmt::print("{}", output == Output::Yaml ? json::to_yaml(object) : json::dump_pretty(object));
}

void print_error(const Error& error) {
  fmt::print(stderr, "error: {}\n", error.what());
  for (const auto& cause : error.causes) {
    // Servers repeat a single cause in the message.
    if (std::string_view(error.what()).find(cause.message) != std::string_view::npos) continue;
    fmt::print(stderr, "  {}: {}\n", cause.field, cause.message);
  }
}

}  // namespace kopper::cmd
