#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kopper/api/gen/core_v1.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/process.h"
#include "kopper/rt/task.h"
#include "kopper/workloads/container_log.h"
#include "kopper/workloads/launch.h"
#include "kopper/workloads/probe.h"

namespace kopper::workloads {

// What a container needs of the pod that it is in.
class ContainerHome {
 public:
  virtual ~ContainerHome() = default;
  virtual const api::corev1::Pod& pod() const = 0;
  // Throws Error, with the reason of a waiting or ended container.
  virtual Launch launch(const api::corev1::Container& container) = 0;
  // The file of a run's log, and what else is kept of it.
  virtual std::filesystem::path folder(const std::string& container) const = 0;
  virtual const std::string& address() const = 0;
  // The container's status is another one now.
  virtual void changed() = 0;
  virtual void event(bool warning, std::string reason, std::string message) = 0;
};

// One container: its program is started, started again when it ends, checked, and stopped. Loop-confined.
class ContainerRun {
 public:
  enum class Role : std::uint8_t { Init, Sidecar, Main, Ephemeral };

  // `home` outlives it. `before`: what the pod's status says of it, from an earlier life of this node.
  ContainerRun(ContainerHome& home, api::corev1::Container spec, Role role, const api::corev1::ContainerStatus* before);
  ~ContainerRun();
  ContainerRun(const ContainerRun&) = delete;
  ContainerRun& operator=(const ContainerRun&) = delete;

  // Until it will not be started again.
  Task<> run();
  // Something that it waits for may be there now.
  void retry() { wake_.set(); }
  // It is not started again.
  void stop();
  // Ends what runs: the hook, the signal, patience, force. Returns when it has ended.
  Task<> terminate(std::chrono::seconds grace);
  void kill();

  const api::corev1::Container& spec() const { return spec_; }
  Role role() const { return role_; }
  const api::corev1::ContainerStatus& status() const { return status_; }
  bool started() const { return status_.started.value_or(false); }
  bool over() const { return over_; }
  bool running() const { return process_ != nullptr || simulated_; }
  Task<> wait_over();
  // Until it has started, or is over.
  Task<> wait_started();

  // How to run a command in it. Throws Error when it does not run, or is simulated.
  rt::ProcessSpec enter(const std::vector<std::string>& argv) const;
  // Null when there is none.
  std::shared_ptr<ContainerLog> log(bool previous) const { return previous ? previous_log_ : log_; }
  // The program's standard input, when the container has one.
  rt::Stream* input();
  // Of its terminal, when it has one.
  void resize(std::uint16_t columns, std::uint16_t rows) noexcept;
  // The first process of its sandbox; 0 when it does not run.
  int init() const;
  const Launch* launched() const { return process_ ? &*launch_ : nullptr; }

 private:
  Task<bool> prepare();
  Task<bool> back_off();
  Task<> try_to_live();
  Task<> live();
  Task<> copy(rt::Stream* from, plane::LogStream stream);
  Task<> wait_inside();
  Task<> look_after();
  Task<> ask(ProbeKind kind, bool* fatal);
  Task<std::string> hook(api::corev1::LifecycleHandler handler);
  Task<ExecResult> run_inside(std::vector<std::string> argv);
  ProbeTarget target();
  std::chrono::seconds patience(const api::corev1::Probe* probe) const;
  Task<std::string> last_words(int exit_code);
  int descendant(int steps) const;
  int program() const;
  void wait_for(std::string reason, std::string message);
  void not_started(std::string why);
  void began();
  void ended(const rt::ExitStatus& exit, std::string message);
  void set_ready();
  Task<> pause(rt::Duration at_most);

  // constant after construction
  ContainerHome& home_;
  const api::corev1::Container spec_;
  const Role role_;

  // this loop only
  api::corev1::ContainerStatus status_;
  std::optional<Launch> launch_;
  std::unique_ptr<rt::Process> process_;
  std::shared_ptr<ContainerLog> log_;
  std::shared_ptr<ContainerLog> previous_log_;
  bool simulated_ = false;
  bool stopping_ = false;
  bool over_ = false;
  bool falling_ = false;  // being ended, by us
  bool hooked_ = false;   // the hook of its start is done
  std::optional<ContainerProbes> probes_;
  int failures_ = 0;  // starts in a row that did not last
  rt::TimePoint began_at_;
  rt::Event wake_;
  rt::Event ended_;
  rt::Event moved_;   // started or over
  rt::Event probed_;  // a probe was answered
};

}  // namespace kopper::workloads
