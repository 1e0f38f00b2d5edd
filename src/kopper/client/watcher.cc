#include "kopper/client/watcher.h"

#include "kopper/client/list_stream.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

namespace kopper::client {
namespace {

using namespace std::chrono_literals;

// A server that ignores `sendInitialEvents` never says that they are over.
constexpr auto kInitialEventsPatience = 30s;
// A watch that ends sooner, with nothing said, is a failure.
constexpr auto kShortWatch = 1s;

}  // namespace

struct RawWatcher::Impl {
  Impl(RawApi a, WatcherOptions o) : api(std::move(a)), options(std::move(o)) { state.watch_list = options.watch_list; }

  RawApi api;
  WatcherOptions options;
  WatcherState state;
  WatcherCommand command = WatcherCommand::Wait;
  std::optional<ListStream> page;
  std::optional<RawWatch> watch;
  rt::TimePoint opened{};
  bool used = false;
  bool begun = false;
  std::optional<rt::TimePoint> heard;
  RawStoreEvent event;  // being made

  Task<RawStoreEvent> next() {
    while (true) {
      event = {};
      WatcherInput input = input::Start{};
      try {
        input = co_await obey();
      } catch (const Error& error) {
        input = error;
      }
      const auto now = rt::Loop::current().now().time_since_epoch();
      const auto done = step(state, input, now);
      command = done.next;
      if (!done.emit) continue;
      event.type = *done.emit;
      if (event.type == StoreEventType::Failed) event.error = std::get<Error>(input);
      co_return std::move(event);
    }
  }

  // Does what the last step asked for; what comes of it is the next input. Its object is put in `event`.
  Task<WatcherInput> obey() {
    switch (command) {
      case WatcherCommand::Wait: {
        page.reset();
        watch.reset();
        if (begun) co_await rt::sleep(watcher_backoff().delay(state.failures, api.client().random()));
        begun = true;
        co_return input::Start{};
      }
      case WatcherCommand::List: co_await open_list(); break;
      case WatcherCommand::WatchInitial: co_await open_watch(true); break;
      case WatcherCommand::Watch: co_await open_watch(false); break;
      case WatcherCommand::Read: break;
    }
    if (page) co_return co_await read_page();
    co_return co_await read_watch();
  }

  Task<> open_list() {
    watch.reset();
    page.reset();
    ListOptions list;
    list.namespace_ = options.namespace_;
    list.label_selector = options.label_selector;
    list.field_selector = options.field_selector;
    list.page_size = options.page_size;
    page = co_await open_page(api, std::move(list), state.continue_token);
  }

  Task<> open_watch(bool initial) {
    page.reset();
    watch.reset();
    WatchOptions how;
    how.namespace_ = options.namespace_;
    how.label_selector = options.label_selector;
    how.field_selector = options.field_selector;
    how.initial_events = initial;
    if (!initial) how.resource_version = state.resource_version;
    opened = rt::Loop::current().now();
    used = false;
    watch.emplace(co_await api.watch(std::move(how)));
  }

  Task<WatcherInput> read_page() {
    const auto object = co_await page->next();
    if (!object) co_return input::PageEnd{page->continue_token(), page->resource_version()};
    heard = rt::Loop::current().now();
    event.object = *object;
    event.head = head_of(*object);
    co_return input::Item{};
  }

  Task<WatcherInput> read_watch() {
    auto raw = co_await next_event();
    if (!raw) co_return input::Ended{used || rt::Loop::current().now() - opened >= kShortWatch};
    used = true;
    heard = rt::Loop::current().now();
    event.head = std::move(raw->head);
    event.object = raw->object;
    const auto& version = event.head.resource_version;
    switch (raw->type) {
      case WatchType::Added:
      case WatchType::Modified: co_return input::Changed{version};
      case WatchType::Deleted: co_return input::Removed{version};
      case WatchType::Bookmark: co_return input::Bookmark{version, raw->initial_events_end};
      case WatchType::Failed: break;
    }
    co_return std::move(*raw->error);
  }

  Task<std::optional<RawEvent>> next_event() {
    if (state.phase != WatcherState::Phase::Initial) co_return co_await watch->next();
    try {
      co_return co_await rt::timeout(kInitialEventsPatience, watch->next());
    } catch (const Error& error) {
      if (error.code != Code::Timeout) throw;
    }
    Error stalled(Code::Timeout, "the initial events of the watch do not end");
    stalled.reason = "InitialEventsStalled";
    throw stalled;
  }
};

RawWatcher::RawWatcher(RawApi api, WatcherOptions options)
    : impl_(std::make_unique<Impl>(std::move(api), std::move(options))) {}
RawWatcher::~RawWatcher() = default;
RawWatcher::RawWatcher(RawWatcher&&) noexcept = default;

Task<RawStoreEvent> RawWatcher::next() { return impl_->next(); }
const WatcherState& RawWatcher::state() const { return impl_->state; }
std::optional<rt::TimePoint> RawWatcher::last_heard() const { return impl_->heard; }

void ChangeTracker::begin() { ++round_; }

ChangeTracker::Told ChangeTracker::apply(const ObjectHead& head) {
  const auto [at, added] = known_.try_emplace(head.key);
  auto& version = at->second;
  const auto before =
      std::exchange(version, {.uid = head.uid, .resource_version = head.resource_version, .round = round_});
  if (added) return Told::Added;
  if (before.uid != head.uid) return Told::Replaced;
  return before.resource_version == head.resource_version ? Told::Nothing : Told::Modified;
}

bool ChangeTracker::remove(const Key& key) { return known_.erase(key) > 0; }

std::vector<Key> ChangeTracker::end() {
  std::vector<Key> gone;
  for (auto at = known_.begin(); at != known_.end();) {
    if (at->second.round == round_) {
      ++at;
      continue;
    }
    gone.push_back(at->first);
    at = known_.erase(at);
  }
  return gone;
}

}  // namespace kopper::client
