// Requests to the whole local API server, one after the other. The input is text, so that seeds can be read:
//
//   POST /api/v1/namespaces/default/configmaps json
//   {"metadata":{"name":"a"}}
//   .
//   PATCH /api/v1/namespaces/default/configmaps/a merge
//   {"data":{"k":"v"},"metadata":{"resourceVersion":"$rv"}}
//   .
//   WAIT 3600
//
// A line with method, target, type of the body and accepted type; the body; a line with a dot. $rv and $uid are those
// of the last object that was answered. WAIT lets so many seconds pass.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/http/url.h"
#include "kopper/json/value.h"
#include "kopper/plane/plane.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

#include "require.h"

using kopper::Error;
using kopper::Task;
using kopper::fuzz::require;
namespace http = kopper::http;
namespace json = kopper::json;
namespace plane = kopper::plane;
namespace rt = kopper::rt;

namespace {

constexpr std::size_t kRequests = 12;
constexpr const char* kFollowed[] = {"/api/v1/configmaps", "/api/v1/pods", "/api/v1/services",
                                     "/apis/apps/v1/deployments", "/apis/example.com/v1/widgets"};

using Versions = std::map<std::string, std::string>;  // of objects, by namespace and name

std::string type_of(std::string_view word) {
  static const std::map<std::string_view, std::string> known{
      {"json", "application/json"},
      {"yaml", "application/yaml"},
      {"proto", "application/vnd.kubernetes.protobuf"},
      {"jsonpatch", "application/json-patch+json"},
      {"merge", "application/merge-patch+json"},
      {"strategic", "application/strategic-merge-patch+json"},
      {"apply", "application/apply-patch+yaml"},
      {"table", "application/json;as=Table;v=v1;g=meta.k8s.io"},
      {"partial", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"},
      {"list", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
  };
  const auto at = known.find(word);
  return at == known.end() ? std::string(word) : at->second;
}

struct Answer {
  int status = 0;
  bool json = false;
  std::string body;
  json::Value value;
};

// One server, and what was seen of it.
class Session {
 public:
  Session() : plane_(options()) {
    loop_.run(plane_.start());
    plane_.core().too_large_wait = std::chrono::seconds(0);
    for (const char* path : kFollowed) initial_[path] = list(path).value_or(Versions());
    start_ = revision();
  }

  void run(std::string_view input) {
    for (std::size_t i = 0; i < kRequests && !input.empty(); ++i) {
      const std::size_t end = input.find("\n.\n");
      one(input.substr(0, end));
      input.remove_prefix(end == std::string_view::npos ? input.size() : end + 3);
    }
    for (const char* path : kFollowed) check_replay(path);
  }

 private:
  static plane::PlaneOptions options() {
    plane::PlaneOptions out;
    out.auth.default_service_accounts = false;
    out.auth.bootstrap_roles = false;  // half of the time of an input
    return out;
  }

  std::uint64_t revision() { return plane_.core().state.revision(); }

  static Task<> read(http::Handler* handler, http::Request request, Answer* answer) {
    http::Response response = co_await handler->handle(std::move(request));
    answer->status = response.status;
    answer->json = response.headers.get("content-type").value_or("").starts_with("application/json");
    while (const auto chunk = co_await response.body->read()) {
      require(!chunk->empty(), "no chunk is empty");
      answer->body += *chunk;
    }
    answer->status = -answer->status;  // to its end
  }

  // Nothing when the answer goes on: a watch.
  std::optional<Answer> ask(http::Request request) {
    Answer out;
    {
      rt::Scope scope;
      scope.spawn(read(&plane_, std::move(request), &out));
      loop_.poll();
    }
    require(out.status != 0, "there is an answer");
    const bool whole = out.status < 0;
    out.status = std::abs(out.status);
    require(out.status >= 200 && out.status <= 599, "the status is one of HTTP");
    if (!whole || !out.json) {
      check_lines(out);
      return std::nullopt;
    }
    auto parsed = json::parse(out.body);
    if (!parsed) {  // a watch that has ended: an event a line
      check_lines(out);
      return std::nullopt;
    }
    out.value = std::move(*parsed);
    if (out.value.text("kind") == "Status") {
      const bool failed = out.value.text("status") == "Failure";
      require(!failed || std::as_const(out.value)["code"] == json::Value(out.status),
              "a Status says what the answer is");
    } else {
      require(out.status < 400, "a refusal is a Status");
    }
    require(out.status != 500 || out.value.text("reason").empty(), "nothing goes wrong inside");
    return out;
  }

  static void check_lines(const Answer& answer) {
    if (!answer.json) {
      require(answer.status != 500, "nothing goes wrong inside");
      return;
    }
    std::string_view rest = answer.body;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const auto event = json::parse(rest.substr(0, end));
      require(event.has_value(), "an event is JSON");
      require(!event->text("type").empty(), "an event has a type");
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
  }

  static http::Request get(std::string target) {
    http::Request out;
    out.target = std::move(target);
    return out;
  }

  void replace(std::string& text, std::string_view mark, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += by.size())
      text.replace(at, mark.size(), by);
  }

  void one(std::string_view text) {
    std::string head(text.substr(0, text.find('\n')));
    std::string body(text.substr(std::min(text.size(), head.size() + 1)));
    std::vector<std::string> words;
    for (std::size_t at = 0; at < head.size();) {
      const std::size_t space = std::min(head.find(' ', at), head.size());
      words.push_back(head.substr(at, space - at));
      at = space + 1;
    }
    words.resize(4);
    if (words[0] == "WAIT") {
      unsigned seconds = 0;
      std::from_chars(words[1].data(), words[1].data() + words[1].size(), seconds);
      loop_.advance(std::chrono::seconds(seconds % 100'000));
      return;
    }
    http::Request request;
    request.method = words[0];
    request.target = words[1];
    if (!words[2].empty()) request.headers.set("content-type", type_of(words[2]));
    if (!words[3].empty()) request.headers.set("accept", type_of(words[3]));
    replace(request.target, "$rv", version_);
    replace(body, "$rv", version_);
    replace(body, "$uid", uid_);
    request.body = std::move(body);
    const std::string method = request.method;
    const std::string target = request.target;
    const std::uint64_t before = revision();
    const auto answer = ask(std::move(request));
    require(revision() >= before, "revisions only grow");
    if (!answer || answer->status >= 300 || !words[3].empty()) return;
    check_stored(method, target, answer->value);
  }

  // What a write answered is what is there.
  void check_stored(const std::string& method, const std::string& target, const json::Value& answered) {
    const json::Value& metadata = answered["metadata"];
    const std::string version(metadata.text("resourceVersion"));
    const std::string name(metadata.text("name"));
    if (name.empty() || version.empty()) return;
    version_ = version;
    uid_ = metadata.text("uid");
    require(std::stoull(version) <= revision(), "no revision is of the future");
    if (method == "GET" || method == "DELETE" || target.contains("dryRun")) return;
    std::string path = target.substr(0, target.find('?'));
    if (method == "POST") path += "/" + http::escape(name);
    const auto found = ask(get(path));
    if (!found || found->value.text("kind") != answered.text("kind")) {
      require(
          !found || found->status == 404 || found->status == 405 || found->value.text("kind") != answered.text("kind"),
          "what was written can be read");
      return;
    }
    const std::string now(std::as_const(found->value)["metadata"].text("resourceVersion"));
    if (now == version) {
      require(found->value == answered, "what was answered is what is there");
    } else {
      require(std::stoull(now) > std::stoull(version), "an object does not go back");
    }
  }

  // Nothing when there is no such kind.
  std::optional<Versions> list(const std::string& path) {
    const auto listed = ask(get(path));
    if (!listed || listed->status != 200) return std::nullopt;
    Versions out;
    if (const json::Array* items = std::as_const(listed->value)["items"].as_array())
      for (const json::Value& item : *items) out[key(item)] = item["metadata"].text("resourceVersion");
    return out;
  }

  // All changes since the start, one after the other, make the list.
  void check_replay(const std::string& path) {
    const auto expected = list(path);
    if (!expected) return;
    Answer events;
    {
      rt::Scope scope;
      scope.spawn(read(&plane_, get(path + "?watch=1&resourceVersion=" + std::to_string(start_)), &events));
      loop_.poll();
    }
    Versions replica = initial_[path];
    std::string_view rest = events.body;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const auto event = json::parse(rest.substr(0, end));
      require(event.has_value(), "an event is JSON");
      rest.remove_prefix(std::min(rest.size(), end + 1));
      const json::Value& object = std::as_const(*event)["object"];
      if (event->text("type") == "ERROR") return;  // a definition that came and went
      if (event->text("type") == "DELETED") {
        require(replica.erase(key(object)) == 1, "only what is there is deleted");
      } else {
        require(replica.contains(key(object)) == (event->text("type") == "MODIFIED"), "what is added was not there");
        replica[key(object)] = object["metadata"].text("resourceVersion");
      }
    }
    require(replica == *expected, "the changes make the list");
  }

  static std::string key(const json::Value& object) {
    return std::string(object["metadata"].text("namespace")) + "/" + std::string(object["metadata"].text("name"));
  }

  rt::Loop loop_{rt::ClockMode::Manual};
  plane::Plane plane_;
  std::uint64_t start_ = 0;
  std::map<std::string, Versions> initial_;
  std::string version_ = "0";
  std::string uid_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool quiet = [] {
    kopper::log::Options options;
    options.sink = [](std::string_view) {};
    kopper::log::configure(std::move(options));
    return true;
  }();
  (void)quiet;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  // Nobody is called from here.
  if (size > 20'000 || input.contains("ebhook")) return 0;
  Session().run(input);
  return 0;
}
