// kill -9 in the middle of writes, again and again: nothing that was answered may be lost, and no watch may skip a
// change. KOPPER_CRASHES=200 for the long form.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kopper/api/names.h"
#include "kopper/client/api.h"
#include "kopper/client/config.h"
#include "kopper/client/transport.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/process.h"
#include "kopper/rt/scope.h"

namespace kopper {
namespace {

constexpr int kWriters = 8;
constexpr int kNames = 5;  // a writer

// What a writer knows of one object. Between sending and the answer, either value may be true.
struct Known {
  std::int64_t answered = -1;  // -1: not there
  std::int64_t sent = -1;
  bool pending = false;
};

class CrashTest : public testing::Test {
 protected:
  CrashTest() : folder_(std::filesystem::path(testing::TempDir()) / fmt::format("kopper-crash-{}", ::getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~CrashTest() override { std::filesystem::remove_all(folder_); }

  Task<> start() {
    std::filesystem::remove(folder_ / "kubeconfig");
    rt::ProcessSpec spec;
    spec.argv = {KOPPER_PROGRAM, "cluster",
                 "--data-dir",   (folder_ / "data").string(),
                 "--kubeconfig", (folder_ / "kubeconfig").string()};
    spec.output_file = (folder_ / "log").string();
    server_.emplace(spec);
    while (!std::filesystem::exists(folder_ / "kubeconfig")) co_await rt::sleep(std::chrono::milliseconds(2));
    client::LoadOptions options;
    options.kubeconfig = (folder_ / "kubeconfig").string();
    client_.emplace(client::make_transport(client::load_config(options)));
  }

  Task<> crash() {
    server_->signal(SIGKILL);
    co_await server_->wait();
    server_.reset();
  }

  static std::string name_of(int writer, int number) { return fmt::format("w{}-{}", writer, number); }

  // Writes until the server is gone. Every answer raises what must be found later.
  Task<> write(int writer) {
    const auto maps = client_->of<ConfigMap>();
    for (std::int64_t step = 1;; ++step) {
      const std::string name = name_of(writer, static_cast<int>(step % kNames));
      Known& known = known_[name];
      const bool remove = known.answered >= 0 && step % 7 == 0;
      known.sent = remove ? -1 : ++last_;
      known.pending = true;
      try {
        if (remove) {
          const Key key{"default", name};
          co_await maps.remove(key);
        } else {
          ConfigMap object{.metadata = {.name = name, .namespace_ = "default"},
                           .data = {{"n", std::to_string(known.sent)}}};
          const client::ApplyOptions options{.force = true};
          const ConfigMap stored = co_await maps.apply(object, options);
          newest_ = std::max(newest_, std::stoull(stored.metadata.resourceVersion));
        }
      } catch (const Error&) {
        co_return;  // what became of this one is not known
      }
      known.answered = known.sent;
      known.pending = false;
      ++answers_;
    }
  }

  Task<> check() {
    const auto listed = co_await client_->of<ConfigMap>().list();
    EXPECT_GE(std::stoull(listed.resource_version), newest_) << "revisions went back";
    std::map<std::string, std::int64_t> found;
    for (const ConfigMap& object : listed.items)
      if (object.metadata.namespace_ == "default" && object.data.contains("n"))
        found[object.metadata.name] = std::stoll(object.data.at("n"));
    for (auto& [name, known] : known_) {
      const auto at = found.find(name);
      const std::int64_t value = at == found.end() ? -1 : at->second;
      const bool right = value == known.answered || (known.pending && value == known.sent);
      EXPECT_TRUE(right) << name << ": answered " << known.answered << ", sent " << known.sent << ", found " << value;
      known = Known{.answered = value, .sent = value, .pending = false};
    }
    // A watch from before the crash either goes on without a gap or is told to list again.
    http::Request request;
    request.target = fmt::format("/api/v1/configmaps?watch=1&timeoutSeconds=1&resourceVersion={}", newest_);
    request.long_running = true;
    auto response = co_await client_->stream(std::move(request));
    const std::string events = co_await http::read_all(*response.body);
    const bool current = std::stoull(listed.resource_version) == newest_;
    EXPECT_TRUE(current || events.find("\"code\":410") != std::string::npos ||
                events.find("\"ADDED\"") != std::string::npos || events.find("\"MODIFIED\"") != std::string::npos ||
                events.find("\"DELETED\"") != std::string::npos)
        << "a silent gap after " << newest_ << ": " << events;
    newest_ = std::stoull(listed.resource_version);
  }

  Task<> round(int number) {
    co_await start();
    if (number > 0) co_await check();
    rt::Scope writers;
    for (int i = 0; i < kWriters; ++i) writers.spawn(write(i));
    // Killed in the middle: after some writes were answered, others under way.
    const std::size_t enough = answers_ + 20 + static_cast<std::size_t>(number * 37 % 100);
    while (answers_ < enough) co_await rt::sleep(std::chrono::milliseconds(1));
    co_await crash();
    co_await writers.join();
  }

  Task<> run(int rounds) {
    for (int i = 0; i < rounds; ++i) co_await round(i);
    co_await start();
    co_await check();
    server_->signal(SIGTERM);
    const rt::ExitStatus ended = co_await server_->wait();
    EXPECT_TRUE(ended.ok()) << ended.str();
  }

  const std::filesystem::path folder_;
  rt::Loop loop_;
  std::optional<rt::Process> server_;
  std::optional<client::Client> client_;
  std::map<std::string, Known> known_;
  std::int64_t last_ = 0;
  std::size_t answers_ = 0;
  unsigned long long newest_ = 0;
};

TEST_F(CrashTest, NothingAnsweredIsLost) {
  const char* const wanted = std::getenv("KOPPER_CRASHES");
  loop_.run(run(wanted != nullptr ? std::atoi(wanted) : 5));
  RecordProperty("answered", static_cast<int>(answers_));
}

}  // namespace
}  // namespace kopper
