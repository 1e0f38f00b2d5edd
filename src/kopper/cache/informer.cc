#include "kopper/cache/informer.h"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/base/log.h"
#include "kopper/cache/detail/head.h"
#include "kopper/client/partial_object.h"
#include "kopper/client/watcher.h"
#include "kopper/json/value.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/wait_list.h"

namespace kopper::cache {
namespace {

using namespace std::chrono_literals;
using client::RawStoreEvent;
using client::StoreEventType;

// A server that restarts may not know its custom resources for a moment. Objects are given up only after that.
constexpr auto kMissingGrace = 10s;
// Others on the loop have their turn after so many events.
constexpr unsigned kEventsInARow = 32;

std::vector<std::string> normal(std::vector<std::string> namespaces) {
  std::ranges::sort(namespaces);
  const auto [first, last] = std::ranges::unique(namespaces);
  namespaces.erase(first, last);
  if (!namespaces.empty() && namespaces.front().empty()) namespaces.clear();  // "" means all
  return namespaces;
}

// The whole resource is "" in the list of those to watch.
std::vector<std::string> watched(const std::vector<std::string>& namespaces) {
  return namespaces.empty() ? std::vector<std::string>{""} : namespaces;
}

client::WatcherOptions watcher_options(const InformerOptions& options, std::string namespace_) {
  client::WatcherOptions out;
  out.namespace_ = std::move(namespace_);
  out.label_selector = options.label_selector;
  out.field_selector = options.field_selector;
  out.page_size = options.page_size;
  out.watch_list = options.watch_list;
  return out;
}

bool has_resource(const json::Value& api_resource_list, std::string_view plural) {
  const auto* resources = api_resource_list["resources"].as_array();
  return resources != nullptr &&
         std::ranges::any_of(*resources, [&](const json::Value& each) { return each.text("name") == plural; });
}

template <class S>
S parsed(const std::string& text, std::string_view what) {
  auto selector = S::parse(text);
  if (!selector) throw_error(selector.error(), fmt::format("{} \"{}\"", what, text));
  return std::move(*selector);
}

}  // namespace

struct Subscription::State {
  Handler handler;
  std::uint64_t after = 0;  // changes up to this one were in the store when it subscribed
  bool active = true;
};

Subscription::Subscription(std::shared_ptr<State> state) : state_(std::move(state)) {}
Subscription& Subscription::operator=(Subscription&& other) noexcept {
  if (state_ && this != &other) state_->active = false;
  state_ = std::move(other.state_);
  return *this;
}
Subscription::~Subscription() {
  if (state_) state_->active = false;
}

struct Informer::Impl {
  // The watch of one namespace, or of all.
  struct Pump {
    Pump(Impl& informer, const std::string& namespace_)
        : mirror(
              informer.store, [&informer](const Change& change) { informer.changes.push_back(change); }, namespace_,
              informer.options.keep),
          version(informer.store.resource().version) {
      watcher.emplace(informer.watcher(namespace_));
    }

    Mirror mirror;
    std::optional<client::RawWatcher> watcher;  // always there
    std::string version;                        // that it asks for
    bool retired = false;
    std::optional<rt::TimePoint> missing_since;
    std::uint64_t lists = 0;
    std::string error;
    std::string said;  // in the log, since the last success
    rt::TimePoint failed_at{};
    // An own write that the watch has not brought yet.
    std::uint64_t written = 0;
    rt::TimePoint written_at{};
    rt::Scope scope;
  };

  Impl(client::Client c, client::Resource r, InformerOptions o)
      : client(std::move(c)),
        options(std::move(o)),
        labels(parsed<api::Selector>(options.label_selector, "label selector")),
        fields(parsed<api::FieldSelector>(options.field_selector, "field selector")),
        store(std::move(r), options.storage) {
    options.namespaces = normal(std::move(options.namespaces));
    if (!store.resource().namespaced) options.namespaces.clear();
    for (const auto& each : watched(options.namespaces)) pumps.push_back(std::make_unique<Pump>(*this, each));
  }

  client::RawWatcher watcher(const std::string& namespace_) const {
    return {
        client::RawApi(client, store.resource(), options.metadata_only ? client::View::Metadata : client::View::Whole),
        watcher_options(options, namespace_)};
  }

  // Constant after construction, but for the namespaces.
  client::Client client;
  InformerOptions options;
  api::Selector labels;
  api::FieldSelector fields;
  // This loop only.
  Store store;
  InformerStats counted;
  std::vector<std::shared_ptr<Subscription::State>> subscribers;
  std::deque<Change> changes;  // in the store, not told yet
  std::uint64_t told = 0;
  bool telling = false;
  bool running = false;
  rt::Event work;
  rt::WaitList waiting;
  std::vector<std::unique_ptr<Pump>> pumps;

  Task<> run() {
    if (running) throw Error(Code::Internal, "the informer runs already: " + store.resource().name());
    struct Stop {
      Impl& impl;
      ~Stop() {
        impl.running = false;
        impl.remake_pumps();
      }
    };
    const Stop stop{*this};
    running = true;
    for (const auto& each : pumps) each->scope.spawn(pump(each.get()));
    while (true) {
      work.reset();
      while (store.tidy()) co_await rt::yield();
      co_await reap();
      co_await work.wait();
    }
  }

  // What is watched is known after a stop too; a watcher is not resumed.
  void remake_pumps() {
    std::erase_if(pumps, [](const auto& each) { return each->retired; });
    for (auto& each : pumps) each = std::make_unique<Pump>(*this, each->mirror.namespace_());
  }

  Task<> reap() {
    while (true) {
      const auto found = std::ranges::find_if(pumps, [](const auto& each) { return each->retired; });
      if (found == pumps.end()) co_return;
      const auto retired = std::move(*found);
      pumps.erase(found);
      co_await retired->scope.join();
    }
  }

  Task<> pump(Pump* pump) {
    for (unsigned in_a_row = 1; !pump->retired; ++in_a_row) {
      std::optional<Error> broken;
      try {
        co_await step(pump);
      } catch (const std::exception& error) {
        broken.emplace(Code::Internal, error.what());
      }
      if (broken) {
        // A watcher reports what goes wrong as events: this is our own fault. Begin anew rather than stand still.
        failed(*pump, *broken);
        pump->watcher.emplace(watcher(pump->mirror.namespace_()));
        co_await rt::sleep(1s);
      }
      if (in_a_row % kEventsInARow == 0) co_await rt::yield();
    }
  }

  Task<> step(Pump* pump) {
    const auto event = co_await pump->watcher->next();
    if (pump->retired) co_return;
    handle(*pump, event);
    tell();
    if (event.type == StoreEventType::Failed && pump->missing_since) co_await look_for_other_version(pump);
    while (store.tidy()) co_await rt::yield();
  }

  void handle(Pump& pump, const RawStoreEvent& event) {
    auto& mirror = pump.mirror;
    const auto now = rt::Loop::current().now();
    switch (event.type) {
      case StoreEventType::Init: mirror.begin(); return;
      case StoreEventType::InitApply: check(mirror.initial(event.object), event); break;
      case StoreEventType::InitDone:
        mirror.done(detail::parse_version(pump.watcher->state().resource_version));
        pump.error.clear();
        pump.said.clear();
        pump.missing_since.reset();
        if (pump.lists++ > 0) ++counted.relists;
        settle();
        break;
      case StoreEventType::Apply: check(mirror.apply(event.object), event); break;
      case StoreEventType::Delete: check(mirror.remove(event.object), event); break;
      case StoreEventType::Failed: failed(pump, *event.error); return;
    }
    ++counted.events;
    if (pump.written != 0 && mirror.version() >= pump.written) {
      counted.lag = now - pump.written_at;
      pump.written = 0;
    }
  }

  void check(const Mirror::Done& done, const RawStoreEvent& event) {
    if (done) return;
    ++counted.bad_objects;
    log::warn("left out an object that is none",
              {{"resource", store.resource().name()}, {"key", event.head.key.str()}, {"error", done.error().str()}});
  }

  void failed(Pump& pump, const Error& error) {
    ++counted.failures;
    // Said once, however long it lasts.
    const auto level = pump.said == error.what() ? log::Level::Debug : log::Level::Warn;
    if (log::enabled(level)) {
      log::write(
          level, "watch interrupted",
          {{"resource", store.resource().name()}, {"namespace", pump.mirror.namespace_()}, {"error", error.what()}});
    }
    pump.said = error.what();
    pump.error = error.what();
    pump.failed_at = rt::Loop::current().now();
    if (error.http_status != 404) return;
    const auto now = rt::Loop::current().now();
    if (!pump.missing_since) {
      pump.missing_since = now;
      settle();
    } else if (now - *pump.missing_since >= kMissingGrace && pump.mirror.synced()) {
      pump.mirror.clear();
      tell();
    }
  }

  // A kind that is missing in one version may be there in another.
  Task<> look_for_other_version(Pump* pump) {
    const auto versions = co_await served_versions();
    const auto wanted = store.resource().version;
    if (pump->retired || versions.empty()) co_return;
    if (pump->version == wanted && std::ranges::find(versions, wanted) != versions.end()) co_return;
    if (!options.any_version) {
      pump->error = fmt::format("the server has {} in version {}, but not in {}", store.resource().name(),
                                fmt::join(versions, ", "), wanted);
      co_return;
    }
    if (pump->version == wanted) {
      log::warn("the kind is served in another version",
                {{"resource", store.resource().name()}, {"was", wanted}, {"is", versions.front()}});
      auto other = store.resource();
      other.version = versions.front();
      store.set_resource(std::move(other));
    }
    pump->version = store.resource().version;
    pump->mirror.expect_other_text();
    pump->watcher.emplace(watcher(pump->mirror.namespace_()));
  }

  // In which versions the server has the resource, its favourite first. None when that cannot be told.
  Task<std::vector<std::string>> served_versions() {
    std::vector<std::string> out;
    const auto resource = store.resource();
    if (resource.group.empty()) co_return out;
    try {
      const auto group = co_await ask("/apis/" + resource.group);
      const auto* versions = group["versions"].as_array();
      for (std::size_t i = 0; versions != nullptr && i < versions->size(); ++i) {
        const auto version = std::string((*versions)[i].text("version"));
        const auto list = co_await ask(fmt::format("/apis/{}/{}", resource.group, version));
        if (!has_resource(list, resource.plural)) continue;
        const bool favourite = version == group["preferredVersion"].text("version");
        out.insert(favourite ? out.begin() : out.end(), version);
      }
    } catch (const Error&) {
      out.clear();  // the next try tells
    }
    co_return out;
  }

  Task<json::Value> ask(std::string path) {
    http::Request request;
    request.target = std::move(path);
    request.headers.set("accept", "application/json");
    const auto answer = co_await client.call(std::move(request));
    auto value = json::parse(answer);
    if (!value) throw_error(value.error(), "discovery");
    co_return std::move(*value);
  }

  bool synced() const {
    return std::ranges::all_of(pumps, [](const auto& each) { return each->retired || each->mirror.synced(); });
  }
  bool missing() const {
    return std::ranges::any_of(pumps, [](const auto& each) { return !each->retired && each->missing_since; });
  }
  void settle() { waiting.wake_all(); }

  Task<> wait_synced() {
    while (!synced()) co_await rt::Waiter(waiting);
  }
  Task<> wait_settled() {
    while (!synced() && !missing()) co_await rt::Waiter(waiting);
  }

  // Handlers may subscribe, unsubscribe, note writes and change namespaces: what comes of it is told after what is told
  // now.
  void tell() {
    if (telling) return;
    telling = true;
    while (!changes.empty()) {
      const auto change = std::move(changes.front());
      changes.pop_front();
      ++told;
      const auto count = subscribers.size();
      for (std::size_t i = 0; i < count; ++i) call(subscribers[i], change);
    }
    telling = false;
    std::erase_if(subscribers, [](const auto& each) { return !each->active; });
  }

  void call(std::shared_ptr<Subscription::State> subscriber, const Change& change) const {
    if (!subscriber->active || told <= subscriber->after) return;
    try {
      subscriber->handler(change);
    } catch (const std::exception& error) {
      log::error("a subscriber of the cache threw", {{"resource", store.resource().name()}, {"error", error.what()}});
    }
  }

  Subscription subscribe(Handler handler) {
    auto state = std::make_shared<Subscription::State>();
    state->handler = std::move(handler);
    state->after = told + changes.size();
    subscribers.push_back(state);
    Subscription subscription(state);
    for (auto& record : store.list()) {
      if (!state->active) break;
      const Change change{.before = {}, .after = std::move(record), .initial = true};
      state->handler(change);
    }
    return subscription;
  }

  Pump* pump_of(std::string_view namespace_) {
    for (const auto& each : pumps) {
      if (each->retired) continue;
      if (each->mirror.namespace_().empty() || each->mirror.namespace_() == namespace_) return each.get();
    }
    return nullptr;
  }

  void set_namespaces(std::vector<std::string> namespaces) {
    namespaces = normal(std::move(namespaces));
    if (!store.resource().namespaced) return;
    options.namespaces = std::move(namespaces);
    const auto wanted = watched(options.namespaces);
    for (const auto& each : pumps) {
      if (!each->retired && !std::ranges::binary_search(wanted, each->mirror.namespace_())) retire(*each);
    }
    for (const auto& name : wanted) {
      const auto same = [&](const auto& each) { return !each->retired && each->mirror.namespace_() == name; };
      if (std::ranges::any_of(pumps, same)) continue;
      pumps.push_back(std::make_unique<Pump>(*this, name));
      if (running) pumps.back()->scope.spawn(pump(pumps.back().get()));
    }
    work.set();
    settle();
    tell();
  }

  void share(const InformerOptions& other) {
    if (options.keep && options.keep.type != other.keep.type) {
      if (running) {
        throw Error(Code::Invalid, fmt::format("the cache of {} keeps only some fields and runs already: ask for whole "
                                               "objects before it starts",
                                               store.resource().name()));
      }
      options.keep = {};
      remake_pumps();
    }
    if (options.namespaces.empty() || other.namespaces.empty()) return set_namespaces({});
    auto all = options.namespaces;
    all.insert(all.end(), other.namespaces.begin(), other.namespaces.end());
    set_namespaces(std::move(all));
  }

  void retire(Pump& pump) {
    pump.retired = true;
    pump.scope.cancel();
    pump.mirror.clear();
  }

  // True when the informer's selectors would select it, as far as that can be told here: of the fields that only the
  // server knows nothing is assumed, and the object must be known already.
  bool selects(const Record& record) const {
    if (!record.matches(labels)) return false;
    const auto plain = [](const auto& term) { return term.field.starts_with("metadata."); };
    if (std::ranges::all_of(fields.terms(), plain)) return record.matches(fields);
    return static_cast<bool>(store.get(record.namespace_(), record.name()));
  }

  void note_write(std::string_view json) {
    std::string metadata;
    if (options.metadata_only) {
      auto part = keep_only<client::PartialObject>().keep(json);
      if (!part) return;
      metadata = std::move(*part);
      json = metadata;
    }
    const auto record = Record::make(json);
    if (!record) return;
    auto* pump = pump_of((*record)->namespace_());
    if (pump == nullptr) return;
    const auto version = (*record)->resource_version();
    const auto& watch = pump->watcher->state();
    if (watch.phase == client::WatcherState::Phase::Synced) {
      pump->mirror.advance(detail::parse_version(watch.resource_version));  // bookmarks count
    }
    if (version <= pump->mirror.version()) {
      counted.lag = rt::Duration::zero();  // the watch was faster than the answer
    } else if (pump->written == 0) {
      pump->written = version;
      pump->written_at = rt::Loop::current().now();
    }
    static_cast<void>(pump->mirror.note_write(json, selects(**record)));
    tell();
  }

  void note_delete(const Key& key, std::string_view answer) {
    const auto value = json::parse(answer);
    if (!value) return;
    if (value->text("kind") == "Status") return note_gone(key, (*value)["details"].text("uid"));
    // Of some kinds servers send the last state. What is still there is marked.
    const auto& metadata = (*value)["metadata"];
    if (metadata.text("deletionTimestamp").empty()) return note_gone(key, metadata.text("uid"));
    note_write(answer);
  }

  void note_gone(const Key& key, std::string_view uid) {
    if (auto* pump = pump_of(key.namespace_)) pump->mirror.note_delete(key, uid);
    tell();
  }

  InformerStats stats() const {
    auto out = counted;
    out.size = store.size();
    out.synced = synced();
    out.missing = missing();
    out.undecodable = store.undecodable();
    for (const auto& each : pumps) {
      if (each->retired) continue;
      out.unprojectable += each->mirror.unprojectable();
      const auto heard = each->watcher->last_heard();
      out.last_event = std::max(out.last_event, heard);
      if (out.last_error.empty() && (!heard || *heard <= each->failed_at)) out.last_error = each->error;
    }
    return out;
  }
};

Informer::Informer(client::Client client, client::Resource resource, InformerOptions options)
    : impl_(std::make_unique<Impl>(std::move(client), std::move(resource), std::move(options))) {}
Informer::~Informer() = default;

Task<> Informer::run() { return impl_->run(); }
bool Informer::synced() const { return impl_->synced(); }
bool Informer::missing() const { return impl_->missing(); }
Task<> Informer::wait_synced() { return impl_->wait_synced(); }
Task<> Informer::wait_settled() { return impl_->wait_settled(); }
Subscription Informer::subscribe(Handler handler) { return impl_->subscribe(std::move(handler)); }
const Store& Informer::store() const { return impl_->store; }
void Informer::add_index(std::string name, IndexFn keys) { impl_->store.add_index(std::move(name), std::move(keys)); }
void Informer::set_storage(Storage storage) {
  impl_->store.set_storage(storage);
  impl_->work.set();
}
void Informer::set_namespaces(std::vector<std::string> namespaces) { impl_->set_namespaces(std::move(namespaces)); }
void Informer::share(const InformerOptions& other) { impl_->share(other); }
bool Informer::watches(std::string_view namespace_) const { return impl_->pump_of(namespace_) != nullptr; }
void Informer::note_write(std::string_view json) { impl_->note_write(json); }
void Informer::note_delete(const Key& key, std::string_view answer) { impl_->note_delete(key, answer); }
void Informer::note_gone(const Key& key, std::string_view uid) { impl_->note_gone(key, uid); }
InformerStats Informer::stats() const { return impl_->stats(); }
const InformerOptions& Informer::options() const { return impl_->options; }

}  // namespace kopper::cache
