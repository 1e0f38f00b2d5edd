#include "kopper/testing/cluster.h"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "kopper/api/gen/apiextensions_v1.h"
#include "kopper/base/error.h"
#include "kopper/client/discovery.h"
#include "kopper/client/raw_api.h"
#include "kopper/client/retry.h"
#include "kopper/json/yaml.h"

namespace kopper::testing {
namespace {

constexpr std::string_view kMe = "test";

// A handler that somebody else owns.
std::shared_ptr<http::Handler> borrowed(http::Handler& handler) { return {std::shared_ptr<void>(), &handler}; }

client::ClientOptions client_options() {
  client::ClientOptions options;
  options.field_manager = kMe;
  options.user_agent = kMe;
  return options;
}

std::string group_of(std::string_view api_version) {
  const auto slash = api_version.find('/');
  return std::string(slash == std::string_view::npos ? "" : api_version.substr(0, slash));
}
std::string version_of(std::string_view api_version) {
  const auto slash = api_version.find('/');
  return std::string(slash == std::string_view::npos ? api_version : api_version.substr(slash + 1));
}

// As people read it: without what only the server cares for.
std::string readable(json::Value object) {
  for (const char* noise : {"managedFields", "uid", "creationTimestamp", "resourceVersion"})
    if (json::Object* metadata = object["metadata"].as_object()) metadata->erase(noise);
  return json::to_yaml(object);
}

std::string indented(std::string_view text, std::size_t lines) {
  std::string out;
  while (!text.empty() && lines-- > 0) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    out += "    ";
    out += text.substr(0, end);
    out += '\n';
    text.remove_prefix(end + 1);
  }
  if (!text.empty()) out += "    …\n";
  return out;
}

}  // namespace

std::string Seen::str() const { return fmt::format("{} {} {}", method, target, status); }

// Says who asks, and notes what.
class Cluster::Wire final : public http::Handler {
 public:
  Wire(http::Handler& server, const ClusterOptions& options)
      : server_(server), user_(options.user), rate_(options.qps, options.burst) {}

  Task<http::Response> handle(http::Request request) override {
    if (!user_.empty()) request.headers.set("impersonate-user", user_);
    const std::size_t number = first_ + seen_.size();
    seen_.push_back({request.method, request.target, 0});
    if (seen_.size() > kAtMost) {
      seen_.pop_front();
      ++first_;
    }
    const rt::Duration wait = rate_.take(rt::Loop::current().now().time_since_epoch());
    if (wait > rt::Duration::zero()) co_await rt::sleep(wait);
    http::Response response = co_await server_.handle(std::move(request));
    if (number >= first_) seen_[number - first_].status = response.status;
    co_return response;
  }
  Task<std::unique_ptr<http::WebSocket>> connect(http::Request request,
                                                 std::vector<std::string> subprotocols) override {
    return server_.connect(std::move(request), std::move(subprotocols));
  }

  // Those since the last time; they are still shown when something is waited for in vain.
  std::vector<Seen> take() {
    const std::size_t begin = std::max(taken_, first_) - first_;
    taken_ = first_ + seen_.size();
    return {seen_.begin() + static_cast<std::ptrdiff_t>(begin), seen_.end()};
  }
  std::vector<Seen> last(std::size_t count) const {
    return {seen_.end() - static_cast<std::ptrdiff_t>(std::min(count, seen_.size())), seen_.end()};
  }

 private:
  static constexpr std::size_t kAtMost = 100'000;

  http::Handler& server_;
  const std::string user_;
  client::RateLimit rate_;
  std::deque<Seen> seen_;
  std::size_t first_ = 0;  // the number of seen_.front()
  std::size_t taken_ = 0;
};

Cluster::Cluster(std::vector<runtime::ControllerSpec> controllers, ClusterOptions options)
    : options_(std::move(options)),
      controllers_(std::move(controllers)),
      plane_(options_.plane),
      faults_(plane_),
      wire_(std::make_shared<Wire>(faults_, options_)),
      client_(borrowed(plane_), client_options()) {
  loop_.run(plane_.start());
  for (const runtime::ControllerSpec& controller : controllers_)
    if (controller.crd) install(controller.crd());
  apply(options_.objects);
  start();
}

Cluster::~Cluster() = default;

std::shared_ptr<http::Handler> Cluster::transport() { return wire_; }

void Cluster::start() {
  manager_ = std::make_unique<runtime::Manager>(wire_, options_.manager);
  for (const runtime::ControllerSpec& controller : controllers_) manager_->add(controller);
  ended_.clear();
  running_ = std::make_unique<rt::Scope>();
  running_->spawn(operate());
  settle();
}

Task<> Cluster::operate() {
  try {
    co_await manager_->run();
  } catch (const Error& error) {
    ended_ = error.what();
  }
}

void Cluster::restart() {
  manager_->stop();
  finish(running_->join());
  running_.reset();
  manager_.reset();
  start();
}

// Applied and served.
void Cluster::install(const json::Value& definition) {
  using api::apiextensionsv1::CustomResourceDefinition;
  const std::string name(definition["metadata"].text("name"));
  const client::RawApi raw(client_, client::resource_of<CustomResourceDefinition>());
  client::ApplyOptions options;
  options.force = true;
  run(raw.apply(Key("", name), json::dump(definition), options));
  until<CustomResourceDefinition>(name, [](const CustomResourceDefinition& it) {
    return std::ranges::any_of(it.status.conditions,
                               [](const auto& one) { return one.type == "Established" && one.status == "True"; });
  });
}

Task<> Cluster::apply_document(json::Value object) {
  const std::string api_version(object.text("apiVersion"));
  const std::string kind(object.text("kind"));
  client::RestMapper mapper(client_);
  const client::ApiResource found = co_await mapper.find(group_of(api_version), version_of(api_version), kind);
  if (found.resource.namespaced && object["metadata"].text("namespace").empty())
    object["metadata"]["namespace"] = options_.namespace_;
  client::ApplyOptions options;
  options.force = true;
  co_await client_.of(found.resource).apply(std::move(object), options);
}

void Cluster::apply(std::string_view yaml) {
  auto documents = json::parse_yaml(yaml);
  if (!documents) throw_error(documents.error(), "apply");
  for (json::YamlDocument& document : *documents) {
    try {
      if (std::as_const(document.value).text("kind") == "CustomResourceDefinition") {
        install(document.value);
      } else {
        run(apply_document(std::move(document.value)));
      }
    } catch (Error& error) {
      error.with(fmt::format("apply: line {}", document.line));
      throw;
    }
  }
}

std::vector<Seen> Cluster::requests() { return wire_->take(); }

std::vector<std::string> Cluster::writes() {
  std::vector<std::string> out;
  for (const Seen& one : wire_->take())
    if (one.write()) out.push_back(one.str());
  return out;
}

void Cluster::until(std::string_view what, const std::function<bool()>& holds) {
  wait(what, [&] {
    try {
      return holds();
    } catch (const Error& error) {
      if (error.code != Code::NotFound) throw;
      return false;
    }
  });
}

void Cluster::wait(std::string_view what, const std::function<bool()>& holds) {
  const rt::TimePoint end = loop_.now() + options_.patience;
  for (;;) {
    settle();
    if (holds()) return;
    const rt::TimePoint next = loop_.next_timer();
    if (next > end) break;
    loop_.advance(std::max(next - loop_.now(), rt::Duration::zero()));
  }
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(options_.patience);
  throw Error(Code::Timeout, fmt::format("waited in vain for {} s: {}\n{}", waited.count(), what, instead()));
}

// Time may pass meanwhile, which Loop::run() alone does not let it.
void Cluster::finish(Task<> task) {
  rt::Scope scope;
  scope.spawn(std::move(task));
  settle();
  if (!scope.empty()) wait("a call of the test to end", [&] { return scope.empty(); });
  loop_.run(scope.join());
}

std::string Cluster::instead() {
  std::string out;
  std::vector<const Kind*> kinds;
  for (const runtime::ControllerSpec& controller : controllers_)
    for (const runtime::WatchedKind& watched : controller.watched)
      if (std::ranges::find(kinds, watched.kind) == kinds.end()) kinds.push_back(watched.kind);
  for (const Kind* kind : kinds) {
    const auto table = plane_.core().state.tables().find(client::resource_of(*kind).name());
    const bool none = table == plane_.core().state.tables().end() || table->second->objects().empty();
    out += fmt::format("  {}:{}\n", kind->kind, none ? " none" : "");
    if (none) continue;
    std::size_t room = 10;
    for (const auto& [place, object] : table->second->objects())
      if (room-- > 0) out += indented(readable(object->value()), 60) + "    ---\n";
  }
  if (!manager_) return out;  // it is not there yet
  if (!ended_.empty()) out += fmt::format("  the operators' process has ended: {}\n", ended_);
  for (const auto& controller : manager_->controllers()) {
    const std::string waits = controller->waiting_for();
    out += fmt::format("  controller {}: {} keys in its queue{}\n", controller->name(),
                       controller->queue().figures().size(), waits.empty() ? "" : ", waits for " + waits);
  }
  if (const std::size_t left = faults_.rules().size()) out += fmt::format("  {} fault rules are left\n", left);
  out += "  the operators' last requests:\n";
  for (const Seen& one : wire_->last(12)) out += fmt::format("    {}\n", one.str());
  return out;
}

}  // namespace kopper::testing
