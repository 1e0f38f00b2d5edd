#include "kopper/runtime/manager.h"

#include <utility>

#include <fmt/format.h>

#include "kopper/base/log.h"
#include "kopper/rt/scope.h"
#include "kopper/runtime/fence.h"
#include "kopper/runtime/first_of.h"
#include "kopper/runtime/rest_metrics.h"

namespace kopper::runtime {

namespace {

client::Client make_client(std::shared_ptr<http::Handler> transport, const std::string& name) {
  client::ClientOptions options;
  options.field_manager = name;
  options.user_agent = name;
  return client::Client(std::move(transport), options);
}

cache::InformerOptions informer_defaults(const ManagerOptions& options) {
  cache::InformerOptions defaults;
  defaults.namespaces = options.namespaces;
  return defaults;
}

}  // namespace

Manager::Manager(std::shared_ptr<http::Handler> transport, ManagerOptions options)
    : options_(std::move(options)), transport_(counted(std::move(transport), metrics_, options_.host)) {
  collectors_.push_back(metrics::collect_process(metrics_));
  collectors_.push_back(metrics_.collect([this] { collect(); }));
  auto tracing = options_.tracing;
  if (tracing.metrics == nullptr) tracing.metrics = &metrics_;
  tracer_ = std::make_unique<Tracer>(std::move(tracing));
  if (options_.election) {
    auto election = *options_.election;
    if (election.metrics == nullptr) election.metrics = &metrics_;
    election_ = std::make_unique<Election>(make_client(transport_, options_.name), std::move(election));
  }
  add_cluster("", transport_);
  checks_.ready("caches", [this] { return waiting_for(); });
}

Manager::~Manager() = default;

Cluster& Manager::add_cluster(std::string name, std::shared_ptr<http::Handler> transport) {
  if (!name.empty()) transport = counted(std::move(transport), metrics_, options_.host);
  std::function<bool()> may_write = [] { return true; };
  if (election_) {
    may_write = [election = election_.get()] { return election->is_leader(); };
    transport = fence(std::move(transport), may_write);
  }
  const auto client = make_client(transport, options_.name);
  EventOptions events;
  events.controller = options_.name;
  events.metrics = &metrics_;
  auto [at, added] = clusters_.try_emplace(
      name, new Cluster{name, transport, client, *tracer_, cache::Cache(client, informer_defaults(options_)),
                        EventRecorder(client, events), metrics_, std::move(may_write)});
  if (!added) throw Error(Code::Invalid, fmt::format("there are two clusters named {}", name));
  return *at->second;
}

Cluster& Manager::cluster(std::string_view name) {
  const auto found = clusters_.find(name);
  if (found == clusters_.end()) throw Error(Code::Invalid, fmt::format("no cluster is named {}", name));
  return *found->second;
}

Manager& Manager::add(ControllerSpec spec) {
  auto& on = cluster(spec.options.cluster);
  if (options_.resync) spec.options.resync = *options_.resync;
  auto made = std::make_unique<Controller>(std::move(spec), on, metrics_, options_.name);
  for (const auto& other : controllers_) {
    if (other->name() == made->name()) {
      throw Error(Code::Invalid, fmt::format("two controllers are named {}: give one another name()", made->name()));
    }
  }
  controllers_.push_back(std::move(made));
  return *this;
}

Manager& Manager::add(Webhooks webhooks) {
  if (!webhooks_.empty()) throw Error(Code::Invalid, "the webhooks of a manager are added at once");
  webhooks_ = std::move(webhooks);
  return *this;
}

std::string Manager::waiting_for() const {
  for (const auto& controller : controllers_) {
    auto what = controller->waiting_for();
    if (!what.empty()) return what;
  }
  return "";
}

void Manager::collect() {
  for (const auto& [name, cluster] : clusters_) {
    for (const auto* informer : cluster->cache.informers()) {
      const auto stats = informer->stats();
      metrics::Labels labels{{"resource", informer->resource().name()}, {"cluster", name}};
      const auto set = [&](const char* metric, const char* help, double value) {
        metrics_.gauge(metric, help, labels).set(value);
      };
      set("kopper_cache_objects", "Objects in the cache", static_cast<double>(stats.size.objects));
      set("kopper_cache_bytes", "Bytes that the cached objects occupy", static_cast<double>(stats.size.bytes));
      set("kopper_cache_synced", "1 when the cache was filled", stats.synced ? 1 : 0);
      set("kopper_cache_relists", "Lists after the first", static_cast<double>(stats.relists));
      set("kopper_cache_watch_failures", "Failed requests of the watch", static_cast<double>(stats.failures));
      set("kopper_cache_events", "Events of the watch", static_cast<double>(stats.events));
      if (stats.lag) {
        set("kopper_cache_lag_seconds", "From an own write until the watch brought it, the last time",
            std::chrono::duration<double>(*stats.lag).count());
      }
      if (stats.last_event) {
        set("kopper_cache_silence_seconds", "Since the last sign of life of the watch",
            std::chrono::duration<double>(rt::Loop::current().now() - *stats.last_event).count());
      }
    }
  }
}

Task<> Manager::run() {
  if (options_.health) health_ = std::make_unique<HealthServer>(checks_, metrics_, *options_.health);
  rt::Scope background;
  if (options_.webhook_server && !webhooks_.empty()) {
    webhook_server_ = std::make_unique<WebhookServer>(std::move(webhooks_), make_client(transport_, options_.name),
                                                      *options_.webhook_server, &metrics_);
    checks_.ready("webhooks",
                  [this] { return std::string(webhook_server_->ready() ? "" : "there is no certificate yet"); });
    background.spawn(webhook_server_->run());
  }
  for (const auto& [name, cluster] : clusters_) background.spawn(cluster->cache.run());

  std::exception_ptr error;
  try {
    co_await lead();
  } catch (const Error&) {
    error = std::current_exception();
  }
  leading_ = false;
  background.cancel();
  co_await background.join();
  if (webhook_server_) co_await webhook_server_->stop(std::chrono::seconds(5));
  co_await tracer_->stop(std::chrono::seconds(2));
  if (health_) co_await health_->stop(std::chrono::seconds(1));
  if (error) std::rethrow_exception(error);
}

Task<> Manager::lead() {
  if (!election_) {
    leading_ = true;
    co_return co_await work();
  }
  log::info("waits to lead", {{"lease", options_.election->name}, {"identity", election_->identity()}});
  co_await first_of(election_->campaign(), stopping_.wait());
  if (!election_->is_leader()) co_return;  // told to stop before it led
  leading_ = true;
  log::info("leads", {{"identity", election_->identity()}, {"term", election_->term()}});
  co_await first_of(work(), election_->lost());
  leading_ = false;
  if (!stopping_.is_set()) {
    throw Error(Code::Unavailable, "the lease was lost: " + election_->problem());
  }
  co_await election_->release();
}

// Until it is told to stop and what was in work is done.
Task<> Manager::work() {
  rt::Scope scope;
  for (const auto& controller : controllers_) scope.spawn(controller->run());
  co_await stopping_.wait();
  log::info("stops", {});
  for (const auto& controller : controllers_) controller->stop();
  try {
    // Giving up the wait ends what is left of the work.
    co_await rt::timeout(options_.graceful, scope.join());
  } catch (const Error& error) {
    if (error.code != Code::Timeout) throw;
    log::warn("stops though work was left", {{"seconds", std::chrono::duration<double>(options_.graceful).count()}});
  }
  for (const auto& [name, cluster] : clusters_) co_await cluster->events.stop();
}

}  // namespace kopper::runtime
