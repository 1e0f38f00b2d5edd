#include "kopper/client/config.h"
#include "kopper/client/transport.h"
#include "kopper/kopper.h"
#include "kopper/rt/scope.h"

#include "peers/kopper/peer.h"

namespace kopper::bench {
namespace {

struct MemcachedSpec {
  std::int32_t size = 1;
  std::string image = "memcached:1.6-alpine";
};
struct MemcachedStatus {
  std::int32_t ready = 0;
};
struct Memcached {
  static constexpr Kind kind{"cache.example.com", "v1alpha1", "Memcached"};
  ObjectMeta metadata;
  MemcachedSpec spec;
  MemcachedStatus status;
};

Deployment desired(const Memcached& mc) {
  const Labels labels{{"app", "memcached"}, {"instance", mc.metadata.name}};
  return {.metadata = {.name = mc.metadata.name, .labels = labels},
          .spec = {.replicas = mc.spec.size,
                   .selector = {.matchLabels = labels},
                   .template_ = {.metadata = {.labels = labels},
                                 .spec = {.containers = {{.name = "memcached",
                                                          .image = mc.spec.image,
                                                          .ports = {{.containerPort = 11211}}}}}}}};
}

Task<Next> reconcile(Context<Memcached> mc) {
  ++counts().reconciles;
  const auto live = co_await mc.apply(desired(*mc));
  const MemcachedStatus status{.ready = live.status.readyReplicas};
  co_await mc.set_status(status);
  co_return Next::wait();
}

}  // namespace

Task<> run_operator() {
  ManagerOptions options;
  options.health = runtime::HealthOptions();
  options.health->probe_address = options.health->metrics_address = "127.0.0.1:0";
  Manager manager(client::make_transport(client::load_config()), options);
  manager.add(controller<Memcached>().owns<Deployment>().reconcile(reconcile));
  rt::Scope scope;
  scope.spawn(manager.run());
  co_await manager.cluster().cache.wait_synced();
  say("synced");
  co_await serve();
}

}  // namespace kopper::bench
