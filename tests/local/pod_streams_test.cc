// kubectl at a pod that runs: logs, exec, attach, cp and port-forward. The containers are processes of this machine,
// the server runs in this process.
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/json/value.h"
#include "kopper/plane/local_server.h"
#include "kopper/plane/pod_host.h"
#include "kopper/rt/file.h"
#include "kopper/rt/process.h"
#include "kopper/rt/scope.h"
#include "kopper/workloads/container_log.h"

namespace kopper {
namespace {

using plane::LogStream;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;
using workloads::ContainerLog;

Task<std::string> read_line(rt::Stream* stream) {
  std::string line;
  std::string one(1, '\0');
  for (;;) {
    const auto n = co_await stream->read(one);
    if (n == 0 || one == "\n") co_return line;
    line += one;
  }
}

Task<std::string> read_all(rt::Stream* stream) {
  std::string all;
  std::string buffer(4096, '\0');
  while (const auto n = co_await stream->read(buffer)) all.append(buffer, 0, n);
  co_return all;
}

// The one pod: its container answers each line that it reads.
class Host final : public plane::PodHost {
 public:
  explicit Host(const std::filesystem::path& folder) : log_(folder / "1.log"), before_(folder / "0.log") {
    rt::ProcessSpec spec;
    spec.argv = {"sh", "-c", "while read line; do echo \"you said $line\"; done; echo bye >&2"};
    spec.stdio = rt::Stdio::Pipes;
    spec.open_input = true;
    process_.emplace(spec);
    tasks_.spawn(keep(&process_->output(), LogStream::Stdout));
    tasks_.spawn(keep(&process_->errors(), LogStream::Stderr));
    tasks_.spawn(run());
  }

  ContainerLog& log() { return log_; }
  ContainerLog& log_before() { return before_; }
  static rt::WallTime now() { return rt::Loop::current().wall_now(); }

  Task<std::unique_ptr<http::Body>> log(plane::ContainerRef container, plane::LogOptions options) override {
    co_return (container.run == "kopper://1" ? log_ : before_).read(options);
  }
  rt::ProcessSpec enter(const plane::ContainerRef&, const std::vector<std::string>& command, bool) override {
    rt::ProcessSpec spec;
    spec.argv = command;
    return spec;
  }
  std::unique_ptr<plane::Attachment> attach(const plane::ContainerRef&) override {
    return std::make_unique<Attached>(log_.listen(), process_->input());
  }
  Task<std::unique_ptr<rt::Stream>> dial(plane::ContainerRef, std::uint16_t port) override {
    return rt::connect_tcp("127.0.0.1", port);
  }

 private:
  class Attached final : public plane::Attachment {
   public:
    Attached(std::unique_ptr<ContainerLog::Live> live, rt::Stream& input) : live_(std::move(live)), input_(input) {}
    Task<std::optional<Chunk>> read() override { return live_->next(); }
    Task<> write(std::string_view bytes) override { return input_.write(bytes); }
    Task<> end_input() override { return input_.shutdown(); }
    void resize(std::uint16_t, std::uint16_t) noexcept override {}

   private:
    std::unique_ptr<ContainerLog::Live> live_;
    rt::Stream& input_;
  };

  Task<> keep(rt::Stream* stream, LogStream which) {
    std::string buffer(4096, '\0');
    while (const auto n = co_await stream->read(buffer)) {
      log_.append(which, std::string_view(buffer).substr(0, n), now());
    }
    if (++ended_ == 2) log_.end(now());
  }
  Task<> run() { co_await process_->wait(); }

  ContainerLog log_;
  ContainerLog before_;
  std::optional<rt::Process> process_;
  int ended_ = 0;
  rt::Scope tasks_;
};

constexpr const char* kPod = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"default"},
  "spec":{"nodeName":"node-1","containers":[{"name":"main","image":"a","stdin":true}],
          "initContainers":[{"name":"late","image":"a"}]}})";
constexpr const char* kStatus = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"default"},
  "status":{"phase":"Running","containerStatuses":[
   {"name":"main","ready":true,"restartCount":1,"image":"a","imageID":"","containerID":"kopper://1",
    "state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}},
    "lastState":{"terminated":{"exitCode":1,"containerID":"kopper://0"}}}],
   "initContainerStatuses":[{"name":"late","ready":false,"restartCount":0,"image":"a","imageID":"",
    "state":{"waiting":{"reason":"PodInitializing"}}}]}})";

// $KOPPER_KUBECTL: a path, or a version that tools/real-apiserver builds; otherwise the one on PATH.
std::string kubectl_program(rt::Loop& loop) {
  const char* chosen = std::getenv("KOPPER_KUBECTL");
  if (chosen == nullptr) return "kubectl";
  const std::string name = chosen;
  if (name.contains('/')) return name;
  rt::ProcessSpec spec;
  spec.argv = {KOPPER_SOURCE_DIR "/tools/real-apiserver", "build"};
  if (name != "newest") spec.argv.insert(spec.argv.end(), {"--version", name});
  const auto done = loop.run(rt::run_process(spec));
  if (!done.status.ok()) throw std::runtime_error(done.err);
  return done.out.substr(0, done.out.find('\n')) + "/kubectl";
}

class PodStreams : public ::testing::Test {
 protected:
  PodStreams() : kubectl_(kubectl_program(loop_)) {
    std::string name = ::testing::TempDir() + "pod_streams.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    server_.emplace(plane::LocalServerOptions());
    loop_.run(server_->start());
    host_.emplace(folder_);
    server_->plane().set_pod_host(&*host_);
    rt::write_file_atomic(folder_ / "kubeconfig", server_->kubeconfig(), 0600);
    rt::write_file_atomic(folder_ / "status", kStatus);
    ok({"create", "-f", "-"}, kPod);
    ok({"replace", "--raw", "/api/v1/namespaces/default/pods/web/status", "-f", folder_ / "status"});
  }
  ~PodStreams() override {
    loop_.run(server_->stop(std::chrono::seconds(0)));
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  rt::ProcessSpec command(std::vector<std::string> args) const {
    rt::ProcessSpec spec;
    spec.argv = std::move(args);
    spec.argv.insert(spec.argv.begin(), kubectl_);
    spec.env = {{"KUBECONFIG", folder_ / "kubeconfig"}, {"HOME", folder_}};
    spec.output_limit = std::size_t{8} << 20U;
    return spec;
  }
  rt::ProcessResult kubectl(std::vector<std::string> args, std::string input = "") {
    auto spec = command(std::move(args));
    spec.input = std::move(input);
    return loop_.run(rt::run_process(std::move(spec)));
  }
  std::string ok(std::vector<std::string> args, std::string input = "") {
    auto done = kubectl(std::move(args), std::move(input));
    EXPECT_TRUE(done.status.ok()) << done.status.str() << "\n" << done.out << done.err;
    return done.out;
  }
  rt::Process start(std::vector<std::string> args) const {
    auto spec = command(std::move(args));
    spec.stdio = rt::Stdio::Pipes;
    spec.open_input = true;
    return rt::Process(spec);
  }
  std::string line(rt::Process& process) { return loop_.run(read_line(&process.output())); }

  rt::Loop loop_;
  std::string kubectl_;
  std::filesystem::path folder_;
  std::optional<plane::LocalServer> server_;
  std::optional<Host> host_;
};

TEST_F(PodStreams, Logs) {
  host_->log_before().append(LogStream::Stdout, "before\n", Host::now());
  host_->log().append(LogStream::Stdout, "long ago\n", Host::now() - std::chrono::hours(2));
  host_->log().append(LogStream::Stderr, "one\n", Host::now());
  host_->log().append(LogStream::Stdout, "two\n", Host::now());
  EXPECT_EQ(ok({"logs", "web", "-c", "main"}), "long ago\none\ntwo\n");
  EXPECT_EQ(ok({"logs", "web", "--tail=1"}), "two\n");
  EXPECT_EQ(ok({"logs", "web", "--since=1h"}), "one\ntwo\n");
  EXPECT_EQ(ok({"logs", "web", "--limit-bytes=4"}), "long");
  EXPECT_THAT(ok({"logs", "web", "--tail=1", "--timestamps"}), MatchesRegex("20..-..-..T..:..:..\\.[0-9]+Z two\n"));
  EXPECT_EQ(ok({"logs", "web", "--previous"}), "before\n");
  EXPECT_THAT(kubectl({"logs", "web", "-c", "late"}).err,
              HasSubstr(R"((BadRequest): container "late" in pod "web" is waiting to start: PodInitializing)"));
  EXPECT_THAT(kubectl({"logs", "web", "-c", "x"}).err, HasSubstr("container x is not valid for pod web"));
}

TEST_F(PodStreams, LogsAreFollowedToTheEnd) {
  host_->log().append(LogStream::Stdout, "first\n", Host::now());
  auto following = start({"logs", "-f", "web", "-c", "main"});
  EXPECT_EQ(line(following), "first");
  host_->log().append(LogStream::Stdout, "second\nlast", Host::now());
  EXPECT_EQ(line(following), "second");
  host_->log().end(Host::now());
  EXPECT_EQ(line(following), "last");
  EXPECT_TRUE(loop_.run(following.wait()).ok());
}

TEST_F(PodStreams, ExecTellsTheCode) {
  const auto done = kubectl({"exec", "web", "-c", "main", "--", "sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(done.out, "out\n");
  EXPECT_THAT(done.err, StartsWith("err\n"));
  EXPECT_THAT(done.err, HasSubstr("command terminated with exit code 3"));
  EXPECT_EQ(done.status.code, 3);
  EXPECT_THAT(kubectl({"exec", "web", "-c", "late", "--", "true"}).err, HasSubstr(R"(container not found ("late"))"));
}

TEST_F(PodStreams, ExecReadsInput) {
  const std::string much(1'000'000, 'x');
  EXPECT_EQ(ok({"exec", "-i", "web", "-c", "main", "--", "cat"}, much), much);
  EXPECT_EQ(ok({"exec", "-i", "web", "-c", "main", "--", "wc", "-c"}, much), "1000000\n");
}

// script(1) is the terminal that kubectl sits at.
TEST_F(PodStreams, ExecInATerminal) {
  rt::ProcessSpec spec = command({});
  spec.argv = {
      "script", "-qec",
      fmt::format("stty cols 91 rows 37; exec {} exec -it web -c main -- sh -c 'read a; stty size; echo =$a=; exit 4'",
                  kubectl_),
      "/dev/null"};
  spec.stdio = rt::Stdio::Terminal;
  rt::Process process(spec);
  loop_.run(process.input().write("typed\n"));
  const std::string seen = loop_.run(read_all(&process.output()));
  EXPECT_THAT(seen, HasSubstr("37 91\r\n=typed=\r\n"));
  EXPECT_EQ(loop_.run(process.wait()).code, 4);
}

// What the command has open to us ends with it.
TEST_F(PodStreams, ACommandEndsWithItsClient) {
  rt::Listener listener = rt::Listener::tcp();
  auto running = start({"exec", "web", "-c", "main", "--", "bash", "-c",
                        fmt::format("exec 9<>/dev/tcp/127.0.0.1/{}; echo up; exec sleep 1000", listener.port())});
  const auto connection = loop_.run(listener.accept());
  EXPECT_EQ(line(running), "up");
  running.signal(SIGKILL);
  EXPECT_EQ(loop_.run(read_all(connection.get())), "");
}

TEST_F(PodStreams, Attaches) {
  auto attached = start({"attach", "-i", "web", "-c", "main"});
  loop_.run(attached.input().write("hello\n"));
  std::string said;
  while (said != "you said hello") {
    said = line(attached);
    ASSERT_FALSE(said.empty());
  }
  loop_.run(attached.input().shutdown());  // and so the container ends
  loop_.run(attached.wait());
  EXPECT_THAT(ok({"logs", "web", "-c", "main"}), HasSubstr("you said hello\n"));
}

TEST_F(PodStreams, CopiesBothWays) {
  std::filesystem::create_directories(folder_ / "in");
  std::filesystem::create_directories(folder_ / "pod");
  const std::string content = "some\0bytes" + std::string(300'000, 'y');
  rt::write_file_atomic(folder_ / "in/a", content);
  ok({"cp", folder_ / "in/a", "web:" + (folder_ / "pod/b").string(), "-c", "main"});
  EXPECT_EQ(rt::read_file(folder_ / "pod/b"), content);
  ok({"cp", "web:" + (folder_ / "pod/b").string(), folder_ / "in/c", "-c", "main"});
  EXPECT_EQ(rt::read_file(folder_ / "in/c"), content);
}

Task<> answer_all(rt::Listener* listener) {
  for (;;) {
    const auto stream = co_await listener->accept();
    const std::string asked = co_await read_line(stream.get());
    co_await stream->write(fmt::format("heard {}\n{}", asked, std::string(200'000, 'z')));
  }
}

Task<std::string> ask(std::uint16_t port, std::string what) {
  const auto stream = co_await rt::connect_tcp("127.0.0.1", port);
  co_await stream->write(what + "\n");
  co_return co_await read_all(stream.get());
}

TEST_F(PodStreams, ForwardsPorts) {
  rt::Listener listener = rt::Listener::tcp();
  rt::Scope scope;
  scope.spawn(answer_all(&listener));
  auto forwarding = start({"port-forward", "--address=127.0.0.1", "pod/web", fmt::format(":{}", listener.port())});
  const std::string said = line(forwarding);  // Forwarding from 127.0.0.1:40123 -> 80
  ASSERT_THAT(said, StartsWith("Forwarding from 127.0.0.1:"));
  const auto port = static_cast<std::uint16_t>(std::stoi(said.substr(sizeof "Forwarding from 127.0.0.1:" - 1)));
  std::vector<Task<std::string>> asking;
  for (int i = 0; i < 5; ++i) asking.push_back(ask(port, std::to_string(i)));
  const auto answers = loop_.run(rt::all(std::move(asking)));
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(answers[static_cast<std::size_t>(i)], StartsWith(fmt::format("heard {}\n", i)));
    EXPECT_EQ(answers[static_cast<std::size_t>(i)].size(), 200'008U);
  }
}

TEST_F(PodStreams, SaysWhichPortIsClosed) {
  const std::uint16_t closed = rt::Listener::tcp().port();
  auto forwarding = start({"port-forward", "--address=127.0.0.1", "pod/web", fmt::format(":{}", closed)});
  const std::string said = line(forwarding);
  ASSERT_THAT(said, StartsWith("Forwarding from 127.0.0.1:"));
  const auto port = static_cast<std::uint16_t>(std::stoi(said.substr(sizeof "Forwarding from 127.0.0.1:" - 1)));
  const auto peer = loop_.run(rt::connect_tcp("127.0.0.1", port));
  std::string error;
  while (error.find("refused") == std::string::npos) {
    error = loop_.run(read_line(&forwarding.errors()));
    ASSERT_FALSE(error.empty());
  }
  EXPECT_THAT(error, HasSubstr(fmt::format("error forwarding port {} to pod web", closed)));
}

}  // namespace
}  // namespace kopper
