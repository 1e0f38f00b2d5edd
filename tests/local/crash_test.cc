// kill -9, again and again, at random moments: while it starts, at the first write, in the middle of many. Nothing that
// was answered or shown to a watch may be lost, no object may be torn, and no watch may skip a change in silence.
// KOPPER_CRASHES=200 for the long form, KOPPER_SEED=n for the same moments again.
#include <cstdlib>
#include <map>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

#include "program.h"

namespace kopper::local {
namespace {

constexpr int kWriters = 6;  // of each kind
constexpr int kNames = 4;    // a writer

// What the objects of a test carry: a number, and what follows from it, so that half of one is noticed.
std::string echo_of(std::int64_t number) {
  std::string out;
  for (int i = 0; i < 1 + number % 60; ++i) out += fmt::format("{} ", number);
  return out;
}

json::Object marks(std::int64_t number) { return {{"n", std::to_string(number)}, {"echo", echo_of(number)}}; }

// -1: torn.
std::int64_t number_of(const json::Value& object) {
  const json::Value& found = object["metadata"]["annotations"];
  const std::string text(found.text("n"));
  if (text.empty()) return -1;
  const std::int64_t number = std::stoll(text);
  return found.text("echo") == echo_of(number) ? number : -1;
}

std::uint64_t version_of(const json::Value& object) {
  const std::string text(object["metadata"].text("resourceVersion"));
  return text.empty() ? 0 : std::stoull(text);
}

// What a writer knows of its object. Between sending and the answer, either may be true.
struct Known {
  std::int64_t answered = 0;  // 0: not there
  std::int64_t sent = 0;
  bool pending = false;
  std::uint64_t version = 0;
};

struct Seen {
  std::int64_t number = 0;
  std::uint64_t version = 0;
  friend bool operator==(const Seen&, const Seen&) = default;
};

// All objects of one kind, as its writers and its one watch know them.
struct Kind {
  std::string path;
  std::string kind;
  std::string api_version;
  bool custom = false;

  std::map<std::string, Known> known = {};
  // The watch's replica.
  std::map<std::string, Seen> objects = {};
  std::map<std::string, std::uint64_t> ends = {};  // when an object was last seen to be deleted
  std::uint64_t position = 0;                      // 0: must list
};

class CrashTest : public testing::Test {
 protected:
  CrashTest() {
    const char* const seed = std::getenv("KOPPER_SEED");
    seed_ = seed != nullptr ? std::strtoul(seed, nullptr, 10) : std::random_device{}();
    random_.seed(seed_);
    kinds_.push_back({.path = "/api/v1/namespaces/default/configmaps", .kind = "ConfigMap", .api_version = "v1"});
    kinds_.push_back({.path = "/apis/coordination.k8s.io/v1/namespaces/default/leases",
                      .kind = "Lease",
                      .api_version = "coordination.k8s.io/v1"});
    kinds_.push_back({.path = "/apis/example.com/v1/namespaces/default/widgets",
                      .kind = "Widget",
                      .api_version = "example.com/v1",
                      .custom = true});
  }

  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }

  Task<> start() {
    const std::vector<std::string> flags{"--data-dir", program_.data().string()};
    co_await program_.start(flags);
    transport_ = program_.connect();
  }

  static json::Object definition() {
    const json::Object spec{{"type", "object"}, {"properties", json::Object{{"n", json::Object{{"type", "integer"}}}}}};
    const json::Object schema{{"type", "object"}, {"properties", json::Object{{"spec", spec}}}};
    const json::Object version{
        {"name", "v1"}, {"served", true}, {"storage", true}, {"schema", json::Object{{"openAPIV3Schema", schema}}}};
    const json::Object names{{"plural", "widgets"}, {"singular", "widget"}, {"kind", "Widget"}};
    return {
        {"apiVersion", "apiextensions.k8s.io/v1"},
        {"kind", "CustomResourceDefinition"},
        {"metadata", json::Object{{"name", "widgets.example.com"}}},
        {"spec",
         json::Object{
             {"group", "example.com"}, {"scope", "Namespaced"}, {"names", names}, {"versions", json::Array{version}}}}};
  }

  Task<> define() {
    http::Request post = request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                                 json::dump(json::Value(definition())));
    const Answer made = co_await ask(*transport_, std::move(post));
    EXPECT_TRUE(made.status == 201 || made.status == 409) << made.body;
    for (;;) {  // until it is served
      http::Request list = request("GET", kinds_[2].path);
      const Answer listed = co_await ask(*transport_, std::move(list));
      if (listed.status == 200) co_return;
      co_await rt::yield();
    }
  }

  // The next change of an object, and the request for it. Every verb that changes has its turn.
  http::Request change(const Kind& kind, const std::string& name, Known& known) {
    const std::string target = kind.path + "/" + name;
    const unsigned way = below(8);
    if (known.answered != 0 && way == 0) {
      known.sent = 0;
      return request("DELETE", target);
    }
    known.sent = ++last_;
    json::Object object{{"apiVersion", kind.api_version},
                        {"kind", kind.kind},
                        {"metadata", json::Object{{"name", name}, {"annotations", marks(known.sent)}}}};
    json::Value value{std::move(object)};
    if (way <= 2) {
      value["metadata"]["annotations"] = marks(known.sent);
      return request("PATCH", target + "?fieldManager=crash&force=true", json::dump(value),
                     "application/apply-patch+yaml");
    }
    if (known.answered == 0) return request("POST", kind.path, json::dump(value));
    if (way <= 4) return request("PATCH", target, json::dump(value), "application/merge-patch+json");
    if (way == 5) {
      json::Array operations;
      const json::Object fields = marks(known.sent);
      for (const auto& [key, text] : fields)
        operations.emplace_back(json::Object{{"op", "add"}, {"path", "/metadata/annotations/" + key}, {"value", text}});
      return request("PATCH", target, json::dump(json::Value(operations)), "application/json-patch+json");
    }
    value["metadata"]["resourceVersion"] = std::to_string(known.version);
    return request("PUT", target, json::dump(value));
  }

  // Writes until the server is gone. Every answer raises what must be found later.
  Task<> write(Kind* kind, int writer) {
    for (;;) {
      const std::string name = fmt::format("w{}-{}", writer, below(kNames));
      Known& known = kind->known[name];
      http::Request next = change(*kind, name, known);
      const std::string what = next.method + " " + next.target;
      known.pending = true;
      ++sent_;
      Answer answer;
      try {
        answer = co_await ask(*transport_, std::move(next));
      } catch (const Error&) {
        co_return;  // what became of this one is not known
      }
      EXPECT_TRUE(answer.status == 200 || answer.status == 201) << what << ": " << answer.body;
      known.answered = known.sent;
      known.pending = false;
      known.version = version_of(answer.json());
      newest_ = std::max(newest_, known.version);
      ++answers_;
    }
  }

  struct Listed {
    std::uint64_t version = 0;
    std::map<std::string, Seen> objects;
  };
  Task<Listed> list(Kind* kind) {
    http::Request get = request("GET", kind->path);
    const Answer answer = co_await ask(*transport_, std::move(get));
    EXPECT_EQ(answer.status, 200) << answer.body;
    const json::Value all = answer.json();
    Listed out{.version = version_of(all)};
    if (const json::Array* items = all["items"].as_array()) {
      for (const json::Value& item : *items) {
        if (item["metadata"]["annotations"].text("n").empty()) continue;  // the server's own
        const Seen one{.number = number_of(item), .version = version_of(item)};
        EXPECT_NE(one.number, -1) << "torn: " << json::dump(item);
        EXPECT_LE(one.version, out.version);
        out.objects[std::string(item["metadata"].text("name"))] = one;
      }
    }
    co_return out;
  }

  // The watch was told to list again: what it was shown before must have survived.
  Task<> list_again(Kind* kind) {
    Listed now = co_await list(kind);
    EXPECT_GE(now.version, kind->position) << "revisions went back";
    for (const auto& [name, seen] : kind->objects) {
      const auto at = now.objects.find(name);
      if (at == now.objects.end()) {
        const Known& known = kind->known[name];
        EXPECT_TRUE(known.answered == 0 || (known.pending && known.sent == 0))
            << kind->kind << " " << name << " was lost";
      } else {
        EXPECT_GE(at->second.version, seen.version) << kind->kind << " " << name << " went back";
        if (at->second.version == seen.version) {
          EXPECT_EQ(at->second, seen) << name << " changed without a revision";
        }
      }
    }
    for (const auto& [name, end] : kind->ends) {
      const auto at = now.objects.find(name);
      if (at == now.objects.end()) continue;
      EXPECT_GT(at->second.version, end) << kind->kind << " " << name << " came back";
    }
    kind->objects = std::move(now.objects);
    kind->position = now.version;
    ++relisted_;
  }

  void take(Kind* kind, const json::Value& event) {
    const std::string_view type = event.text("type");
    const json::Value& object = event["object"];
    if (type == "ERROR") {
      EXPECT_EQ(json::dump(object["code"]), "410") << json::dump(event);
      kind->position = 0;
      return;
    }
    const std::uint64_t version = version_of(object);
    EXPECT_GT(version, kind->position) << "out of order: " << json::dump(event);
    kind->position = version;
    ++events_;
    if (object["metadata"]["annotations"].text("n").empty()) return;
    const std::string name(object["metadata"].text("name"));
    const bool was = kind->objects.contains(name);
    EXPECT_EQ(was, type != "ADDED") << "a gap before " << json::dump(event);
    if (type == "DELETED") {
      kind->objects.erase(name);
      kind->ends[name] = version;
    } else {
      EXPECT_NE(number_of(object), -1) << "torn: " << json::dump(event);
      kind->objects[name] = {.number = number_of(object), .version = version};
    }
  }

  // Follows a kind until the server is gone, and goes on where it was when there is one again.
  Task<> follow(Kind* kind) {
    try {
      for (;;) {
        if (kind->position == 0) co_await list_again(kind);
        http::Request watch = request("GET", fmt::format("{}?watch=1&resourceVersion={}", kind->path, kind->position));
        watch.long_running = true;
        http::Response response = co_await transport_->handle(std::move(watch));
        std::string rest;
        while (const auto chunk = co_await response.body->read()) {
          rest += *chunk;
          for (std::size_t end = 0; (end = rest.find('\n')) != std::string::npos; rest.erase(0, end + 1)) {
            const auto event = json::parse(std::string_view(rest).substr(0, end));
            EXPECT_TRUE(event) << rest.substr(0, end);
            if (event) take(kind, *event);
          }
        }
      }
    } catch (const Error&) {
      // the server is gone
    }
  }

  // After a restart, while nobody writes: the list is what the writers were answered, and what the watch comes to see.
  Task<> check(Kind* kind) {
    const Listed listed = co_await list(kind);
    EXPECT_GE(listed.version, newest_) << "revisions went back";
    for (auto& [name, known] : kind->known) {
      const auto at = listed.objects.find(name);
      const Seen found = at == listed.objects.end() ? Seen() : at->second;
      const bool right = found.number == known.answered || (known.pending && found.number == known.sent);
      EXPECT_TRUE(right) << kind->kind << " " << name << ": answered " << known.answered << ", sent " << known.sent
                         << (known.pending ? " without an answer" : "") << ", found " << found.number;
      known = {.answered = found.number, .sent = found.number, .pending = false, .version = found.version};
    }
    // A change that the watch must come to see, whichever way it goes on.
    const std::string mark = json::dump(
        json::Value(json::Object{{"apiVersion", kind->api_version},
                                 {"kind", kind->kind},
                                 {"metadata", json::Object{{"name", "mark"}, {"annotations", marks(++last_)}}}}));
    http::Request apply =
        request("PATCH", kind->path + "/mark?fieldManager=crash&force=true", mark, "application/apply-patch+yaml");
    const Answer marked = co_await ask(*transport_, std::move(apply));
    EXPECT_LT(marked.status, 300) << marked.body;
    const std::uint64_t version = version_of(marked.json());
    newest_ = std::max(newest_, version);
    while (kind->position < version) co_await rt::sleep(std::chrono::milliseconds(1));
    const Listed after = co_await list(kind);
    EXPECT_EQ(after.objects, kind->objects) << kind->kind << ": the watch has missed something";
  }

  // Up, looked at, written to, down.
  Task<> round() {
    const unsigned moment = below(10);
    if (moment < 2) {  // while it starts
      const std::vector<std::string> flags{"--data-dir", program_.data().string()};
      program_.launch(flags);
      co_await rt::sleep(std::chrono::microseconds(below(120'000)));
      co_await program_.kill();
      ++early_;
      co_return;
    }
    co_await start();
    co_await define();
    rt::Scope followers;
    for (Kind& kind : kinds_) followers.spawn(follow(&kind));
    for (Kind& kind : kinds_) co_await check(&kind);
    rt::Scope writers;
    for (Kind& kind : kinds_)
      for (int i = 0; i < kWriters; ++i) writers.spawn(write(&kind, i));
    if (moment < 4) {  // at the first write
      const std::size_t before = sent_;
      while (sent_ == before) co_await rt::yield();
    } else {
      const std::size_t enough = answers_ + 1 + below(400);
      while (answers_ < enough) co_await rt::sleep(std::chrono::microseconds(100));
    }
    co_await program_.kill();
    co_await writers.join();
    co_await followers.join();
    ++rounds_;
  }

  Task<> run(int rounds) {
    for (int i = 0; i < rounds && !HasFailure(); ++i) co_await round();
    co_await start();
    co_await define();
    rt::Scope followers;
    for (Kind& kind : kinds_) followers.spawn(follow(&kind));
    for (Kind& kind : kinds_) co_await check(&kind);
    followers.cancel();
    co_await followers.join();
    const rt::ExitStatus ended = co_await program_.stop();
    EXPECT_TRUE(ended.ok()) << ended.str();
  }

  rt::Loop loop_;
  Program program_;
  std::shared_ptr<http::Handler> transport_;
  unsigned long seed_ = 0;
  std::mt19937 random_;
  std::vector<Kind> kinds_;
  std::int64_t last_ = 0;
  std::uint64_t newest_ = 0;
  std::size_t sent_ = 0;
  std::size_t answers_ = 0;
  std::size_t events_ = 0;
  std::size_t relisted_ = 0;
  int early_ = 0;
  int rounds_ = 0;
};

TEST_F(CrashTest, NothingAnsweredIsLost) {
  const char* const wanted = std::getenv("KOPPER_CRASHES");
  loop_.run(run(wanted != nullptr ? std::atoi(wanted) : 6));
  fmt::print("seed {}: {} crashes in writes, {} while starting; {} writes answered, {} events seen, {} lists again\n",
             seed_, rounds_, early_, answers_, events_, relisted_);
}

}  // namespace
}  // namespace kopper::local
