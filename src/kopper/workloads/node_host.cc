#include "kopper/workloads/node_host.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <optional>
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

// The log of the last run, or of the one before, of a pod that ended before this node started.
std::optional<std::filesystem::path> left_behind(const std::filesystem::path& folder, bool previous) {
  std::vector<int> runs;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const auto name = entry.path().filename().string();
    int number = 0;
    const auto* end = name.data() + name.size();
    const auto read = std::from_chars(name.data(), end, number);
    if (read.ec == std::errc() && std::string_view(read.ptr, end) == ".log") runs.push_back(number);
  }
  std::ranges::sort(runs, std::greater());
  const std::size_t wanted = previous ? 1 : 0;
  if (runs.size() <= wanted) return std::nullopt;
  return folder / fmt::format("{}.log", runs[wanted]);
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
  if (find_container(node_, container) == nullptr) {
    const auto file = left_behind(node_.folder(container.uid, container.name), options.previous);
    if (file) co_return ContainerLog::read_files(*file, options);
  }
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
