#pragma once

#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kopper/base/key.h"
#include "kopper/client/resource.h"
#include "kopper/http/handler.h"
#include "kopper/http/url.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/wait_list.h"

// For the tests of this module: one collection of an API server, with the faults that servers have.
namespace kopper::cache {

inline const client::Resource kWidgets{
    .group = "example.com", .version = "v1", .plural = "widgets", .kind = "Widget", .namespaced = true};

// {"metadata":{…},"spec":{"size":1}} with "labels" when given.
inline std::string widget(const Key& key, std::string_view uid, std::uint64_t version, int size = 1,
                          std::string_view more_metadata = "") {
  return fmt::format(
      R"({{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"{}","namespace":"{}","uid":"{}","resourceVersion":"{}"{}}},"spec":{{"size":{}}}}})",
      key.name, key.namespace_, uid, version, more_metadata, size);
}

class TestServer final : public http::Handler {
 public:
  // What is there, and how it changes.
  std::string put(const Key& key, int size = 1, std::string more_metadata = "") {
    const bool known = objects_.contains(key);
    auto& object = objects_[key];
    if (!known) object.uid = fmt::format("uid-{}", ++uids_);
    object.json = widget(key, object.uid, ++version, size, more_metadata);
    log(known ? "MODIFIED" : "ADDED", key, object.json);
    return object.json;
  }
  void remove(const Key& key) {
    const auto found = objects_.find(key);
    const auto uid = found->second.uid;
    objects_.erase(found);
    log("DELETED", key, widget(key, uid, ++version));
  }
  std::string uid(const Key& key) { return objects_.at(key).uid; }
  void bookmark() {
    log("BOOKMARK", Key(), fmt::format(R"({{"kind":"Widget","metadata":{{"resourceVersion":"{}"}}}})", version));
  }

  // Faults.
  void forget_history() { oldest_ = version; }  // 410 for all who resume from before
  void break_watches() { end_watches(true); }   // the connections
  void end_watches(bool broken = false) {       // in good order
    ++epoch_;
    broken_ = broken;
    news_.wake_all();
  }
  // Another server answers, or this one after a restore: its versions are behind, and it knows no history.
  void go_back_to(std::uint64_t old) {
    version = old;
    log_.clear();
    break_watches();
  }
  void pause_lists(bool paused) {  // in the middle of the body
    lists_paused_ = paused;
    news_.wake_all();
  }
  void pause_watches(bool paused) {  // what happens is not told yet
    watches_paused_ = paused;
    news_.wake_all();
  }

  std::uint64_t version = 100;
  bool watch_list = true;
  bool short_watches = false;   // each ends at once
  std::string missing_message;  // not empty: the kind is not installed
  std::string served = "v1";
  std::vector<std::string> seen;                 // targets
  std::size_t sent_events = 0;                   // that clients took off the wire
  std::map<std::string, std::string> documents;  // other paths

  std::size_t count(std::string_view part) const {
    std::size_t n = 0;
    for (const auto& target : seen) n += target.contains(part) ? 1U : 0U;
    return n;
  }

  Task<http::Response> handle(http::Request request) override {
    seen.push_back(request.target);
    const auto mark = request.target.find('?');
    const auto path = request.target.substr(0, mark);
    const auto query = http::Query::parse(
        mark == std::string::npos ? std::string_view() : std::string_view(request.target).substr(mark + 1));
    if (const auto document = documents.find(path); document != documents.end()) co_return text(200, document->second);
    std::string namespace_;
    if (const auto at = path.find("/namespaces/"); at != std::string::npos) {
      namespace_ = path.substr(at + 12, path.find('/', at + 12) - at - 12);
    }
    if (!path.ends_with("/widgets") || !missing_message.empty() || !path.contains("/" + served + "/"))
      co_return refuse(404, "NotFound", missing_message);
    const auto value = [&](std::string_view name) { return std::string(query->get(name).value_or("")); };
    if (value("watch") != "true") co_return list(namespace_, value("limit"), value("continue"));
    const bool initial = value("sendInitialEvents") == "true";
    if (initial && !watch_list) co_return refuse(400, "BadRequest", "sendInitialEvents is forbidden");
    const auto from = number(value("resourceVersion"));
    if (from > version) {
      co_return text(
          504,
          fmt::format(
              R"({{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Timeout: Too large resource version: {}, current: {}","reason":"Timeout","details":{{"causes":[{{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}}],"retryAfterSeconds":1}},"code":504}})",
              from, version));
    }
    http::Response response;
    response.body = std::make_unique<Watch>(*this, namespace_, initial, from);
    co_return response;
  }

 private:
  struct Stored {
    std::string uid;
    std::string json;
  };
  struct Logged {
    std::uint64_t version;
    std::string namespace_;
    std::string line;
  };

  static std::uint64_t number(std::string_view text) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }
  static std::string line(std::string_view type, std::string_view object) {
    return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
  }
  static http::Response text(int status, std::string body) {
    http::Response response;
    response.status = status;
    response.body = http::whole(std::move(body));
    return response;
  }
  static http::Response refuse(int code, std::string_view reason, std::string_view message) {
    return text(
        code, fmt::format(
                  R"({{"kind":"Status","apiVersion":"v1","status":"Failure","message":"{}","reason":"{}","code":{}}})",
                  message.empty() ? "the server could not find the requested resource" : message, reason, code));
  }
  void log(std::string_view type, const Key& key, std::string_view object) {
    log_.push_back({version, key.namespace_, line(type, object)});
    news_.wake_all();
  }

  http::Response list(const std::string& namespace_, const std::string& limit, const std::string& token) {
    std::vector<std::string> pieces;
    const auto at_most = limit.empty() ? objects_.size() : number(limit);
    std::size_t index = 0;
    std::string next;
    for (const auto& [key, object] : objects_) {
      if (!namespace_.empty() && key.namespace_ != namespace_) continue;
      if (index++ < number(token)) continue;
      if (pieces.size() == at_most) {
        next = std::to_string(index - 1);
        break;
      }
      pieces.push_back((pieces.empty() ? "" : ",") + object.json);
    }
    pieces.insert(
        pieces.begin(),
        fmt::format(R"({{"kind":"WidgetList","metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[)", version,
                    next));
    pieces.emplace_back("]}");
    http::Response response;
    response.body = std::make_unique<Pieces>(*this, std::move(pieces));
    return response;
  }

  class Pieces final : public http::Body {
   public:
    Pieces(TestServer& server, std::vector<std::string> pieces) : server_(server), pieces_(std::move(pieces)) {}
    Task<std::optional<std::string_view>> read() override {
      while (at_ > 1 && server_.lists_paused_) co_await rt::Waiter(server_.news_);
      if (at_ == pieces_.size()) co_return std::nullopt;
      co_return pieces_[at_++];
    }

   private:
    TestServer& server_;
    std::vector<std::string> pieces_;
    std::size_t at_ = 0;
  };

  class Watch final : public http::Body {
   public:
    Watch(TestServer& server, std::string of, bool initial, std::uint64_t from)
        : server_(server), namespace_(std::move(of)), epoch_(server.epoch_) {
      if (initial) {
        // Out of order, as a server's cache gives them.
        for (auto at = server.objects_.rbegin(); at != server.objects_.rend(); ++at) {
          if (wanted(at->first.namespace_)) lines_.push_back(line("ADDED", at->second.json));
        }
        lines_.push_back(line(
            "BOOKMARK",
            fmt::format(
                R"({{"metadata":{{"resourceVersion":"{}","annotations":{{"k8s.io/initial-events-end":"true"}}}}}})",
                server.version)));
        from = server.version;
      } else if (from < server.oldest_) {
        lines_.push_back(
            line("ERROR", R"({"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"})"));
        ends_ = true;
      }
      while (at_ < server.log_.size() && server.log_[at_].version <= from) ++at_;
    }

    Task<std::optional<std::string_view>> read() override {
      while (true) {
        if (next_ < lines_.size()) co_return lines_[next_++];
        if (ends_ || server_.short_watches) co_return std::nullopt;
        if (epoch_ != server_.epoch_) {
          if (server_.broken_) throw Error(Code::Unavailable, "connection reset");
          co_return std::nullopt;
        }
        while (!server_.watches_paused_ && at_ < server_.log_.size()) {
          const auto& event = server_.log_[at_++];
          if (!event.namespace_.empty() && !wanted(event.namespace_)) continue;
          ++server_.sent_events;
          current_ = event.line;
          co_return current_;
        }
        co_await rt::Waiter(server_.news_);
      }
    }

   private:
    bool wanted(const std::string& namespace_of) const { return namespace_.empty() || namespace_ == namespace_of; }

    TestServer& server_;
    std::string namespace_;
    unsigned epoch_;
    std::vector<std::string> lines_;
    std::size_t next_ = 0;
    std::size_t at_ = 0;
    std::string current_;
    bool ends_ = false;
  };

  std::map<Key, Stored> objects_;
  std::vector<Logged> log_;
  std::uint64_t oldest_ = 0;
  unsigned uids_ = 0;
  unsigned epoch_ = 0;
  bool broken_ = false;
  bool lists_paused_ = false;
  bool watches_paused_ = false;
  rt::WaitList news_;
};

}  // namespace kopper::cache
