// Keeps a ConfigMap as it should be, whoever changes it, and tells when somebody did. Stop it with Ctrl-C.
#include <fmt/core.h>

#include "kopper/api/names.h"
#include "kopper/client/api.h"
#include "kopper/client/config.h"
#include "kopper/client/transport.h"
#include "kopper/client/watcher.h"
#include "kopper/rt/loop.h"

using kopper::ConfigMap;

ConfigMap desired() {
  return {.metadata = {.name = "settings", .namespace_ = "default", .labels = {{"example", "settings"}}},
          .data = {{"colour", "copper"}}};
}

kopper::Task<> keep(kopper::client::Client client) {
  const auto config_maps = client.of<ConfigMap>();
  kopper::client::ApplyOptions options{.force = true};
  co_await config_maps.apply(desired(), options);  // server-side apply

  kopper::client::WatcherOptions ours{.namespace_ = "default", .label_selector = "example=settings"};
  kopper::client::Changes<ConfigMap> changes(config_maps, ours);
  while (true) {  // goes on over disconnects, restarts and expired versions
    const auto change = co_await changes.next();
    const bool gone = change.type == kopper::client::ChangeType::Deleted;
    const bool right = !gone && change.object && change.object->data == desired().data;
    if (right || change.key.name != "settings") continue;
    fmt::print("{} was {}, putting it back\n", change.key.str(), gone ? "deleted" : "changed");
    co_await config_maps.apply(desired(), options);
  }
}

int main() {
  try {
    kopper::rt::Loop loop;
    const auto config = kopper::client::load_config();  // $KUBECONFIG, in-cluster, ~/.kube/config
    loop.run(keep(kopper::client::Client(kopper::client::make_transport(config))));
  } catch (const kopper::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return exit_code(error.code);
  }
}
