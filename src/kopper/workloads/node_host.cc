#include "kopper/workloads/node_host.h"

#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"

namespace kopper::workloads {

using plane::ContainerRef;

namespace {

PodRun* find_pod(const Node& node, const ContainerRef& wanted) {
  auto* pod = node.find(wanted.pod);
  return pod != nullptr && pod->uid() == wanted.uid ? pod : nullptr;
}

ContainerRun* find_container(const Node& node, const ContainerRef& wanted) {
  auto* pod = find_pod(node, wanted);
  return pod == nullptr ? nullptr : pod->container(wanted.name);
}

ContainerRun& container_of(const Node& node, const ContainerRef& wanted) {
  auto* found = find_container(node, wanted);
  if (found == nullptr) throw Error(Code::NotFound, fmt::format("container not found (\"{}\")", wanted.name));
  return *found;
}

class Attached final : public plane::Attachment {
 public:
  Attached(Node& node, ContainerRef container, std::unique_ptr<ContainerLog::Live> live)
      : node_(node), container_(std::move(container)), live_(std::move(live)) {}

  Task<std::optional<Chunk>> read() override { return live_->next(); }
  Task<> write(std::string_view bytes) override {
    auto* input = this->input();
    if (input != nullptr) co_await input->write(bytes);
  }
  Task<> end_input() override {
    auto* run = find_container(node_, container_);
    auto* input = this->input();
    if (input != nullptr && run->spec().stdinOnce.value_or(false)) co_await input->shutdown();
  }
  void resize(std::uint16_t columns, std::uint16_t rows) noexcept override {
    auto* run = find_container(node_, container_);
    if (run != nullptr) run->resize(columns, rows);
  }

 private:
  rt::Stream* input() const {
    auto* run = find_container(node_, container_);
    return run == nullptr ? nullptr : run->input();
  }

  Node& node_;
  const ContainerRef container_;
  std::unique_ptr<ContainerLog::Live> live_;
};

}  // namespace

Task<std::unique_ptr<http::Body>> NodeHost::log(ContainerRef container, plane::LogOptions options) {
  const auto& run = container_of(node_, container);
  // Between two runs the one before is the one that has just ended.
  const auto log = run.log(options.previous && !run.status().state.waiting);
  if (log) co_return log->read(options);
  if (run.status().imageID == "simulated") {
    co_return http::whole("simulated: the image " + run.spec().image + " stands for no program of this machine\n");
  }
  throw Error(Code::NotFound,
              fmt::format("{} container \"{}\" in pod \"{}\" not found",
                          options.previous ? "previous terminated" : "the log of", container.name, container.pod.name));
}

rt::ProcessSpec NodeHost::enter(const ContainerRef& container, const std::vector<std::string>& command, bool tty) {
  rt::ProcessSpec spec;
  try {
    spec = container_of(node_, container).enter(command);
  } catch (Error& error) {
    if (error.reason != "StartError") throw;
    error.code = Code::Internal;
    throw std::move(error.with("error executing command in container: failed to exec in container"));
  }
  if (tty) {
    give_terminal(spec, command.size());
    spec.env.emplace_back("TERM", "xterm");
  }
  return spec;
}

std::unique_ptr<plane::Attachment> NodeHost::attach(const ContainerRef& container) {
  const auto log = container_of(node_, container).log(false);
  if (!log) throw Error(Code::NotFound, fmt::format("container not found (\"{}\")", container.name));
  return std::make_unique<Attached>(node_, container, log->listen());
}

Task<std::unique_ptr<rt::Stream>> NodeHost::dial(ContainerRef pod, std::uint16_t port) {
  auto* run = find_pod(node_, pod);
  if (run == nullptr) throw Error(Code::NotFound, fmt::format("pod {} does not run here", pod.pod.str()));
  return rt::connect_tcp(run->facts().ip, port);
}

}  // namespace kopper::workloads
