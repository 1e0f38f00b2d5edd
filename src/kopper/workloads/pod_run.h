#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/pods.h"
#include "kopper/rt/scope.h"
#include "kopper/workloads/container_run.h"
#include "kopper/workloads/pod_status.h"
#include "kopper/workloads/volumes.h"

namespace kopper::workloads {

// What a pod needs of its node.
struct PodHome {
  const Machine* machine = nullptr;  // outlives the pod
  VolumeSources sources;
  PodFacts facts;
  std::function<Environment()> service_variables;
  std::function<std::string()> hosts;  // the text of /etc/hosts
  std::function<void()> changed;       // record() is another one now
  std::function<void(bool warning, std::string reason, std::string message)> event;
};

// One pod on this machine, from its volumes over its init containers to the end of its last process. Loop-confined.
class PodRun final : private ContainerHome {
 public:
  PodRun(api::PodRef pod, PodHome home);
  // Whatever runs is killed.
  ~PodRun() override;

  // The pod as it is now: it may have more ephemeral containers. What it waits for may be there.
  void update(api::PodRef pod);
  // Services or other pods have changed.
  void refresh();
  // Ends it. Again: with a shorter grace, sooner.
  void stop(std::chrono::seconds grace);
  // After stop(): nothing of it runs.
  bool ended() const { return ended_.is_set(); }
  Task<> wait_ended() { return ended_.wait(); }

  const std::string& uid() const { return pod_->metadata.uid; }
  const PodFacts& facts() const { return home_.facts; }
  PodRecord record() const;
  // The images that stand for nothing.
  std::vector<std::string> simulated() const;
  // Null when the pod has no container of that name.
  ContainerRun* container(std::string_view name);
  const api::corev1::Pod& pod() const override { return *pod_; }

 private:
  Launch launch(const api::corev1::Container& container) override;
  std::filesystem::path folder(const std::string& container) const override;
  const std::string& address() const override { return home_.facts.ip; }
  void changed() override;
  void event(bool warning, std::string reason, std::string message) override;

  Task<> live();
  Task<bool> mount();
  Task<> keep_volumes();
  Task<> end(std::chrono::seconds grace);
  void add_ephemeral();
  void write_hosts();

  // this loop only
  api::PodRef pod_;
  PodHome home_;
  api::Time started_;
  PodVolumes volumes_;
  std::string hosts_;
  std::list<ContainerRun> containers_;  // init, main, ephemeral: more of these may come at any time
  rt::Event wake_;
  bool mounted_ = false;
  bool stopping_ = false;
  rt::Event ended_;
  rt::Scope scope_;
};

}  // namespace kopper::workloads
