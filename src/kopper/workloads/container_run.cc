#include "kopper/workloads/container_run.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/rt/file.h"
#include "kopper/rt/pids.h"
#include "kopper/rt/scope.h"
#include "kopper/runtime/first_of.h"
#include "kopper/workloads/pod_status.h"

namespace kopper::workloads {

using api::corev1::Container;
using api::corev1::ContainerState;
using api::corev1::ContainerStateRunning;
using api::corev1::ContainerStateTerminated;
using api::corev1::ContainerStateWaiting;
using api::corev1::ContainerStatus;
using api::corev1::LifecycleHandler;
using api::corev1::Pod;
using namespace std::chrono_literals;

namespace {

constexpr auto kForgiven = 10min;       // who ran so long may fail at once again
constexpr auto kTryAgain = 10s;         // what is missing may have come
constexpr auto kSandboxPause = 2ms;     // it takes a few
constexpr auto kUntilKilled = 2s;       // SIGKILL does not take long
constexpr std::size_t kMessage = 4096;  // of a termination message

api::Time now() {
  const auto wall = rt::Loop::current().wall_now();
  return wall;
}

std::string pod_text(const Pod& pod) {
  return fmt::format("{}_{}({})", pod.metadata.name, pod.metadata.namespace_, pod.metadata.uid);
}

std::string container_id(const Pod& pod, const ContainerStatus& status) {
  return fmt::format("kopper://{}.{}.{}", pod.metadata.uid, status.name, status.restartCount);
}

ContainerState waiting(std::string reason, std::string message) {
  ContainerState state;
  state.waiting = ContainerStateWaiting{std::move(reason), std::move(message)};
  return state;
}

}  // namespace

ContainerRun::ContainerRun(ContainerHome& home, Container spec, Role role, const ContainerStatus* before)
    : home_(home), spec_(std::move(spec)), role_(role) {
  status_.name = spec_.name;
  status_.image = spec_.image;
  status_.state = waiting(
      role == Role::Main && !home.pod().spec.initContainers.empty() ? "PodInitializing" : "ContainerCreating", "");
  status_.started = false;
  if (before == nullptr || (!before->state.running && !before->state.terminated)) return;
  // This node ran it before: what it did then still counts.
  status_.restartCount = before->restartCount;
  status_.lastState = before->lastState;
  status_.containerID = before->containerID;
  status_.state = before->state;
  if (!before->state.running) return;
  ContainerStateTerminated lost;
  lost.exitCode = 255;
  lost.reason = "Unknown";
  lost.startedAt = before->state.running->startedAt;
  lost.finishedAt = now();
  lost.containerID = before->containerID;
  status_.state = ContainerState();
  status_.state.terminated = std::move(lost);
}

ContainerRun::~ContainerRun() = default;

Task<> ContainerRun::pause(rt::Duration at_most) {
  wake_.reset();
  co_await runtime::first_of(rt::sleep(at_most), wake_.wait());
}

void ContainerRun::wait_for(std::string reason, std::string message) {
  if (status_.state.terminated) status_.lastState = status_.state;
  const auto* before = status_.state.waiting ? &*status_.state.waiting : nullptr;
  if (before != nullptr && before->reason == reason && before->message == message) return;
  status_.state = waiting(std::move(reason), std::move(message));
  home_.changed();
}

Task<> ContainerRun::wait_over() {
  while (!over_) {
    moved_.reset();
    co_await moved_.wait();
  }
}

Task<> ContainerRun::wait_started() {
  while (!over_ && !started()) {
    moved_.reset();
    co_await moved_.wait();
  }
}

void ContainerRun::stop() {
  stopping_ = true;
  wake_.set();
  if (simulated_) ended_.set();
}

Task<> ContainerRun::run() {
  const auto again = [this] {
    const auto& ended = status_.state.terminated;
    if (stopping_) return false;
    if (!ended) return true;
    if (role_ == Role::Sidecar) return true;
    if (role_ == Role::Ephemeral || (role_ == Role::Init && ended->exitCode == 0)) return false;
    if (role_ == Role::Init) return home_.pod().spec.restartPolicy != "Never";
    return is_restarted(home_.pod(), ended->exitCode);
  };
  while (again()) {
    const bool first = !status_.state.terminated && !status_.lastState.terminated;
    const bool waited = co_await back_off();
    if (!waited) break;
    const bool possible = co_await prepare();
    if (stopping_) break;
    if (!first) ++status_.restartCount;
    if (possible) co_await try_to_live();
  }
  over_ = true;
  status_.ready = false;
  status_.started = false;
  if (!status_.state.terminated) status_.state = status_.lastState;
  moved_.set();
  home_.changed();
}

// Who ends soon after the start waits, longer each time.
Task<bool> ContainerRun::back_off() {
  const auto delay = restart_delay(failures_ - 1);
  if (delay > 0s) {
    wait_for("CrashLoopBackOff", fmt::format("back-off {} restarting failed container={} pod={}",
                                             delay >= 60s ? fmt::format("{}m{}s", delay / 60s, (delay % 60s) / 1s)
                                                          : fmt::format("{}s", delay / 1s),
                                             spec_.name, pod_text(home_.pod())));
    home_.event(true, "BackOff",
                fmt::format("Back-off restarting failed container {} in pod {}", spec_.name, pod_text(home_.pod())));
    const auto until = rt::Loop::current().now() + delay;
    while (!stopping_ && rt::Loop::current().now() < until) co_await pause(until - rt::Loop::current().now());
  }
  co_return !stopping_;
}

void ContainerRun::not_started(std::string why) {
  ContainerStateTerminated never;
  never.exitCode = 128;
  never.reason = "StartError";
  never.message = why;
  never.startedAt = api::Time(std::chrono::sys_seconds(0s));
  never.finishedAt = now();
  status_.state = ContainerState();
  status_.state.terminated = std::move(never);
  status_.ready = false;
  status_.started = false;
  ++failures_;
  home_.event(true, "Failed", fmt::format("Error: {}", why));
  home_.changed();
}

// There may be no bubblewrap, no room on the disk, no more processes.
Task<> ContainerRun::try_to_live() {
  std::string why;
  try {
    co_await live();
    co_return;
  } catch (const std::exception& error) {
    why = error.what();
  }
  process_.reset();
  not_started(std::move(why));
  ended_.set();
}

// False when it cannot be started as it is: then it has ended already.
Task<bool> ContainerRun::prepare() {
  launch_.reset();
  bool told = false;
  while (!stopping_) {
    std::optional<Error> failure;
    try {
      launch_ = home_.launch(spec_);
      co_return true;
    } catch (const Error& error) {
      failure = error;
    }
    const auto reason = failure->reason.empty() ? std::string("CreateContainerConfigError") : failure->reason;
    if (reason == "StartError") {
      not_started(failure->what());
      co_return false;
    }
    // As a node says it: the first time what is wrong, later that it waits.
    const bool pull = reason == "ErrImagePull";
    wait_for(pull && told ? "ImagePullBackOff" : reason, failure->what());
    if (!told) {
      home_.event(true, "Failed", fmt::format("{}: {}", pull ? "Failed to pull image" : "Error", failure->what()));
    }
    told = true;
    co_await pause(kTryAgain);
  }
  co_return false;
}

void ContainerRun::began() {
  if (status_.state.terminated) status_.lastState = status_.state;
  status_.state = ContainerState();
  status_.state.running = ContainerStateRunning{now()};
  status_.imageID = simulated_ ? "simulated" : fmt::format("kopper://{}", spec_.image);
  status_.containerID = container_id(home_.pod(), status_);
  probes_.emplace(spec_, rt::Loop::current().now());
  hooked_ = false;
  falling_ = false;
  began_at_ = rt::Loop::current().now();
  home_.changed();
}

void ContainerRun::set_ready() {
  const bool up = status_.state.running && (simulated_ || (hooked_ && probes_->started() && !falling_));
  const bool ready = up && (simulated_ || probes_->ready()) && role_ != Role::Init && role_ != Role::Ephemeral;
  if (status_.started == up && status_.ready == ready) return;
  status_.started = up;
  status_.ready = ready;
  moved_.set();
  home_.changed();
}

void ContainerRun::ended(const rt::ExitStatus& exit, std::string message) {
  ContainerStateTerminated over;
  over.exitCode = exit.code;
  over.reason = exit.code == 0 ? "Completed" : "Error";
  over.startedAt = status_.state.running ? status_.state.running->startedAt : now();
  over.finishedAt = now();
  over.containerID = status_.containerID;
  over.message = std::move(message);
  status_.state = ContainerState();
  status_.state.terminated = std::move(over);
  status_.ready = false;
  status_.started = false;
  if (rt::Loop::current().now() - began_at_ >= kForgiven) failures_ = 0;
  ++failures_;
  home_.changed();
}

Task<> ContainerRun::live() {
  ended_.reset();
  if (launch_->simulated) {
    simulated_ = true;
    began();
    home_.event(false, "Simulated",
                fmt::format("Image {} stands for no program of this machine: container {} is ready without one",
                            spec_.image, spec_.name));
    set_ready();
    co_await ended_.wait();
    simulated_ = false;
    ended(rt::ExitStatus(), "");
    co_return;
  }
  if (log_) previous_log_ = std::move(log_);
  const auto folder = home_.folder(spec_.name);
  std::filesystem::create_directories(folder);
  rt::write_file_atomic(folder / "termination-log", "", 0666);
  launch_->sandbox.mounts.push_back(
      {folder / "termination-log",
       spec_.terminationMessagePath.empty() ? "/dev/termination-log" : spec_.terminationMessagePath, false});
  log_ = std::make_shared<ContainerLog>(folder / fmt::format("{}.log", status_.restartCount));
  auto spec = launch_->process();
  const bool terminal = spec_.tty.value_or(false);
  spec.stdio = rt::Stdio::Pipes;
  if (terminal) give_terminal(spec, launch_->sandbox.argv.size());
  spec.open_input = spec_.stdin_.value_or(false);
  if (const auto limit = spec_.resources.limits.find("memory"); limit != spec_.resources.limits.end()) {
    spec.limits.emplace_back("data", static_cast<std::uint64_t>(std::max<std::int64_t>(limit->second.value(), 1)));
  }
  process_ = std::make_unique<rt::Process>(spec);
  began();
  home_.event(false, "Started", fmt::format("Started container {}", spec_.name));
  rt::Scope outputs;
  outputs.spawn(copy(&process_->output(), plane::LogStream::Stdout));
  if (!terminal) outputs.spawn(copy(&process_->errors(), plane::LogStream::Stderr));
  rt::Scope checks;
  checks.spawn(look_after());
  const auto exit = co_await process_->wait();
  checks.cancel();
  co_await checks.join();
  co_await outputs.join();
  log_->end(rt::Loop::current().wall_now());
  process_.reset();
  auto words = co_await last_words(exit.code);
  ended(exit, std::move(words));
  ended_.set();
}

Task<> ContainerRun::copy(rt::Stream* from, plane::LogStream stream) {
  std::array<char, 8192> bytes{};
  try {
    for (;;) {
      const auto size = co_await from->read(bytes);
      if (size == 0) break;
      log_->append(stream, std::string_view(bytes.data(), size), rt::Loop::current().wall_now());
    }
  } catch (const Error&) {
    // The terminal of a program that has ended.
  }
}

// What the container left to say: in its file or, when it may, in its log.
Task<std::string> ContainerRun::last_words(int exit_code) {
  std::string words;
  try {
    words = rt::read_file(home_.folder(spec_.name) / "termination-log");
  } catch (const Error&) {
    words.clear();
  }
  if (words.empty() && exit_code != 0 && spec_.terminationMessagePolicy == "FallbackToLogsOnError") {
    plane::LogOptions options;
    options.tail_lines = 80;
    const auto body = log_->read(options);
    words = co_await http::read_all(*body);
    if (words.size() > kMessage / 2) words.erase(0, words.size() - kMessage / 2);
  }
  if (words.size() > kMessage) words.resize(kMessage);
  co_return words;
}

Task<ExecResult> ContainerRun::run_inside(std::vector<std::string> argv) {
  const auto result = co_await rt::run_process(enter(argv));
  ExecResult out;
  out.code = result.status.code;
  out.output = result.out + result.err;
  co_return out;
}

ProbeTarget ContainerRun::target() {
  ProbeTarget out;
  out.address = home_.address();
  out.ports = spec_.ports;
  out.exec = [this](std::vector<std::string> argv) { return run_inside(std::move(argv)); };
  return out;
}

std::chrono::seconds ContainerRun::patience(const api::corev1::Probe* probe) const {
  if (probe != nullptr && probe->terminationGracePeriodSeconds) {
    return std::chrono::seconds(*probe->terminationGracePeriodSeconds);
  }
  return std::chrono::seconds(home_.pod().spec.terminationGracePeriodSeconds.value_or(30));
}

// "" or what went wrong.
Task<std::string> ContainerRun::hook(LifecycleHandler handler) {
  if (handler.sleep) {
    co_await rt::sleep(std::chrono::seconds(handler.sleep->seconds));
    co_return "";
  }
  // As a probe that is asked once, and may take as long as it wants.
  api::corev1::Probe probe;
  probe.exec = std::move(handler.exec);
  probe.httpGet = std::move(handler.httpGet);
  probe.tcpSocket = std::move(handler.tcpSocket);
  probe.timeoutSeconds = 24 * 3600;
  auto whom = target();
  const auto result = co_await probe_once(std::move(probe), std::move(whom));
  co_return result.ok ? "" : result.message.empty() ? "failed" : result.message;
}

Task<> ContainerRun::ask(ProbeKind kind, bool* fatal) {
  auto probe = probes_->probe(kind);
  auto whom = target();
  const auto result = co_await probe_once(std::move(probe), std::move(whom));
  if (!result.ok) {
    home_.event(true, "Unhealthy", fmt::format("{} probe failed: {}", to_string(kind), result.message));
  }
  const auto verdict = probes_->record(kind, result, rt::Loop::current().now());
  if (verdict == ContainerProbes::Verdict::Restart) {
    home_.event(false, "Killing",
                fmt::format("Container {} failed {} probe, will be restarted", spec_.name,
                            kind == ProbeKind::Startup ? "startup" : "liveness"));
    *fatal = true;
  }
  set_ready();
  probed_.set();
}

// Until the sandbox is complete: the program is what is started last in it.
Task<> ContainerRun::wait_inside() {
  while (process_ && program() == 0) co_await rt::sleep(kSandboxPause);
}

// While it runs: the hook of its start, then its probes.
Task<> ContainerRun::look_after() {
  co_await wait_inside();
  if (spec_.lifecycle && spec_.lifecycle->postStart) {
    auto handler = *spec_.lifecycle->postStart;
    const auto wrong = co_await hook(std::move(handler));
    if (!wrong.empty()) {
      home_.event(true, "FailedPostStartHook", fmt::format("PostStartHook of container {}: {}", spec_.name, wrong));
      co_await terminate(patience(nullptr));
      co_return;
    }
  }
  hooked_ = true;
  set_ready();
  bool fatal = false;
  rt::Scope asks;
  while (!fatal) {
    probed_.reset();
    for (const auto kind : probes_->due(rt::Loop::current().now())) asks.spawn(ask(kind, &fatal));
    const auto next = probes_->next();
    if (next == rt::TimePoint::max()) {
      co_await probed_.wait();
    } else {
      co_await runtime::first_of(rt::sleep_until(next), probed_.wait());
    }
  }
  const auto* probe = spec_.livenessProbe ? &*spec_.livenessProbe : &*spec_.startupProbe;
  co_await terminate(patience(probe));
}

rt::Stream* ContainerRun::input() {
  if (!process_ || !spec_.stdin_.value_or(false)) return nullptr;
  return &process_->input();
}

void ContainerRun::resize(std::uint16_t columns, std::uint16_t rows) noexcept {
  if (process_ && spec_.tty.value_or(false)) process_->resize(columns, rows);
}

int ContainerRun::descendant(int steps) const {
  int at = process_ ? process_->pid() : 0;
  for (; at != 0 && steps > 0; --steps) {
    const auto children = rt::children_of(at);
    at = children.empty() ? 0 : children.front();
  }
  return at;
}

// bubblewrap, which runs outside; its first process inside; the program. Or nsenter, and the program.
int ContainerRun::init() const { return process_ && launch_->inside != 0 ? launch_->inside : descendant(1); }
int ContainerRun::program() const { return descendant(process_ && launch_->inside != 0 ? 1 : 2); }

rt::ProcessSpec ContainerRun::enter(const std::vector<std::string>& argv) const {
  if (simulated_) {
    throw Error(Code::Invalid,
                fmt::format("container {} is simulated: its image {} stands for no program of this machine", spec_.name,
                            spec_.image));
  }
  const int first = program() == 0 ? 0 : init();
  if (first == 0) throw Error(Code::Invalid, fmt::format("container not found (\"{}\")", spec_.name));
  return launch_->process(first, argv);
}

void ContainerRun::kill() {
  if (process_) process_->signal(rt::signal_number("KILL"));
  if (simulated_) ended_.set();
}

Task<> ContainerRun::terminate(std::chrono::seconds grace) {
  if (simulated_) ended_.set();
  if (!process_) co_return;
  const auto until = rt::Loop::current().now() + grace;
  falling_ = true;
  set_ready();
  if (grace > 0s) co_await runtime::first_of(wait_inside(), ended_.wait());
  if (grace > 0s && spec_.lifecycle && spec_.lifecycle->preStop) {
    std::string wrong;
    try {
      auto handler = *spec_.lifecycle->preStop;
      wrong = co_await rt::timeout(grace, hook(std::move(handler)));
    } catch (const Error& error) {
      wrong = error.what();
    }
    if (!wrong.empty()) {
      home_.event(true, "FailedPreStopHook", fmt::format("PreStopHook of container {}: {}", spec_.name, wrong));
    }
  }
  if (!process_) co_return;
  // To the program, not to bubblewrap, whose end would be the program's at once.
  const int number = std::max(rt::signal_number(launch_->stop_signal), 1);
  if (grace > 0s && rt::send_signal(program(), number)) {
    // Shells at a terminal do not care for SIGTERM.
    if (spec_.tty.value_or(false)) rt::send_signal(program(), rt::signal_number("HUP"));
    const auto left = until - rt::Loop::current().now();
    co_await runtime::first_of(rt::sleep(std::max<rt::Duration>(left, kUntilKilled)), ended_.wait());
  }
  while (process_) {
    kill();
    co_await runtime::first_of(rt::sleep(kUntilKilled), ended_.wait());
  }
}

}  // namespace kopper::workloads
