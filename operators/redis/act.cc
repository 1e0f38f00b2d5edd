#include "act.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/base/error.h"
#include "kopper/rt/scope.h"

#include "move.h"

namespace redis {

namespace {

using kopper::Error;
using kopper::Task;

constexpr std::chrono::seconds kFailoverPatience(6);  // Redis itself gives up after 5
constexpr std::chrono::milliseconds kRolePoll(10);

// One run of act().
struct Acting {
  Links& links;
  const Model& model;
  const ActOptions& options;
  kopper::rt::TimePoint end;
  Acted done;

  bool may() const { return !options.may_write || options.may_write(); }
  std::string name_of(const std::string& id) const {
    const auto* node = model.find(id);
    return node == nullptr ? id : node->pod.name;
  }
  void trouble(const std::string& id, std::string_view what) {
    done.troubles.push_back(fmt::format("{}: {}", name_of(id), what));
  }
};

bool is_fine(const Reply& reply, const Command& command) {
  return !reply.is_error() ||
         std::ranges::any_of(command.fine, [&](const auto& start) { return reply.is_error(start); });
}

std::string shown(const Command& command, const Reply& reply) {
  if (command.secret) return fmt::format("{} {} was refused", command.words.at(0), command.words.at(1));
  return fmt::format("{}: {}", fmt::join(command.words, " "), reply.text);
}

Task<std::shared_ptr<Connection>> link_to(Acting* acting, std::string id) {
  const auto* node = acting->model.find(id);
  if (node == nullptr) throw Error(kopper::Code::Unavailable, "does not answer");
  co_return co_await acting->links.get(node->pod.address);
}

Task<> tell(Acting* acting, std::string id, std::vector<Command> commands) {
  try {
    const auto link = co_await link_to(acting, id);
    std::vector<Words> words;
    for (const auto& command : commands) words.push_back(command.words);
    const auto replies = co_await link->pipeline(std::move(words));
    acting->done.commands += replies.size();
    for (std::size_t i = 0; i < replies.size(); ++i) {
      if (is_fine(replies[i], commands[i])) continue;
      acting->trouble(id, shown(commands[i], replies[i]));
    }
  } catch (const Error& error) {
    acting->trouble(id, error.what());
  }
}

Task<> tell_all(Acting* acting, std::vector<Command> commands) {
  std::map<std::string, std::vector<Command>> by_node;
  for (auto& command : commands) by_node[command.node].push_back(std::move(command));
  std::vector<Task<>> telling;
  for (auto& [id, of_node] : by_node) telling.push_back(tell(acting, id, std::move(of_node)));
  co_await kopper::rt::all(std::move(telling));
}

Task<> await_master(std::shared_ptr<Connection> link) {
  while (true) {
    Words words = {"ROLE"};
    const auto role = co_await link->call(std::move(words));
    if (!role.items.empty() && role.items[0].text == "master") co_return;
    co_await kopper::rt::sleep(kRolePoll);
  }
}

// The replica takes over; its master agrees, so that nothing is lost.
Task<> fail_over(Acting* acting, std::string id) {
  try {
    const auto link = co_await link_to(acting, id);
    Words words = {"CLUSTER", "FAILOVER"};
    const auto reply = co_await link->call(std::move(words));
    if (reply.is_error()) {
      acting->trouble(id, fmt::format("CLUSTER FAILOVER: {}", reply.text));
      co_return;
    }
    co_await kopper::rt::timeout(kFailoverPatience, await_master(link));
    ++acting->done.failovers;
  } catch (const Error& error) {
    acting->trouble(id, fmt::format("failover: {}", error.what()));
  }
}

Task<Party> party(Acting* acting, std::string id) {
  Party out;
  out.link = co_await link_to(acting, id);
  out.id = std::move(id);
  co_return out;
}

MoveOptions move_options(Acting* acting) {
  MoveOptions out;
  out.keys_a_migrate = acting->options.keys_a_migrate;
  out.go_on = [acting] { return acting->may() && kopper::rt::Loop::current().now() < acting->end; };
  return out;
}

void count(Acting* acting, const std::string& from, const std::string& to, const Moved& moved) {
  acting->done.slots += moved.slots;
  acting->done.keys += moved.keys;
  if (moved.trouble.empty()) return;
  acting->done.troubles.push_back(
      fmt::format("slots from {} to {}: {}", acting->name_of(from), acting->name_of(to), moved.trouble));
}

Task<> move(Acting* acting, Move what) {
  Moved moved;
  try {
    const auto from = co_await party(acting, what.from);
    const auto to = co_await party(acting, what.to);
    std::vector<Party> others;
    for (const auto* node : acting->model.masters()) {
      if (node->id == what.from || node->id == what.to) continue;
      others.push_back(co_await party(acting, node->id));
    }
    auto options = move_options(acting);
    co_await move_slots(from, to, std::move(others), what.slots, std::move(options), &moved);
  } catch (const Error& error) {
    moved.trouble = error.what();
  }
  count(acting, what.from, what.to, moved);
}

Task<> rescue(Acting* acting, Rescue what) {
  Moved moved;
  try {
    const auto holder = co_await party(acting, what.holder);
    const auto owner = co_await party(acting, what.owner);
    auto options = move_options(acting);
    co_await rescue_keys(holder, owner, what.slots, std::move(options), &moved);
  } catch (const Error& error) {
    moved.trouble = error.what();
  }
  moved.slots = 0;  // they stay where they are
  count(acting, what.holder, what.owner, moved);
}

}  // namespace

Task<Acted> act(Links& links, std::shared_ptr<const Model> model, Decision decision, ActOptions options) {
  Acting acting{links, *model, options, kopper::rt::Loop::current().now() + options.budget, {}};
  if (!acting.may()) {
    acting.done.troubles.emplace_back("this process does not lead any more");
    co_return std::move(acting.done);
  }
  co_await tell_all(&acting, std::move(decision.commands));
  // What follows relies on them.
  if (!acting.done.troubles.empty()) co_return std::move(acting.done);
  std::vector<Task<>> at_once;
  for (auto& id : decision.failovers) at_once.push_back(fail_over(&acting, std::move(id)));
  for (auto& one : decision.moves) at_once.push_back(move(&acting, std::move(one)));
  for (auto& one : decision.rescues) at_once.push_back(rescue(&acting, std::move(one)));
  co_await kopper::rt::all(std::move(at_once));
  co_return std::move(acting.done);
}

}  // namespace redis
