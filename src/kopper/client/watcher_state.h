#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "kopper/base/error.h"
#include "kopper/client/retry.h"

// How to keep up with a collection for ever, as a state machine without IO: list, watch, resume, list again when the
// server forgot. `Watcher` feeds it from a server; anything else may.
namespace kopper::client {

// What one who mirrors a collection must do. Init … InitApply … InitDone replaces all that was known; what did not come
// between them is gone. An Init may be followed by another Init: the first attempt failed and counts for nothing.
enum class StoreEventType : std::uint8_t { Init, InitApply, InitDone, Apply, Delete, Failed };

struct WatcherState {
  enum class Phase : std::uint8_t {
    Empty,    // nothing is known, or what is known is too old to resume from
    Paging,   // pages of a LIST come in
    Initial,  // the initial events of a WatchList come in
    Synced,   // all is known as of resource_version
  };
  Phase phase = Phase::Empty;
  bool watch_list = true;  // until the server refuses it
  std::string resource_version;
  std::string continue_token;
  int failures = 0;  // in a row: the exponent of the backoff
  std::chrono::nanoseconds last_failure{0};

  friend bool operator==(const WatcherState&, const WatcherState&) = default;
};

namespace input {
struct Start {};  // the first one, and after a wait
struct Item {};   // one object of a page
struct PageEnd {
  std::string continue_token;
  std::string resource_version;
};
struct Changed {
  std::string resource_version;
};
struct Removed {
  std::string resource_version;
};
struct Bookmark {
  std::string resource_version;
  bool initial_events_end = false;
};
// The watch ended in good order; `used` when anything came, or it lasted.
struct Ended {
  bool used = true;
};
}  // namespace input

// An Error is an ERROR event, a refused request, or a broken connection.
using WatcherInput = std::variant<input::Start, input::Item, input::PageEnd, input::Changed, input::Removed,
                                  input::Bookmark, input::Ended, Error>;

enum class WatcherCommand : std::uint8_t {
  List,          // ask for a page: from continue_token
  WatchInitial,  // open a WatchList
  Watch,         // open a watch: from resource_version
  Read,          // go on reading what is open
  Wait,          // close what is open, wait for watcher_backoff().delay(state.failures), then Start
};

struct WatcherStep {
  std::optional<StoreEventType> emit;
  WatcherCommand next = WatcherCommand::Read;

  friend bool operator==(const WatcherStep&, const WatcherStep&) = default;
};

// One transition. `now` is any monotonic time.
WatcherStep step(WatcherState& state, const WatcherInput& input, std::chrono::nanoseconds now);

// 0.8 s, doubled to 30 s, jittered.
Backoff watcher_backoff();
// Failures further apart than this are not "in a row".
inline constexpr std::chrono::minutes kWatcherBackoffReset{2};

}  // namespace kopper::client
