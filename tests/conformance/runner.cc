#include "conformance/runner.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <random>
#include <regex>
#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/client/lines.h"
#include "kopper/http/message.h"
#include "kopper/json/pointer.h"
#include "kopper/json/yaml.h"
#include "kopper/rt/scope.h"

namespace kopper::conformance {
namespace {

constexpr auto kComparedHeaders = std::to_array<std::string_view>({"Content-Type", "Retry-After", "Warning"});

std::string fresh_name() {
  constexpr std::string_view letters = "bcdfghjklmnpqrstvwxz2456789";
  std::random_device random;
  std::string name = "conform-";
  for (int i = 0; i < 6; ++i) name += letters[random() % letters.size()];
  return name;
}

class Run {
 public:
  explicit Run(Target target) : target_(std::move(target)) { out_.space = fresh_name(); }

  Task<> make_space() {
    Step step{.name = "namespace", .method = "POST", .target = "/api/v1/namespaces"};
    step.headers.emplace_back("Content-Type", "application/json");
    step.body = R"({"metadata": {"name": "$ns"}})";
    const auto answer = co_await call(step);
    if (*answer["status"].as_int() != 201) throw Error(Code::Unavailable, "no namespace: " + json::dump(answer));
  }

  Task<> take(Step step) {
    json::Value answer;
    try {
      answer = co_await of(step);
    } catch (const Error& error) {
      answer["status"] = 0;
      answer["text"] = error.what();
    }
    json::Object named{{"step", step.name}};
    for (auto& [key, value] : *answer.as_object()) named[key] = std::move(value);
    out_.answers.emplace_back(std::move(named));
  }

  Transcript done() && { return std::move(out_); }

 private:
  Task<json::Value> of(Step step) {
    switch (step.form) {
      case Step::Form::Watch: co_return co_await watch(std::move(step));
      case Step::Form::Collect: co_return co_await collect(std::move(step));
      case Step::Form::Call: break;
    }
    auto answer = step.until ? call_until(std::move(step)) : call(std::move(step));
    co_return co_await rt::timeout(target_.patience, std::move(answer));
  }

  Task<json::Value> call(Step step) {
    auto response = co_await target_.handler->handle(request(step));
    auto answer = head(response);
    const std::string text = co_await http::read_all(*response.body);
    set_body(answer, text);
    co_return answer;
  }

  Task<json::Value> call_until(Step step) {
    while (true) {
      auto answer = co_await call(step);
      if (json::dump(answer).contains(resolve(*step.until))) co_return answer;
      co_await rt::yield();  // a server in this process answers without
    }
  }

  Task<json::Value> watch(Step step) {
    auto asked = request(step);
    asked.long_running = true;
    auto response = co_await target_.handler->handle(std::move(asked));
    auto answer = head(response);
    if (response.status == 200) {
      streams_.emplace(step.name, client::LineReader(std::move(response.body)));
    } else {
      const std::string text = co_await http::read_all(*response.body);
      set_body(answer, text);
    }
    co_return answer;
  }

  Task<json::Value> collect(Step step) {
    const auto stream = streams_.find(step.watch);
    if (stream == streams_.end()) throw Error(Code::Internal, "no stream is open");
    json::Array events;
    std::string end;
    try {
      const bool ended = co_await rt::timeout(target_.patience, read_events(&stream->second, step.events, &events));
      if (ended) end = "the stream ended";
    } catch (const Error& error) {
      end = error.what();
    }
    json::Value answer;
    answer["events"] = std::move(events);
    if (!end.empty()) answer["end"] = std::move(end);
    co_return answer;
  }

  // True when the stream ended. Bookmarks come when the server likes; only those that end the initial events count.
  static Task<bool> read_events(client::LineReader* stream, std::optional<std::size_t> count, json::Array* events) {
    while (!count || events->size() < *count) {
      const auto line = co_await stream->next();
      if (!line) co_return true;
      auto event = json::parse(*line);
      if (!event) throw_error(event.error());
      if (event->text("type") == "BOOKMARK" && !line->contains("k8s.io/initial-events-end")) continue;
      events->push_back(*std::move(event));
    }
    co_return false;
  }

  http::Request request(const Step& step) const {
    http::Request out;
    out.method = step.method;
    out.target = resolve(step.target);
    out.body = resolve(step.body);
    out.headers.set("Accept", "application/json");
    out.headers.set("User-Agent", "conformance/1");
    switch (step.user) {
      case User::Admin: out.headers.set("Authorization", "Bearer " + target_.admin_token); break;
      case User::Nobody: out.headers.set("Authorization", "Bearer " + target_.nobody_token); break;
      case User::BadToken: out.headers.set("Authorization", "Bearer never-given-out"); break;
      case User::Anonymous: break;
    }
    for (const auto& [name, value] : step.headers) out.headers.set(name, resolve(value));
    return out;
  }

  static json::Value head(const http::Response& response) {
    json::Value headers{json::Object()};
    for (const auto name : kComparedHeaders) {
      json::Array values;
      for (const auto value : response.headers.all(name)) values.emplace_back(value);
      if (!values.empty()) headers[name] = values.size() == 1 ? std::move(values[0]) : json::Value(std::move(values));
    }
    json::Value answer;
    answer["status"] = response.status;
    answer["headers"] = std::move(headers);
    return answer;
  }

  static void set_body(json::Value& answer, const std::string& text) {
    const auto type = answer["headers"].text("Content-Type");
    if (type.contains("json") || text.starts_with('{')) {
      if (auto body = json::parse(text)) {
        answer["body"] = *std::move(body);
        return;
      }
    }
    if (type.contains("yaml")) {
      if (auto body = json::parse_yaml(text); body && body->size() == 1) {
        answer["body"] = std::move(body->front().value);
        return;
      }
    }
    answer["text"] = text;
  }

  // $ns is the namespace; $(step/a/b) what is at /a/b of that step's answer; $rv(step), $uid(step), $name(step) and
  // $continue(step) what they say of its metadata; what is not there is empty. $repeat(n) is n letters.
  std::string resolve(const std::string& text) const {
    static const std::regex placeholder(R"(\$ns|\$(rv|uid|name|continue|repeat|)\(([^)]*)\))");
    std::string out;
    auto from = text.begin();
    for (std::sregex_iterator match(text.begin(), text.end(), placeholder), end; match != end; ++match) {
      out.append(from, (*match)[0].first);
      out += match->str() == "$ns" ? out_.space : said(match->str(1), match->str(2));
      from = (*match)[0].second;
    }
    return out.append(from, text.end());
  }

  std::string said(std::string_view what, std::string_view where) const {
    if (what == "repeat") return std::string(std::stoul(std::string(where)), 'x');
    std::string path;
    if (what.empty()) {
      const auto slash = std::min(where.find('/'), where.size());
      path = where.substr(slash);
      where = where.substr(0, slash);
    } else {
      path = fmt::format("/metadata/{}", what == "rv" ? "resourceVersion" : what);
    }
    const auto answer = std::ranges::find(out_.answers, where, [](const auto& a) { return a.text("step"); });
    const auto pointer = json::Pointer::parse(path);
    if (answer == out_.answers.end() || !pointer) {
      throw Error(Code::Invalid, fmt::format("bad placeholder: {}({}{})", what, where, path));
    }
    const auto* value = pointer->find((*answer)["body"]);
    return value != nullptr && value->is_string() ? *value->as_string() : std::string();
  }

  const Target target_;
  Transcript out_;
  std::map<std::string, client::LineReader, std::less<>> streams_;
};

}  // namespace

Task<Transcript> run(Target target, Scenario scenario) {
  Run all(std::move(target));
  co_await all.make_space();
  for (const auto& step : scenario.steps) co_await all.take(step);
  co_return std::move(all).done();
}

}  // namespace kopper::conformance
