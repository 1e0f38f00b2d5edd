#include "kopper/client/watcher_state.h"

#include <algorithm>

namespace kopper::client {
namespace {

using Phase = WatcherState::Phase;
using Command = WatcherCommand;
using Emit = StoreEventType;

// The server answered, and not with "later", "gone" or "you may not": it has no WatchList, or a broken one.
bool refuses_watch_list(const Error& error) {
  switch (error.code) {
    case Code::Invalid:
    case Code::Internal: return true;
    case Code::Unsupported: return error.http_status != 404;  // a kind that is not installed says nothing of it
    case Code::Unavailable: return error.http_status == 500;
    case Code::Timeout: return error.reason == "InitialEventsStalled";
    default: return false;
  }
}

// What is known cannot be resumed from: it is forgotten, lies in the server's future, or the kind itself was removed.
bool must_relist(const Error& error) {
  const auto from_the_future = [](const Cause& cause) { return cause.reason == "ResourceVersionTooLarge"; };
  return error.code == Code::Gone || error.code == Code::NotFound || error.code == Code::Unsupported ||
         std::ranges::any_of(error.causes, from_the_future);
}

struct Transition {
  WatcherState& state;
  std::chrono::nanoseconds now;

  WatcherStep operator()(const input::Start& /*unused*/) const {
    if (state.phase == Phase::Synced) return {.next = Command::Watch};
    state.continue_token.clear();
    state.phase = state.watch_list ? Phase::Initial : Phase::Paging;
    return {Emit::Init, state.watch_list ? Command::WatchInitial : Command::List};
  }

  WatcherStep operator()(const input::Item& /*unused*/) const { return {Emit::InitApply, Command::Read}; }

  WatcherStep operator()(const input::PageEnd& page) const {
    state.continue_token = page.continue_token;
    if (!page.continue_token.empty()) return {.next = Command::List};
    state.resource_version = page.resource_version;
    state.phase = Phase::Synced;
    return {Emit::InitDone, Command::Watch};
  }

  WatcherStep operator()(const input::Changed& event) const {
    if (state.phase == Phase::Initial) return {Emit::InitApply, Command::Read};
    state.resource_version = event.resource_version;
    return {Emit::Apply, Command::Read};
  }

  WatcherStep operator()(const input::Removed& event) const {
    if (state.phase == Phase::Synced) state.resource_version = event.resource_version;
    return {Emit::Delete, Command::Read};
  }

  WatcherStep operator()(const input::Bookmark& bookmark) const {
    if (state.phase == Phase::Initial) {
      if (!bookmark.initial_events_end) return {};
      state.resource_version = bookmark.resource_version;
      state.phase = Phase::Synced;
      return {Emit::InitDone, Command::Read};
    }
    if (!bookmark.resource_version.empty()) state.resource_version = bookmark.resource_version;
    return {};
  }

  WatcherStep operator()(const input::Ended& ended) const {
    if (state.phase == Phase::Synced && ended.used) return {.next = Command::Watch};
    // A server that closes at once must not be asked in a tight loop; one that ended amid the initial events begins
    // anew.
    count_failure();
    if (state.phase != Phase::Synced) state.phase = Phase::Empty;
    return {.next = Command::Wait};
  }

  WatcherStep operator()(const Error& error) const {
    if (state.phase == Phase::Initial && refuses_watch_list(error)) {
      state.watch_list = false;
      state.phase = Phase::Empty;
      return (*this)(input::Start{});
    }
    if (state.phase != Phase::Synced || must_relist(error)) state.phase = Phase::Empty;
    count_failure();
    return {Emit::Failed, Command::Wait};
  }

  void count_failure() const {
    if (state.failures > 0 && now - state.last_failure > kWatcherBackoffReset) state.failures = 0;
    ++state.failures;
    state.last_failure = now;
  }
};

}  // namespace

WatcherStep step(WatcherState& state, const WatcherInput& input, std::chrono::nanoseconds now) {
  return std::visit(Transition{state, now}, input);
}

Backoff watcher_backoff() { return {.initial = std::chrono::milliseconds(800), .max = std::chrono::seconds(30)}; }

}  // namespace kopper::client
