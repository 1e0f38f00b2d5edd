#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kopper/plane/pod_host.h"
#include "kopper/workloads/node.h"

namespace kopper::workloads {

// Lets the API server's clients at the pods of a node: logs, commands, terminals, ports.
class NodeHost final : public plane::PodHost {
 public:
  // `node` outlives it.
  explicit NodeHost(Node& node) : node_(node) {}

  Task<std::unique_ptr<http::Body>> log(plane::ContainerRef container, plane::LogOptions options) override;
  rt::ProcessSpec enter(const plane::ContainerRef& container, const std::vector<std::string>& command,
                        bool tty) override;
  std::unique_ptr<plane::Attachment> attach(const plane::ContainerRef& container) override;
  Task<std::unique_ptr<rt::Stream>> dial(plane::ContainerRef pod, std::uint16_t port) override;

 private:
  Node& node_;
};

}  // namespace kopper::workloads
