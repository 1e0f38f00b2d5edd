#include "kopper/runtime/source.h"

#include <exception>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/rt/scope.h"

namespace kopper::runtime {

namespace {

void log_failure(const Trigger& trigger, const cache::Change& change, const std::exception& error) {
  log::warn("cannot tell whom a change concerns",
            {{"kind", trigger.kind}, {"object", change.object().key().str()}, {"error", error.what()}});
}

// `change` happened after `earlier`, which nobody looked at yet.
void merge(cache::Change& earlier, const cache::Change& change) {
  if (!earlier.before && change.deleted()) earlier.before = change.before;  // came and went
  earlier.after = change.after;
  earlier.initial = earlier.initial && change.initial;
  earlier.missed = change.missed;
}

}  // namespace

Source::Source(Queue& queue, Trigger trigger, SourceOptions options)
    : queue_(queue), trigger_(std::move(trigger)), options_(options), random_(options.seed) {}

void Source::listen(cache::Informer& informer) {
  informer_ = &informer;
  subscription_ = informer.subscribe([this](const cache::Change& change) { on_change(change); });
}

void Source::stop_listening() { subscription_ = cache::Subscription(); }

void Source::on_change(const cache::Change& change) {
  try {
    if (!trigger_.map_async) return enqueue(requests(trigger_, change));
    if (!trigger_.when(change)) return;
    const auto [at, inserted] = waiting_.try_emplace(change.object().key(), change);
    if (!inserted) return merge(at->second, change);
    order_.push_back(at->first);
    workers_.wake_one();
  } catch (const std::exception& error) {
    ++failures_;
    log_failure(trigger_, change, error);
  }
}

void Source::resync(const cache::Store& store) {
  store.each([this](const cache::RecordRef& record) {
    on_change({.before = record, .after = record, .initial = false, .missed = false});
  });
}

void Source::enqueue(std::vector<Request> requests) {
  for (auto& request : requests) {
    queue_.add(std::move(request.key), {.priority = request.priority, .reason = std::move(request.reason)});
  }
}

Task<> Source::run() {
  rt::Scope scope;
  if (trigger_.map_async) {
    for (std::size_t i = 0; i < options_.map_workers; ++i) scope.spawn(map_loop());
  }
  if (trigger_.own && informer_ != nullptr && options_.resync > rt::Duration::zero()) scope.spawn(resync_loop());
  co_await scope.join();
}

Task<> Source::map_loop() {
  for (;;) {
    while (order_.empty()) co_await rt::Waiter(workers_);
    auto node = waiting_.extract(order_.front());
    order_.pop_front();
    ++mapping_;
    co_await map_one(std::move(node.mapped()));
    --mapping_;
  }
}

Task<> Source::map_one(cache::Change change) {
  for (unsigned tries = 0;; ++tries) {
    try {
      std::vector<Request> made = co_await requests_async(trigger_, change);
      enqueue(std::move(made));
      co_return;
    } catch (const std::exception& error) {
      ++failures_;
      log_failure(trigger_, change, error);
      const auto* known = dynamic_cast<const Error*>(&error);
      if (known != nullptr && !known->retryable()) co_return;
    }
    co_await rt::sleep(options_.backoff.delay(tries));
  }
}

Task<> Source::resync_loop() {
  for (;;) {
    const double spread = std::uniform_real_distribution(0.9, 1.1)(random_);
    const double period = static_cast<double>(options_.resync.count()) * spread;
    co_await rt::sleep(rt::Duration(static_cast<rt::Duration::rep>(period)));
    resync(informer_->store());
  }
}

}  // namespace kopper::runtime
