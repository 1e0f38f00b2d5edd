// watch: a stream of what changes.
#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "kopper/plane/core.h"
#include "kopper/plane/custom.h"
#include "kopper/plane/parameters.h"
#include "kopper/rt/scope.h"

namespace kopper::plane {
namespace {

using std::chrono::seconds;

struct WatchPlan {
  bool initial = false;      // begin with what is there
  bool initial_end = false;  // and say when that is over
  bool bookmarks = false;
  std::uint64_t from = 0;
  rt::Duration length = seconds(0);
};

Task<> changed(rt::WaitList& list) {  // outlives: a table owns it
  co_await rt::Waiter(list);
}

// Reads the history of a table at its own pace: it holds no queue, and one that falls behind what is remembered is told
// 410, as after a compaction.
class WatchBody final : public http::Body {
 public:
  WatchBody(Core& core, ResourceRef resource, Selection selection, Renderer renderer, WatchPlan plan)
      : core_(core),
        resource_(std::move(resource)),
        table_(core.state.table(resource_->table())),
        selection_(std::move(selection)),
        renderer_(std::move(renderer)),
        plan_(plan),
        cursor_(plan.from),
        end_(rt::Loop::current().now() + plan.length),
        next_bookmark_(rt::Loop::current().now() + kBookmarkEvery) {
    if (!plan.initial) return;
    cursor_ = core.state.revision();
    for (const auto& [place, object] : table_.objects())
      if (selection_.matches(*object)) initial_.push_back(object);
  }

  Task<std::optional<std::string_view>> read() override {
    for (;;) {
      chunk_.clear();
      if (!done_) {
        co_await collect();
        if (!chunk_.empty()) {
          co_await core_.state.durable(cursor_);
          co_return chunk_;
        }
      }
      const rt::TimePoint now = rt::Loop::current().now();
      if (done_ || now >= end_ || !still_served()) co_return std::nullopt;
      rt::TimePoint until = end_;
      if (plan_.bookmarks) {
        if (now >= next_bookmark_) {
          next_bookmark_ = now + kBookmarkEvery;
          co_await core_.state.durable(cursor_);  // who comes back with it after a crash must not skip what follows
          add("BOOKMARK", renderer_.bookmark(std::to_string(cursor_), false));
          co_return chunk_;
        }
        until = std::min(until, next_bookmark_);
      }
      try {
        co_await rt::timeout(until - now, changed(table_.changed()));
      } catch (const Error& error) {
        if (error.code != Code::Timeout) throw;
      }
    }
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{64} << 10U;
  static constexpr rt::Duration kBookmarkEvery = seconds(60);

  // A watch of custom resources ends with the definition that it began under.
  bool still_served() const {
    if (!resource_->custom) return true;
    const ResourceRef now = core_.catalog.find(resource_->group, resource_->version, resource_->plural);
    return now && now->custom && custom_kind(*now)->since == custom_kind(*resource_)->since;
  }

  void add(std::string_view type, std::string_view object) {
    chunk_ += R"({"type":")";
    chunk_ += type;
    chunk_ += R"(","object":)";
    chunk_ += object;
    chunk_ += "}\n";
  }

  Task<> collect() {
    while (next_initial_ < initial_.size() && chunk_.size() < kChunk) {
      StoredRef object = std::move(initial_[next_initial_++]);
      const std::string text = co_await renderer_.event_object(std::move(object), std::exchange(columns_, false));
      add("ADDED", text);
    }
    if (next_initial_ < initial_.size()) co_return;
    if (std::exchange(plan_.initial_end, false)) add("BOOKMARK", renderer_.bookmark(std::to_string(cursor_), true));
    while (chunk_.size() < kChunk) {
      if (cursor_ < table_.forgotten()) {
        const Refusal refusal = expired(fmt::format("too old resource version: {} ({})", cursor_, table_.forgotten()));
        add("ERROR", json::dump(refusal.status()));
        done_ = true;
        co_return;
      }
      const auto next = table_.changes_after(cursor_);
      if (next == table_.changes_end()) {
        // The position of this table is also that of all others: nothing of it changed up to here.
        cursor_ = std::max(cursor_, core_.state.revision());
        co_return;
      }
      const Change change = *next;  // the history may move while the object is converted
      cursor_ = change.revision;
      const bool was = change.before && selection_.matches(*change.before);
      const bool is = change.after && selection_.matches(*change.after);
      if (!was && !is) continue;
      StoredRef object = change.object();
      // An object that left the selection is shown as it was, at the revision at which it left.
      if (change.after && !is) object = core_.state.at_revision(change.before, change.revision);
      const std::string text = co_await renderer_.event_object(std::move(object), std::exchange(columns_, false));
      add(is ? (was ? "MODIFIED" : "ADDED") : "DELETED", text);
    }
  }

  Core& core_;
  ResourceRef resource_;
  Table& table_;
  Selection selection_;
  Renderer renderer_;
  WatchPlan plan_;
  std::uint64_t cursor_;
  rt::TimePoint end_;
  rt::TimePoint next_bookmark_;
  std::vector<StoredRef> initial_;
  std::size_t next_initial_ = 0;
  std::string chunk_;
  bool columns_ = true;  // of a table: with its first row only
  bool done_ = false;
};

rt::Duration length_of(const Call& call) {
  // A year is as good as for ever, and more would not fit into a Duration.
  if (const std::int64_t given = number(call.info, "timeoutSeconds").value_or(0); given > 0)
    return seconds(std::min<std::int64_t>(given, 365 * 86400));
  // Not all at the same time.
  static thread_local std::minstd_rand random{std::random_device{}()};
  return seconds(1800 + random() % 1800);
}

}  // namespace

Task<http::Response> watch(Core& core, Call& call) {
  const Output output = negotiate(call.info, call.header("accept"));
  Selection selection(call);
  WatchPlan plan;
  plan.bookmarks = call.info.flag("allowWatchBookmarks");
  plan.length = length_of(call);
  const std::string version = call.info.text("resourceVersion").value_or("");
  const bool send_initial = call.info.flag("sendInitialEvents");
  const std::string match = call.info.text("resourceVersionMatch").value_or("");
  Problems problems;
  if (call.info.text("sendInitialEvents") && match != "NotOlderThan")
    problems.forbidden("resourceVersionMatch",
                       "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  if (call.info.text("sendInitialEvents") && !match.empty() && match != "NotOlderThan")
    problems.not_supported("resourceVersionMatch", match, {"NotOlderThan"});
  if (!call.info.text("sendInitialEvents") && !match.empty())
    problems.forbidden("resourceVersionMatch",
                       "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  if (!problems.empty()) throw invalid("meta.k8s.io", "ListOptions", "", problems);
  if (version.empty() || version == "0") {
    plan.initial = !call.info.text("sendInitialEvents") || send_initial;
    plan.from = core.state.revision();
  } else {
    plan.from = asked_revision(call);
    plan.initial = send_initial;
  }
  plan.initial_end = send_initial && plan.bookmarks;
  Renderer renderer(call.resource, output, *core.converter);
  http::Response out = answer(call, 200, std::string(), output);
  out.headers.remove("content-length");
  out.body = std::make_unique<WatchBody>(core, call.resource, std::move(selection), std::move(renderer), plan);
  co_return out;
}

}  // namespace kopper::plane
