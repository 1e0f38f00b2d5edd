#include "kopper/workloads/pod_run.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "kopper/api/object.h"
#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/rt/file.h"
#include "kopper/runtime/first_of.h"

namespace kopper::workloads {

using api::PodRef;
using api::corev1::Container;
using api::corev1::ContainerStatus;
using api::corev1::EphemeralContainer;
using Role = ContainerRun::Role;
using namespace std::chrono_literals;

namespace {

constexpr auto kTryAgain = 2s;  // a claim may be bound, an object made

const ContainerStatus* find(const std::vector<ContainerStatus>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &ContainerStatus::name);
  return found == all.end() ? nullptr : &*found;
}

// The parts that the two kinds of containers have in common.
Container as_container(const EphemeralContainer& from) {
  Container out;
  out.name = from.name;
  out.image = from.image;
  out.command = from.command;
  out.args = from.args;
  out.workingDir = from.workingDir;
  out.envFrom = from.envFrom;
  out.env = from.env;
  out.volumeMounts = from.volumeMounts;
  out.terminationMessagePath = from.terminationMessagePath;
  out.terminationMessagePolicy = from.terminationMessagePolicy;
  out.imagePullPolicy = from.imagePullPolicy;
  out.securityContext = from.securityContext;
  out.stdin_ = from.stdin_;
  out.stdinOnce = from.stdinOnce;
  out.tty = from.tty;
  return out;
}

api::Time now() {
  const auto wall = rt::Loop::current().wall_now();
  return wall;
}

}  // namespace

PodRun::PodRun(PodRef pod, PodHome home)
    : pod_(std::move(pod)),
      home_(std::move(home)),
      started_(pod_->status.startTime.is_set() ? pod_->status.startTime : now()),
      volumes_(home_.machine->state / "pods", home_.sources) {
  ContainerHome& place = *this;
  for (const auto& container : pod_->spec.initContainers) {
    containers_.emplace_back(place, container, is_sidecar(container) ? Role::Sidecar : Role::Init,
                             find(pod_->status.initContainerStatuses, container.name));
  }
  for (const auto& container : pod_->spec.containers) {
    containers_.emplace_back(place, container, Role::Main, find(pod_->status.containerStatuses, container.name));
  }
  scope_.spawn(live());
}

PodRun::~PodRun() = default;

void PodRun::changed() { home_.changed(); }

void PodRun::event(bool warning, std::string reason, std::string message) {
  home_.event(warning, std::move(reason), std::move(message));
}

std::filesystem::path PodRun::folder(const std::string& container) const {
  return home_.machine->state / "pods" / uid() / "containers" / container;
}

ContainerRun* PodRun::container(std::string_view name) {
  const auto found = std::ranges::find_if(containers_, [name](const auto& one) { return one.spec().name == name; });
  return found == containers_.end() ? nullptr : &*found;
}

void PodRun::update(PodRef pod) {
  pod_ = std::move(pod);
  if (mounted_ && !stopping_) add_ephemeral();
  wake_.set();
  for (auto& container : containers_) container.retry();
}

void PodRun::refresh() {
  if (!mounted_ || stopping_) return;
  try {
    write_hosts();
  } catch (const std::exception& error) {
    log::warn("the hosts file of a pod stays as it was", {{"pod", api::key_of(*pod_).str()}, {"error", error.what()}});
  }
}

// Written in place: a container sees the file, not its name.
void PodRun::write_hosts() {
  auto text = home_.hosts();
  if (text == hosts_) return;
  hosts_ = std::move(text);
  rt::write_file_in_place(home_.machine->state / "pods" / uid() / "hosts", hosts_);
}

Launch PodRun::launch(const Container& container) {
  LaunchInput input;
  input.env = container_env(*pod_, container, home_.facts, home_.sources.objects, home_.service_variables());
  input.mounts = volumes_.mounts(container, input.env);
  input.hosts_file = home_.machine->state / "pods" / uid() / "hosts";
  if (!pod_->spec.hostNetwork.value_or(false)) input.ip = home_.facts.ip;
  auto out = plan_launch(*pod_, container, *home_.machine, std::move(input));
  const auto& others = pod_->spec.ephemeralContainers;
  const auto ephemeral = std::ranges::find(others, container.name, &EphemeralContainer::name);
  if (ephemeral != others.end() && !ephemeral->targetContainerName.empty()) {
    // In the sandbox of its target it sees that one's processes, and its files too: both have the same machine's.
    const auto* target = this->container(ephemeral->targetContainerName);
    if (target != nullptr && target->launched() != nullptr) {
      out.inside = target->init();
      out.sandbox.user = target->launched()->sandbox.user;
      out.sandbox.cwd = "";
    }
  }
  return out;
}

// False when it is stopped before the volumes are there.
Task<bool> PodRun::mount() {
  std::string told;
  while (!stopping_) {
    std::string why;
    bool lasting = false;
    try {
      const auto facts = home_.facts;
      const auto at = now();
      co_await volumes_.update(pod_, facts, at);
      write_hosts();
      mounted_ = true;
      co_return true;
    } catch (const Error& error) {
      why = error.what();
      lasting = error.code != Code::Unavailable;
    } catch (const std::exception& error) {  // a full disk, say
      why = error.what();
      lasting = true;
    }
    if (lasting && why != std::exchange(told, why)) event(true, "FailedMount", why);
    wake_.reset();
    co_await runtime::first_of(rt::sleep(kTryAgain), wake_.wait());
  }
  co_return false;
}

// Objects that are mounted change, and tokens end.
Task<> PodRun::keep_volumes() {
  for (;;) {
    std::optional<api::Time> again;
    try {
      const auto facts = home_.facts;
      const auto at = now();
      again = co_await volumes_.update(pod_, facts, at);
    } catch (const std::exception& error) {
      log::warn("volumes of a pod stay as they were", {{"pod", api::key_of(*pod_).str()}, {"error", error.what()}});
    }
    wake_.reset();
    rt::Duration until = 1min;
    if (again) until = std::clamp<rt::Duration>(again->point() - now().point(), 1s, 24h);
    co_await runtime::first_of(rt::sleep(until), wake_.wait());
  }
}

Task<> PodRun::live() {
  const bool mounted = co_await mount();
  if (!mounted) co_return;
  scope_.spawn(keep_volumes());
  add_ephemeral();
  for (auto& container : containers_) {
    if (stopping_) co_return;
    if (container.role() == Role::Init) {
      co_await container.run();
      const auto& ended = container.status().state.terminated;
      if (!ended || ended->exitCode != 0) co_return;
    } else if (container.role() == Role::Sidecar) {
      scope_.spawn(container.run());
      co_await container.wait_started();
    }
  }
  if (stopping_) co_return;
  std::vector<ContainerRun*> mains;
  std::vector<ContainerRun*> sidecars;
  for (auto& container : containers_) {
    if (container.role() == Role::Main) mains.push_back(&container);
    if (container.role() == Role::Sidecar) sidecars.push_back(&container);
  }
  for (auto* container : mains) scope_.spawn(container->run());
  for (auto* container : mains) co_await container->wait_over();
  // Sidecars end with those that they are for, the last one first.
  const auto grace = std::chrono::seconds(pod_->spec.terminationGracePeriodSeconds.value_or(30));
  for (auto* container : sidecars | std::views::reverse) {
    if (stopping_) co_return;
    container->stop();
    co_await container->terminate(grace);
  }
}

void PodRun::add_ephemeral() {
  ContainerHome& place = *this;
  for (const auto& one : pod_->spec.ephemeralContainers) {
    if (container(one.name) != nullptr) continue;
    containers_.emplace_back(place, as_container(one), Role::Ephemeral,
                             find(pod_->status.ephemeralContainerStatuses, one.name));
    scope_.spawn(containers_.back().run());
  }
}

void PodRun::stop(std::chrono::seconds grace) {
  const bool again = std::exchange(stopping_, true);
  if (again && grace > 0s) return;
  for (auto& container : containers_) {
    container.stop();
    if (grace == 0s) container.kill();
  }
  wake_.set();
  if (!again) scope_.spawn(end(grace));
}

Task<> PodRun::end(std::chrono::seconds grace) {
  std::vector<Task<>> ends;
  for (auto& container : containers_) {
    if (container.role() != Role::Sidecar) ends.push_back(container.terminate(grace));
  }
  co_await rt::all(std::move(ends));
  for (auto& container : containers_ | std::views::reverse) {
    if (container.role() == Role::Sidecar) co_await container.terminate(grace);
  }
  ended_.set();
  changed();
}

PodRecord PodRun::record() const {
  PodRecord out;
  out.host_ip = home_.facts.host_ip;
  out.ip = home_.facts.ip;
  out.started = started_;
  for (const auto& container : containers_) {
    switch (container.role()) {
      case Role::Init:
      case Role::Sidecar: out.init.push_back(container.status()); break;
      case Role::Main: out.containers.push_back(container.status()); break;
      case Role::Ephemeral: out.ephemeral.push_back(container.status()); break;
    }
  }
  return out;
}

std::vector<std::string> PodRun::simulated() const {
  std::vector<std::string> out;
  for (const auto& container : containers_) {
    if (container.status().imageID == "simulated") out.push_back(container.spec().name);
  }
  return out;
}

}  // namespace kopper::workloads
