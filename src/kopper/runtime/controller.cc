#include "kopper/runtime/controller.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "kopper/base/log.h"
#include "kopper/metrics/metrics.h"
#include "kopper/rt/scope.h"
#include "kopper/runtime/first_of.h"

namespace kopper::runtime {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// As controller-runtime has them: 5 ms to 60 s.
const std::vector<double>& reconcile_buckets() {
  static const std::vector<double> buckets{
      0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5,
      1.75,  2.0,  2.5,   3.0,  3.5, 4.0,  4.5, 5,    6,   7,    8,   9,    10,  15,  20,  25,  30,  40,  50,   60};
  return buckets;
}

double seconds(rt::Duration duration) { return std::chrono::duration<double>(duration).count(); }

// What trying again will not mend by itself. The rest passes.
bool lasting(const Error& error) {
  return error.code == Code::Forbidden || error.code == Code::Invalid || error.code == Code::Unsupported ||
         error.reason == "NameConflict";
}

}  // namespace

struct Controller::Meters {
  Meters(metrics::Registry& registry, const std::string& controller, int workers) {
    const metrics::Labels labels{{"controller", controller}};
    const auto result = [&](const char* value) {
      auto with = labels;
      with["result"] = value;
      return &registry.counter("controller_runtime_reconcile_total", "Total number of reconciliations per controller",
                               with);
    };
    success = result("success");
    error = result("error");
    requeue_after = result("requeue_after");
    result("requeue");
    errors = &registry.counter("controller_runtime_reconcile_errors_total",
                               "Total number of reconciliation errors per controller", labels);
    terminal = &registry.counter("controller_runtime_terminal_reconcile_errors_total",
                                 "Total number of terminal reconciliation errors per controller", labels);
    panics = &registry.counter("controller_runtime_reconcile_panics_total",
                               "Total number of exceptions that are no Error per controller", labels);
    timeouts = &registry.counter("controller_runtime_reconcile_timeouts_total",
                                 "Total number of reconciliations that passed their deadline per controller", labels);
    time = &registry.histogram("controller_runtime_reconcile_time_seconds",
                               "Length of time per reconciliation per controller", reconcile_buckets(), labels);
    active =
        &registry.gauge("controller_runtime_active_workers", "Number of currently used workers per controller", labels);
    registry
        .gauge("controller_runtime_max_concurrent_reconciles", "Maximum number of concurrent reconciles per controller",
               labels)
        .set(workers);
    undecodable = &registry.counter("kopper_undecodable_objects_total",
                                    "Objects that do not fit the type of their controller", labels);
    writes = &registry.counter("kopper_reconcile_writes_total", "Writes to the API server by reconciliations", labels);
  }

  metrics::Counter* success;
  metrics::Counter* error;
  metrics::Counter* requeue_after;
  metrics::Counter* errors;
  metrics::Counter* terminal;
  metrics::Counter* panics;
  metrics::Counter* timeouts;
  metrics::Histogram* time;
  metrics::Gauge* active;
  metrics::Counter* undecodable;
  metrics::Counter* writes;
};

namespace {

ControllerSpec named(ControllerSpec spec) {
  if (spec.options.name.empty()) spec.options.name = lower(spec.kind->kind);
  spec.options.workers = std::max(spec.options.workers, 1);
  return spec;
}

QueueOptions queue_options(const ControllerOptions& options, metrics::Registry& metrics) {
  QueueOptions queue;
  queue.name = options.name;
  queue.policy.backoff = options.backoff;
  queue.metrics = &metrics;
  return queue;
}

}  // namespace

Controller::Controller(ControllerSpec spec, Cluster& cluster, metrics::Registry& metrics, std::string field_manager)
    : spec_(named(std::move(spec))),
      cluster_(cluster),
      target_{.cluster = cluster,
              .kind = *spec_.kind,
              .controller = spec_.options.name,
              .field_manager = std::move(field_manager)},
      queue_(queue_options(spec_.options, metrics)),
      meters_(std::make_unique<Meters>(metrics, spec_.options.name, spec_.options.workers)) {
  for (const auto& watched : spec_.watched) {
    const auto resource = client::resource_of(*watched.kind);
    auto options = watched.custom_options ? watched.options : cluster_.cache.defaults();
    if (options.namespaces.empty()) options.namespaces = cluster_.cache.defaults().namespaces;
    auto& informer = cluster_.cache.informer(resource, std::move(options));
    if (watched.role == Role::Owns) informer.add_index("controller", cache::by_controller());
    informers_.push_back(&informer);
  }
  for (std::size_t i = 0; i < informers_.size(); ++i) {
    SourceOptions options;
    options.resync = i == 0 ? spec_.options.resync : rt::Duration::zero();
    options.seed = static_cast<std::uint32_t>(cluster_.client.random() * 0x1p32);
    auto trigger = spec_.watched[i].trigger;
    if (spec_.watched[i].picked_by) trigger.map = spec_.watched[i].picked_by(informers_.front()->store());
    sources_.push_back(std::make_unique<Source>(queue_, std::move(trigger), options));
    sources_.back()->listen(*informers_[i]);
  }
}

Controller::~Controller() = default;

std::string Controller::waiting_for() const {
  for (const auto* informer : informers_) {
    if (informer->synced() || informer->missing()) continue;
    const auto stats = informer->stats();
    return fmt::format("{}: {}", informer->resource().name(),
                       stats.last_error.empty() ? "the list is not complete yet" : stats.last_error);
  }
  return "";
}

Task<> Controller::run() {
  // What cannot be read may never come; being told to stop ends the wait.
  for (auto* informer : informers_) co_await first_of(informer->wait_settled(), stopping_.wait());
  if (stopping_.is_set()) co_return;
  log::info("controller starts", {{"controller", name()}, {"workers", spec_.options.workers}});
  rt::Scope background;
  for (const auto& channel : spec_.channels) background.spawn(feed(channel.get(), &queue_));
  for (const auto& source : sources_) background.spawn(source->run());
  rt::Scope workers;
  for (int i = 0; i < spec_.options.workers; ++i) workers.spawn(work());
  co_await workers.join();
  background.cancel();
  co_await background.join();
}

void Controller::stop() {
  stopping_.set();
  for (const auto& source : sources_) source->stop_listening();
  queue_.shutdown();
}

Task<> Controller::work() {
  for (;;) {
    auto lease = co_await queue_.next();
    if (!lease) co_return;
    co_await serve(std::move(*lease));
  }
}

Task<> Controller::serve(Queue::Lease lease) {
  const Key& key = lease.key();
  const auto& store = informers_.front()->store();
  const auto record = store.get(key);
  if (!record) {
    if (spec_.gone) spec_.gone(key);
    queue_.forget(key);
    meters_->success->inc();
    co_return;
  }
  std::shared_ptr<Run> run;
  // From the time that it was ready: the wait is part of what a person waits for.
  Span span;
  if (cluster_.tracer.enabled()) {
    span = cluster_.tracer.start("reconcile " + name(), TraceContext(), SpanKind::Internal, lease.waited());
  }
  if (span) cluster_.tracer.start("queue", span.context(), SpanKind::Internal, lease.waited()).end();
  std::optional<Error> error;
  bool terminal = false;
  std::optional<Next> next;
  const auto started = rt::Loop::current().now();
  meters_->active->inc();
  try {
    run = std::make_shared<Run>(target_, store, record, spec_.decode);
    run->id = fmt::format("{:012x}", static_cast<std::uint64_t>(cluster_.client.random() * 0x1p48));
    run->reasons = lease.reasons();
    run->tries = lease.tries();
    if (log::enabled(log::Level::Debug)) {
      run->log(log::Level::Debug, "reconcile", {{"why", run->reasons.str()}, {"tries", run->tries}});
    }
    if (span) {
      span.set("k8s.object", key.str());
      span.set("kopper.controller", name());
      span.set("kopper.reasons", run->reasons.str());
      span.set("kopper.run", run->id);
      run->trace(span.context());
    }
    auto work = dispatch(run);
    if (spec_.options.deadline > std::chrono::nanoseconds::zero()) {
      next.emplace(co_await rt::timeout(spec_.options.deadline, std::move(work)));
    } else {
      next.emplace(co_await work);
    }
  } catch (const Terminal& failure) {
    error = failure;
    terminal = true;
  } catch (const Error& failure) {
    error = failure;
    if (failure.code == Code::Timeout && rt::Loop::current().now() - started >= spec_.options.deadline) {
      meters_->timeouts->inc();
    }
  } catch (const std::exception& failure) {
    meters_->panics->inc();
    error.emplace(Code::Internal, failure.what());
  } catch (const Cancelled&) {
    meters_->active->dec();
    throw;
  }
  meters_->active->dec();
  meters_->time->observe(seconds(rt::Loop::current().now() - started));
  if (run) meters_->writes->inc(static_cast<double>(run->writes));
  if (error) {
    span.fail(error->what());
    co_await failed(std::move(run), key, std::move(*error), terminal);
    co_return;
  }
  queue_.forget(key);
  if (next->delay()) {
    meters_->requeue_after->inc();
    queue_.add_after(key, *next->delay(), {.reason = reason_for_delay(*next->delay())});
  } else {
    meters_->success->inc();
  }
}

Task<Next> Controller::dispatch(std::shared_ptr<Run> run) {
  static const std::string kPaused(kPausedAnnotation);
  const auto paused = run->owner().annotations.find(kPaused);
  if (paused != run->owner().annotations.end() && paused->second == "true") {
    run->log(log::Level::Debug, "paused", {});
    co_return Next::wait();
  }
  const bool deleting = run->owner().deletionTimestamp.is_set();
  if (deleting && !spec_.finalizer.empty() && api::has_finalizer(run->owner(), spec_.finalizer)) {
    const Next next = co_await spec_.finalize(run);
    if (!next.delay()) co_await run->set_finalizer(spec_.finalizer, false);
    co_return next;
  }
  if (deleting && !spec_.while_deleting) co_return Next::wait();
  if (!deleting && !spec_.finalizer.empty()) co_await run->set_finalizer(spec_.finalizer, true);
  co_return co_await spec_.reconcile(std::move(run));
}

Task<> Controller::failed(std::shared_ptr<Run> run, Key key, Error error, bool terminal) {
  meters_->error->inc();
  meters_->errors->inc();
  // An object that does not fit its type: nothing helps but a change of it, which comes by itself.
  const bool undecodable =
      error.code == Code::Invalid && error.http_status == 0 && (!run || error.reason == "Undecodable");
  if (undecodable) meters_->undecodable->inc();
  if (terminal) meters_->terminal->inc();
  log::write(log::Level::Error, "reconcile failed",
             {{"controller", name()},
              {"object", key.str()},
              {"run", run ? run->id : "-"},
              {"error", error.what()},
              {"tries", run ? run->tries : 0},
              {"terminal", terminal || undecodable}});
  if (terminal || undecodable) {
    queue_.forget(key);
  } else {
    queue_.add_rate_limited(key, {.reason = reason_for_retry(run ? run->tries + 1 : 1)});
  }
  if (!run || error.code == Code::Unavailable || error.code == Code::Conflict) {
    if (!run || error.reason != "NameConflict") co_return;
  }
  run->event(EventType::Warning, api::reason_of(error), error.what());
  if (!spec_.has_conditions || spec_.options.error_condition.empty() || undecodable) co_return;
  if (!terminal && !lasting(error)) co_return;
  try {
    co_await spec_.condition(run, spec_.options.error_condition, api::reason_of(error), error.what());
  } catch (const Error& again) {
    run->log(log::Level::Warn, "could not tell of the error in the status", {{"error", again.what()}});
  }
}

}  // namespace kopper::runtime
