#include "observe.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/rt/scope.h"

namespace redis {

namespace {

using kopper::Error;
using kopper::Task;

constexpr std::chrono::seconds kPatience(3);
constexpr std::size_t kQuestions = 512;  // at once: between them a node serves its clients

void read_info(const std::string& info, Node& node) {
  node.loading = info_value(info, "loading") == "1";
  node.link_up = info_value(info, "master_link_status") == "up";
  node.link_down_seconds = info_number(info, "master_link_down_since_seconds");
  const bool replica = info_value(info, "role") == "slave";
  node.offset = info_number(info, replica ? "slave_repl_offset" : "master_repl_offset");
  node.memory = info_number(info, "used_memory");
  node.max_memory = info_number(info, "maxmemory");
  node.log_size = info_number(info, "aof_current_size");
  node.rewriting =
      info_value(info, "aof_rewrite_in_progress") == "1" || info_value(info, "aof_rewrite_scheduled") == "1";
  node.eviction = info_value(info, "maxmemory_policy");
  node.version = info_value(info, "redis_version");
}

void read_answers(const std::vector<Reply>& answers, Node& node) {
  for (const auto& answer : answers) {
    if (!answer.is_error()) continue;
    node.loading = answer.is_error("LOADING");
    node.trouble = node.loading ? "loads its data" : answer.text;
    return;
  }
  auto lines = parse_cluster_nodes(answers[0].text);
  if (!lines) {
    node.trouble = lines.error().what();
    return;
  }
  node.sees = std::move(*lines);
  node.id = node.self().id;
  node.state_ok = info_value(answers[1].text, "cluster_state") == "ok";
  node.epoch = static_cast<std::uint64_t>(info_number(answers[1].text, "cluster_current_epoch"));
  read_info(answers[2].text, node);
  node.keys = answers[3].integer;
  if (node.id.empty()) node.trouble = "CLUSTER NODES does not name the node itself";
}

Task<> ask(Links* links, Node* node) {
  if (node->pod.address.empty()) {
    node->trouble = "the pod has no address yet";
    co_return;
  }
  try {
    const auto link = co_await links->get(node->pod.address);
    std::vector<Words> questions = {{"CLUSTER", "NODES"}, {"CLUSTER", "INFO"}, {"INFO"}, {"DBSIZE"}};
    const auto answers = co_await link->pipeline(std::move(questions));
    read_answers(answers, *node);
  } catch (const Error& error) {
    node->trouble = error.what();
  }
}

Task<> ask_in_time(Links* links, Node* node) {
  try {
    co_await kopper::rt::timeout(kPatience, ask(links, node));
  } catch (const Error&) {
    node->trouble = fmt::format("does not answer within {} seconds", kPatience.count());
  }
}

Task<> count_keys(Links* links, Node* node, SlotSet slots) {
  const auto all = slots.slots();
  try {
    const auto link = co_await links->get(node->pod.address);
    for (std::size_t at = 0; at < all.size(); at += kQuestions) {
      const auto end = std::min(at + kQuestions, all.size());
      std::vector<Words> questions;
      for (auto i = at; i < end; ++i) questions.push_back({"CLUSTER", "COUNTKEYSINSLOT", std::to_string(all[i])});
      const auto answers = co_await link->pipeline(std::move(questions));
      for (auto i = at; i < end; ++i) {
        if (answers[i - at].integer > 0) node->keys_in_slot[all[i]] = answers[i - at].integer;
      }
    }
  } catch (const Error& error) {
    node->trouble = error.what();
  }
}

// Slots whose keys may be in two places.
SlotSet doubtful(const Model& model) {
  SlotSet out = model.disputed;
  for (const auto& node : model.nodes) {
    for (const auto& open : node.self().open) out.insert(open.slot);
  }
  return out;
}

}  // namespace

Task<std::shared_ptr<const Model>> observe(Links& links, std::vector<PodFacts> pods, bool hidden) {
  std::vector<Node> nodes(pods.size());
  std::vector<Task<>> asking;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    nodes[i].pod = std::move(pods[i]);
    asking.push_back(ask_in_time(&links, &nodes[i]));
  }
  co_await kopper::rt::all(std::move(asking));
  auto model = std::make_shared<Model>(std::move(nodes));

  const auto doubts = doubtful(*model);
  std::vector<Task<>> counting;
  for (auto& node : model->nodes) {
    if (!node.answers() || !node.is_master()) continue;
    const auto slots = hidden ? doubts | (SlotSet::all() - node.self().slots) : doubts;
    if (!slots.empty()) counting.push_back(count_keys(&links, &node, slots));
  }
  co_await kopper::rt::all(std::move(counting));
  co_return model;
}

}  // namespace redis
