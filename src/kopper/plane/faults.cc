#include "kopper/plane/faults.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/meta/decode.h"
#include "kopper/meta/encode.h"
#include "kopper/plane/status.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

namespace kopper::plane {
namespace {

Error lost_connection() { return {Code::Unavailable, "the connection was lost, as a fault rule says"}; }

class BrokenBody final : public http::Body {
 public:
  Task<std::optional<std::string_view>> read() override {
    throw lost_connection();
    co_return std::nullopt;
  }
};

Refusal refusal_of(const Fault& fault, const RequestInfo& info) {
  const Subject subject{.group = info.group, .resource = info.resource};
  const auto usual = [&]() -> Refusal {
    switch (fault.status) {
      case 400: return bad_request("the server rejected our request for an unknown reason");
      case 401: return unauthorized();
      case 403: return forbidden(subject, info.name, "a fault rule says so");
      case 404: return info.name.empty() ? no_such_path() : not_found(subject, info.name);
      case 409:
        return conflict(subject, info.name,
                        "the object has been modified; please apply your changes to the latest version and try again");
      case 410: return expired("The resourceVersion for the provided list is too old.");
      case 429: return too_many("the server has received too many requests and has asked us to try again later", {});
      case 500: return internal("Internal error occurred: a fault rule says so");
      case 503: return {503, "ServiceUnavailable", "the server is currently unable to handle the request"};
      case 504: return {504, "Timeout", "the server was unable to return a response in the time allotted"};
      default: return {fault.status, "", "a fault rule says so"};
    }
  };
  Refusal out = usual();
  if (!fault.reason.empty()) out.reason = fault.reason;
  if (!fault.message.empty()) out.message = fault.message;
  out.retry_after.reset();
  if (fault.retryAfterSeconds > 0) out.retry_after = std::chrono::seconds(fault.retryAfterSeconds);
  return out;
}

bool matches_resource(const std::string& wanted, const RequestInfo& info) {
  const std::string end = info.subresource.empty() ? "" : "/" + info.subresource;
  return wanted == info.resource + end || wanted == info.resource + "." + info.group + end;
}

bool matches(const FaultMatch& match, const RequestInfo& info, const std::string& agent) {
  const auto fits = [](const std::string& wanted, const std::string& is) { return wanted.empty() || wanted == is; };
  return (match.verbs.empty() || std::ranges::find(match.verbs, info.verb) != match.verbs.end()) &&
         (match.resource.empty() || (info.is_resource && matches_resource(match.resource, info))) &&
         fits(match.namespace_, info.namespace_) && fits(match.name, info.name) && agent.starts_with(match.agent);
}

// Whether it is about a moment of the past, which may be forgotten.
bool goes_on(const RequestInfo& info) {
  const std::string version = info.text("resourceVersion").value_or("0");
  if (info.verb == "watch") return version != "0";
  return info.verb == "list" && (info.text("continue") || info.text("resourceVersionMatch") == "Exact");
}

bool may_be_stale(const RequestInfo& info) {
  return (info.verb == "list" || (info.verb == "get" && info.subresource.empty())) &&
         info.text("resourceVersion") == "0";
}

bool applies(const Fault& fault, const RequestInfo& info, const std::string& agent) {
  if (fault.effect == FaultEffect::Expire && !goes_on(info)) return false;
  if (fault.effect == FaultEffect::Stale && !may_be_stale(info)) return false;
  return matches(fault.match, info, agent);
}

}  // namespace

// A watch that can be cut and held up. What is read while it is held up waits, as in the buffers of a network.
class Faults::WatchBody final : public http::Body {
 public:
  WatchBody(Faults& faults, Asked asked, std::unique_ptr<http::Body> inner)
      : faults_(faults), asked_(std::move(asked)), inner_(std::move(inner)) {
    faults_.open_.push_back(this);
  }
  ~WatchBody() override { faults_.open_.remove(this); }

  const Asked& asked() const { return asked_; }
  bool is_cut() const { return cut_.has_value(); }
  void cut(FaultEffect how) {
    cut_ = how;
    woken_.wake_all();
    faults_.changed_.wake_all();
  }

  Task<std::optional<std::string_view>> read() override {
    std::optional<std::string_view> chunk;
    if (!cut_) {
      std::vector<Task<std::optional<std::string_view>>> either;
      either.push_back(inner_->read());
      either.push_back(until_cut());
      chunk = co_await rt::race(std::move(either));
    }
    while (!cut_ && faults_.silent(asked_)) co_await rt::Waiter(faults_.changed_);
    if (!cut_) co_return chunk;
    if (*cut_ == FaultEffect::HangUp) throw lost_connection();
    if (std::exchange(told_, true)) co_return std::nullopt;
    const Refusal why = expired("too old resource version");
    last_ = fmt::format("{{\"type\":\"ERROR\",\"object\":{}}}\n", json::dump(why.status()));
    co_return last_;
  }

 private:
  Task<std::optional<std::string_view>> until_cut() {
    while (!cut_) co_await rt::Waiter(woken_);
    co_return std::nullopt;
  }

  Faults& faults_;
  const Asked asked_;
  const std::unique_ptr<http::Body> inner_;
  std::optional<FaultEffect> cut_;
  bool told_ = false;
  std::string last_;
  rt::WaitList woken_;
};

void Faults::add(Fault fault) {
  const auto check = [](bool good, const char* what) {
    if (!good) throw Error(Code::Invalid, what);
  };
  const bool cuts = fault.effect == FaultEffect::HangUp || fault.effect == FaultEffect::Expire;
  check(fault.effect != FaultEffect::Refuse || (fault.status >= 400 && fault.status <= 599),
        "status: must be between 400 and 599");
  check(fault.times >= 0, "times: must not be negative");
  check(fault.delayMilliseconds >= 0, "delayMilliseconds: must not be negative");
  check(fault.retryAfterSeconds >= 0, "retryAfterSeconds: must not be negative");
  check(!fault.onlyOpen || cuts, "onlyOpen: is for HangUp and Expire");
  fault.hits = 0;
  if (cuts) {
    for (WatchBody* const watch : open_) {
      if (watch->is_cut() || !matches(fault.match, watch->asked().info, watch->asked().agent)) continue;
      watch->cut(fault.effect);
      if (++fault.hits == fault.times) return;
    }
  }
  if (!fault.onlyOpen) rules_.push_back({std::move(fault), plane_.core().state.revision()});
}

void Faults::clear() {
  rules_.clear();
  changed_.wake_all();
}

std::vector<Fault> Faults::rules() const {
  std::vector<Fault> out;
  for (const Rule& rule : rules_) out.push_back(rule.fault);
  return out;
}

bool Faults::silent(const Asked& asked) const {
  const auto first =
      std::ranges::find_if(rules_, [&](const Rule& rule) { return applies(rule.fault, asked.info, asked.agent); });
  return first != rules_.end() && first->fault.effect == FaultEffect::Silence;
}

// The rule for it; a use of it is counted.
std::optional<Faults::Rule> Faults::take(const Asked& asked) {
  const auto first =
      std::ranges::find_if(rules_, [&](const Rule& rule) { return applies(rule.fault, asked.info, asked.agent); });
  if (first == rules_.end()) return std::nullopt;
  ++first->fault.hits;
  std::optional<Rule> out(*first);
  if (out->fault.effect != FaultEffect::Silence && out->fault.hits == out->fault.times) rules_.erase(first);
  return out;
}

Task<http::Response> Faults::handle(http::Request request) {
  Asked asked;
  bool readable = true;
  try {
    asked.info = request_info(request);
  } catch (const Refusal&) {
    readable = false;  // the plane has the words for it
  }
  // What is wrong can always be mended.
  if (!readable || asked.info.path.starts_with("/debug/")) co_return co_await plane_.handle(std::move(request));
  asked.agent = request.headers.get("user-agent").value_or("");

  std::optional<Rule> rule = take(asked);
  while (rule && rule->fault.effect == FaultEffect::Silence) {
    co_await rt::Waiter(changed_);
    if (!silent(asked)) rule = take(asked);
  }
  if (rule && rule->fault.delayMilliseconds > 0)
    co_await rt::sleep(std::chrono::milliseconds(rule->fault.delayMilliseconds));
  if (rule) {
    switch (rule->fault.effect) {
      case FaultEffect::Refuse: co_return refused(refusal_of(rule->fault, asked.info), nullptr);
      case FaultEffect::HangUp: co_return broken();
      case FaultEffect::Lose: {
        const http::Response lost = co_await plane_.handle(std::move(request));
        co_return broken();
      }
      case FaultEffect::Expire: co_return expired_answer(asked);
      case FaultEffect::Stale:
        co_return co_await stale_answer(std::move(request), std::move(asked.info), rule->revision);
      case FaultEffect::Pass:
      case FaultEffect::Silence: break;
    }
  }
  http::Response response = co_await plane_.handle(std::move(request));
  if (asked.info.verb == "watch" && response.status == 200)
    response.body = std::make_unique<WatchBody>(*this, std::move(asked), std::move(response.body));
  co_return response;
}

Task<std::unique_ptr<http::WebSocket>> Faults::connect(http::Request request, std::vector<std::string> subprotocols) {
  return plane_.connect(std::move(request), std::move(subprotocols));
}

http::Response Faults::broken() const {
  if (!over_network_) throw lost_connection();
  http::Response out;
  out.body = std::make_unique<BrokenBody>();
  return out;
}

http::Response Faults::expired_answer(const Asked& asked) const {
  const RequestInfo& info = asked.info;
  if (info.verb != "watch") {
    return refused(info.text("continue")
                       ? expired("The provided continue parameter is too old to display a consistent list result. You "
                                 "can start a new list without the continue parameter.")
                       : expired("The resourceVersion for the provided list is too old."),
                   nullptr);
  }
  const Refusal why = expired(fmt::format("too old resource version: {} ({})",
                                          info.text("resourceVersion").value_or("0"), plane_.core().state.revision()));
  return http::text_response(200, fmt::format("{{\"type\":\"ERROR\",\"object\":{}}}\n", json::dump(why.status())),
                             "application/json");
}

// The server can show any moment that it remembers: it is asked for that one.
Task<http::Response> Faults::stale_answer(http::Request request, RequestInfo info, std::uint64_t revision) {
  http::Query query;
  for (const auto& [name, value] : info.query)
    if (!name.starts_with("resourceVersion")) query.add(name, value);
  query.add("resourceVersion", revision).add("resourceVersionMatch", "Exact");
  std::string path = request.target.substr(0, request.target.find('?'));
  const bool one = info.verb == "get";
  if (one) {
    path.erase(path.rfind('/'));  // the collection it is in
    query.add("fieldSelector", "metadata.name=" + info.name);
  }
  request.target = query.on(path);
  http::Response response = co_await plane_.handle(std::move(request));
  if (!one || response.status != 200) co_return response;
  const std::string text = co_await http::read_all(*response.body);
  const auto list = json::parse(text);
  const json::Array* items = list ? (*list)["items"].as_array() : nullptr;
  if (items == nullptr) co_return http::text_response(200, text, "application/json");  // a Table is one either way
  if (items->empty()) {
    const Subject subject{.group = info.group, .resource = info.resource};
    co_return refused(not_found(subject, info.name), nullptr);
  }
  std::string_view kind = list->text("kind");
  kind.remove_suffix(std::string_view("List").size());
  json::Object object{{"kind", kind}, {"apiVersion", list->text("apiVersion")}};
  for (const auto& [name, value] : *items->front().as_object()) object[name] = value;
  co_return http::text_response(200, json::dump(object) + "\n", "application/json");
}

namespace {

json::Value listed(const Faults& faults) {
  json::Array rules;
  for (const Fault& fault : faults.rules()) rules.push_back(meta::to_value(fault));
  return json::Object{{"faults", std::move(rules)}, {"openWatches", faults.open_watches()}};
}

Fault read_fault(const std::string& body) {
  std::vector<std::string> unknown;
  auto fault = meta::decode<Fault>(body, {.unknown = &unknown});
  if (!fault) throw bad_request("fault: " + fault.error().str());
  if (!unknown.empty()) throw bad_request(fmt::format("fault: unknown field \"{}\"", unknown.front()));
  return std::move(*fault);
}

Task<http::Response> debug_faults(Faults* faults, Call* call) {
  if (call->request.method == "POST") {
    try {
      faults->add(read_fault(call->request.body));
    } catch (const Error& error) {
      throw bad_request(fmt::format("fault: {}", error.message));
    }
  } else if (call->request.method == "DELETE") {
    faults->clear();
  } else if (call->request.method != "GET") {
    throw method_not_allowed();
  }
  co_return answer(*call, 200, listed(*faults));
}

Task<http::Response> debug_clock(Core* core, Call* call) {
  if (call->request.method == "POST") {
    const auto body = json::parse(call->request.body);
    const std::int64_t* seconds = body ? std::as_const(*body)["forwardSeconds"].as_int() : nullptr;
    constexpr std::int64_t kTenYears = 10LL * 365 * 24 * 3600;
    if (seconds == nullptr || *seconds < 0 || *seconds > kTenYears)
      throw bad_request("clock: forwardSeconds must be a number of seconds, at most ten years");
    rt::Loop::current().advance(std::chrono::seconds(*seconds));
  } else if (call->request.method != "GET") {
    throw method_not_allowed();
  }
  co_return answer(*call, 200, json::Object{{"now", core->now().str()}});
}

}  // namespace

void serve_debug(Plane& plane, Faults& faults) {
  plane.serve_path("/debug/faults", [&faults](Core&, Call& call) { return debug_faults(&faults, &call); });
  plane.serve_path("/debug/clock", [](Core& core, Call& call) { return debug_clock(&core, &call); });
}

}  // namespace kopper::plane
