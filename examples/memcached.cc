// A whole operator: the API, what should be, what is, and main. CRD, roles and deployment come out of the program
// (--print-crds, --print-rbac, --print-deployment); --help shows the rest.
#include "kopper/kopper.h"

struct MemcachedSpec {
  std::int32_t size = 1;
  std::string image = "memcached:1.6-alpine";
  static constexpr auto rules = kopper::rules(kopper::field<&MemcachedSpec::size>.min(1).max(5));
};
struct MemcachedStatus {
  std::int32_t ready = 0;
  std::vector<kopper::Condition> conditions;
};
struct Memcached {
  static constexpr kopper::Kind kind{"cache.example.com", "v1alpha1", "Memcached"};
  kopper::ObjectMeta metadata;
  MemcachedSpec spec;
  MemcachedStatus status;
};

kopper::Deployment desired(const Memcached& mc) {  // pure: tested without a cluster
  const kopper::Labels labels{{"app", "memcached"}, {"instance", mc.metadata.name}};
  return {.metadata = {.name = mc.metadata.name, .labels = labels},
          .spec = {.replicas = mc.spec.size,
                   .selector = {.matchLabels = labels},
                   .template_ = {.metadata = {.labels = labels},
                                 .spec = {.containers = {{.name = "memcached",
                                                          .image = mc.spec.image,
                                                          .ports = {{.containerPort = 11211}}}}}}}};
}
MemcachedStatus observed(const Memcached& mc, const kopper::Deployment& live) {  // pure
  const auto ready = live.status.readyReplicas;
  return {.ready = ready,
          .conditions = {kopper::condition("Available", ready == mc.spec.size, "Replicas", "{} pods ready", ready)}};
}

kopper::Task<kopper::Next> reconcile(kopper::Context<Memcached> mc) {
  const auto live = co_await mc.apply(desired(*mc));  // server-side apply; owner, namespace, field manager set
  co_await mc.set_status(observed(*mc, live));        // nothing is sent when nothing changed
  co_return kopper::Next::wait();                     // or Next::in(30s); an error is retried, later and later
}
int main(int argc, char** argv) {
  return kopper::run(argc, argv, kopper::controller<Memcached>().owns<kopper::Deployment>().reconcile(reconcile));
}
