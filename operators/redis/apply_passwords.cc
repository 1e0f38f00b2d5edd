#include "apply_passwords.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/rt/scope.h"

namespace redis {

namespace {

using kopper::Task;

Task<> ask(Links* links, const Node* node, const Passwords* passwords, NodeAuth* out) {
  out->id = node->id;
  out->pod = node->pod.name;
  if (!node->answers()) {
    out->trouble = node->trouble;
    co_return;
  }
  try {
    const auto link = co_await links->get(node->pod.address);
    const auto answers = co_await link->pipeline(auth_questions(*passwords));
    *out = read_auth(node->id, node->pod.name, *passwords, answers);
  } catch (const kopper::Error& error) {
    out->trouble = error.what();
  }
}

Task<> tell(Links* links, const Node* node, std::vector<Command> commands, std::vector<std::string>* troubles) {
  try {
    const auto link = co_await links->get(node->pod.address);
    std::vector<Words> words;
    for (auto& command : commands) words.push_back(std::move(command.words));
    for (const auto& reply : co_await link->pipeline(std::move(words))) {
      // The words, and what Redis says about them, may show the password.
      if (reply.is_error()) troubles->push_back(fmt::format("{} does not take a password", node->pod.name));
    }
  } catch (const kopper::Error& error) {
    troubles->push_back(fmt::format("{}: {}", node->pod.name, error.what()));
  }
}

}  // namespace

Task<PasswordStep> apply_passwords(Links& links, std::shared_ptr<const Model> model, Passwords passwords) {
  std::vector<NodeAuth> nodes(model->nodes.size());
  std::vector<Task<>> asking;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    asking.push_back(ask(&links, &model->nodes[i], &passwords, &nodes[i]));
  }
  co_await kopper::rt::all(std::move(asking));

  auto next = rotate(nodes, passwords);
  PasswordStep out;
  out.done = next.done();
  out.write = std::move(next.write);
  out.waiting = std::move(next.waiting);
  std::map<std::string, std::vector<Command>> by_node;
  for (auto& command : next.commands) by_node[command.node].push_back(std::move(command));
  std::vector<Task<>> telling;
  for (auto& [id, commands] : by_node) {
    const auto* node = model->find(id);
    if (node != nullptr) telling.push_back(tell(&links, node, std::move(commands), &out.troubles));
  }
  co_await kopper::rt::all(std::move(telling));
  co_return out;
}

}  // namespace redis
