#include "kopper/runtime/events.h"

#include <algorithm>
#include <utility>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/client/api.h"
#include "kopper/client/retry.h"
#include "kopper/meta/encode.h"
#include "kopper/runtime/election.h"

namespace kopper::runtime {
namespace {

using api::corev1::ObjectReference;
using V1 = api::eventsv1::Event;
using Core = api::corev1::Event;

constexpr rt::Duration kTick = std::chrono::minutes(1);
constexpr int kTries = 12;
constexpr std::size_t kMaxNote = 1024;
constexpr std::size_t kMaxWord = 128;

// Not in the middle of a character.
std::string cut(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  text.resize(most);
  return text;
}

V1 event_of(ObjectReference regarding, EventNote note, const EventOptions& from) {
  V1 event;
  // Events of cluster-scoped objects live in the default namespace.
  event.metadata.namespace_ = regarding.namespace_.empty() ? "default" : regarding.namespace_;
  event.regarding = std::move(regarding);
  if (note.related) event.related = std::move(*note.related);
  event.type = note.type == EventType::Warning ? "Warning" : "Normal";
  event.reason = cut(note.reason.empty() ? "Unknown" : std::move(note.reason), kMaxWord);
  event.action = note.action.empty() ? event.reason : cut(std::move(note.action), kMaxWord);
  event.note = cut(std::move(note.message), kMaxNote);
  event.reportingController = from.controller;
  event.reportingInstance = from.instance;
  return event;
}

// The same for servers before 1.19. Without an eventTime, which would ask for the rest of the new form.
Core core_event(const V1& from) {
  Core event;
  event.metadata = from.metadata;
  event.involvedObject = from.regarding;
  event.related = from.related;
  event.type = from.type;
  event.reason = from.reason;
  event.message = from.note;
  event.action = from.action;
  event.source.component = from.reportingController;
  event.reportingComponent = from.reportingController;
  event.reportingInstance = from.reportingInstance;
  event.firstTimestamp = api::Time(from.eventTime.point());
  event.lastTimestamp = from.series ? api::Time(from.series->lastObservedTime.point()) : event.firstTimestamp;
  event.count = from.series ? from.series->count : 1;
  return event;
}

std::string series_patch(const V1& event, bool legacy) {
  const auto& series = *event.series;
  json::Value patch;
  if (legacy) {
    patch["count"] = series.count;
    patch["lastTimestamp"] = api::Time(series.lastObservedTime.point()).str();
  } else {
    patch["series"] = json::Object{{"count", series.count}, {"lastObservedTime", series.lastObservedTime.str()}};
  }
  return json::dump(patch);
}

}  // namespace

EventRecorder::EventRecorder(client::Client client, EventOptions options)
    : client_(std::move(client)), options_(std::move(options)), correlator_(options_.correlator) {
  if (options_.controller.empty()) throw Error(Code::Invalid, "events: who reports them is not named");
  if (options_.instance.empty()) options_.instance = make_identity();
  options_.instance = cut(options_.instance, kMaxWord);
  if (options_.metrics != nullptr) {
    const auto counter = [&](Result result, std::string_view name) {
      counters_[result] = &options_.metrics->counter("kopper_events_total", "Events by what became of them.",
                                                     {{"result", std::string(name)}});
    };
    counter(Result::Written, "written");
    counter(Result::Counted, "counted");
    counter(Result::Spam, "spam");
    counter(Result::Full, "dropped");
    counter(Result::Failed, "failed");
  }
  next_tick_ = rt::Loop::current().now() + kTick;
  tasks_.spawn(run());
}

void EventRecorder::count(Result result) {
  if (const auto found = counters_.find(result); found != counters_.end()) found->second->inc();
}

void EventRecorder::record(ObjectReference regarding, EventNote note) {
  if (stopping_) return count(Result::Full);
  auto& loop = rt::Loop::current();
  auto verdict =
      correlator_.add(event_of(std::move(regarding), std::move(note), options_), loop.now(), loop.wall_now());
  if (verdict.write) return enqueue(std::move(*verdict.write));
  count(verdict.fate == EventCorrelator::Fate::Spam ? Result::Spam : Result::Counted);
}

void EventRecorder::enqueue(EventWrite write) {
  const auto& name = write.event.metadata.name;
  if (const auto found = waiting_.find(name); found != waiting_.end()) {
    found->second.event = std::move(write.event);
    return count(Result::Counted);
  }
  if (order_.size() >= options_.queue) return count(Result::Full);
  order_.push_back(name);
  waiting_.emplace(order_.back(), std::move(write));
  wake_.set();
}

Task<> EventRecorder::wait_for_work() {
  wake_.reset();
  try {
    co_await rt::timeout(next_tick_ - rt::Loop::current().now(), wake_.wait());
  } catch (const Error& error) {
    if (error.code != Code::Timeout) throw;
  }
}

Task<> EventRecorder::run() {
  while (!stopping_ || !order_.empty()) {
    if (order_.empty()) co_await wait_for_work();
    const auto now = rt::Loop::current().now();
    if (now >= next_tick_) {
      next_tick_ = now + kTick;
      for (auto& write : correlator_.due(now)) enqueue(std::move(write));
    }
    if (order_.empty()) continue;
    auto next = waiting_.extract(order_.front());
    order_.pop_front();
    co_await write_retried(std::move(next.mapped()));
  }
}

Task<> EventRecorder::write_retried(EventWrite write) {
  constexpr client::Backoff kBackoff{.initial = std::chrono::seconds(1), .max = std::chrono::seconds(30)};
  for (int failures = 1;; ++failures) {
    try {
      co_await write_once(write);
      co_return count(Result::Written);
    } catch (const Error& error) {
      if (!error.retryable() || failures >= kTries) {
        log::warn("an event is not written",
                  {{"reason", write.event.reason}, {"object", write.event.regarding.name}, {"error", error.what()}});
        co_return count(Result::Failed);
      }
    }
    co_await rt::sleep(kBackoff.delay(failures, client_.random()));
  }
}

Task<> EventRecorder::write_once(EventWrite write) {
  const auto& event = write.event;
  const auto api = client::RawApi(client_, legacy_ ? client::resource_of<Core>() : client::resource_of<V1>());
  const Key key(event.metadata.namespace_, event.metadata.name);
  const client::WriteOptions options;
  try {
    if (!write.create) {
      const client::PatchOptions patch;
      co_await api.patch(key, client::PatchType::Merge, series_patch(event, legacy_), patch);
      co_return;
    }
    auto body = legacy_ ? meta::encode(core_event(event)) : meta::encode(event);
    co_await api.create_if_absent(key, std::move(body), options);  // there already: an earlier try got through
    co_return;
  } catch (const Error& error) {
    if (error.code == Code::NotFound && !write.create) {
      write.create = true;  // expired on the server, or its namespace is gone: then creating it fails
    } else if (error.code == Code::Unsupported && !legacy_) {
      legacy_ = true;
    } else {
      throw;
    }
  }
  co_await write_once(std::move(write));
}

Task<> EventRecorder::stop(rt::Duration limit) {
  if (std::exchange(stopping_, true)) co_return;
  for (auto& write : correlator_.finish()) enqueue(std::move(write));
  wake_.set();
  try {
    co_await rt::timeout(limit, tasks_.join());
  } catch (const Error& error) {
    log::warn("events are lost", {{"count", order_.size()}, {"error", error.what()}});
  }
}

}  // namespace kopper::runtime
