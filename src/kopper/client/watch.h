#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kopper/base/error.h"
#include "kopper/base/key.h"
#include "kopper/client/codec.h"
#include "kopper/client/lines.h"
#include "kopper/http/message.h"
#include "kopper/rt/task.h"

namespace kopper::client {

enum class WatchType : std::uint8_t { Added, Modified, Deleted, Bookmark, Failed };

// What every object has, read without the rest.
struct ObjectHead {
  Key key;
  std::string uid;
  std::string resource_version;

  friend bool operator==(const ObjectHead&, const ObjectHead&) = default;
};

// Empty when that cannot be read.
ObjectHead head_of(std::string_view object);

// One event, its object still as bytes. Views are valid until the next event is read.
struct RawEvent {
  WatchType type = WatchType::Failed;
  std::string_view object;
  ObjectHead head;
  bool initial_events_end = false;
  std::optional<Error> error;
};

// One line of a watch. What cannot be understood is an event too: Failed.
// An ERROR event is Failed with the server's code: Gone when the resourceVersion is too old to go on from.
// The event's views point into `line`, or into `scratch` when the line had to be rewritten.
RawEvent parse_event(std::string_view line, std::string& scratch);

class RawWatch {
 public:
  explicit RawWatch(http::Response response) : lines_(std::move(response.body)) {}

  // Nothing when the server ends the stream, which it does every few minutes. Throws Error when the connection breaks.
  Task<std::optional<RawEvent>> next();

 private:
  LineReader lines_;
  std::string scratch_;
};

template <class T>
struct WatchEvent {
  WatchType type = WatchType::Failed;
  T object{};  // of Added, Modified and Deleted
  std::string resource_version;
  bool initial_events_end = false;  // the Bookmark after which what comes is news
  std::optional<Error> error;       // of Failed: an object that T cannot hold (Invalid), or what the server says
};

// One watch, from its opening to its end. Use Watcher (watcher.h) for what must go on.
template <class T>
class WatchStream {
 public:
  explicit WatchStream(http::Response response) : raw_(std::move(response)) {}

  Task<std::optional<WatchEvent<T>>> next() {
    auto raw = co_await raw_.next();
    if (!raw) co_return std::nullopt;
    WatchEvent<T> event{.type = raw->type,
                        .object = {},
                        .resource_version = std::move(raw->head.resource_version),
                        .initial_events_end = raw->initial_events_end,
                        .error = std::move(raw->error)};
    if (event.type == WatchType::Bookmark || event.type == WatchType::Failed) co_return event;
    if (auto object = from_json<T>(raw->object)) {
      event.object = std::move(*object);
    } else {
      event.type = WatchType::Failed;
      event.error = undecodable(raw->head.key, object.error());
    }
    co_return event;
  }

 private:
  RawWatch raw_;
};

}  // namespace kopper::client
