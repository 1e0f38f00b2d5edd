#include "rotate.h"

#include <algorithm>

#include <fmt/format.h>

namespace redis {

namespace {

using Nodes = std::vector<NodeAuth>;

Command config_set(const NodeAuth& node, std::string name, std::string value) {
  return {.node = node.id, .words = {"CONFIG", "SET", std::move(name), std::move(value)}, .secret = true};
}

// One step after the other, each only when the one before is done on all nodes.
class Steps {
 public:
  explicit Steps(const Nodes& nodes) {
    for (const auto& node : nodes) (node.trouble.empty() ? nodes_ : silent_).push_back(&node);
  }

  // What `make` says for each node that `lacks` it.
  template <class Lacks, class Make>
  Steps& all(Lacks lacks, Make make) {
    std::vector<Command> commands;
    for (const auto* node : nodes_) {
      if (lacks(*node)) commands.push_back(make(*node));
    }
    if (!commands.empty() && begins()) out_.commands = std::move(commands);
    return *this;
  }

  // The steps that follow need everybody: a node that does not answer may take, and send, only what it had.
  Steps& with_everybody() {
    needs_everybody_ = true;
    return *this;
  }

  Steps& write(const Passwords& now, const Passwords& next) {
    if (now != next && begins()) out_.write = next;
    return *this;
  }

  Rotation end() { return std::move(out_); }

 private:
  // Whether a step that has something to do is the one for now.
  bool begins() {
    if (!out_.done()) return false;
    if (!needs_everybody_ || silent_.empty()) return true;
    for (const auto* node : silent_) out_.waiting += fmt::format("{}{}", out_.waiting.empty() ? "" : ", ", node->pod);
    return false;
  }

  std::vector<const NodeAuth*> nodes_;
  std::vector<const NodeAuth*> silent_;
  Rotation out_;
  bool needs_everybody_ = false;
};

// A node that asks for no password refuses AUTH with one word, but takes "AUTH default anything": with a user name,
// replicas get in before and after.
bool names_no_user(const NodeAuth& node) { return node.masteruser != "default"; }
Command name_user(const NodeAuth& node) { return config_set(node, "masteruser", "default"); }

Rotation change(const Nodes& nodes, const Passwords& now) {
  const auto& wanted = now.wanted;
  const Passwords written{wanted, wanted, now.used == wanted ? now.previous : now.used};
  return Steps(nodes)
      .all(names_no_user, name_user)
      .all([](const NodeAuth& node) { return !node.open && !node.takes_wanted; },
           [&](const NodeAuth& node) {
             return Command{.node = node.id, .words = {"ACL", "SETUSER", "default", ">" + wanted}, .secret = true};
           })
      .with_everybody()
      .all([&](const NodeAuth& node) { return node.masterauth != wanted; },
           [&](const NodeAuth& node) { return config_set(node, "masterauth", wanted); })
      .write(now, written)
      .all([](const NodeAuth& node) { return node.open || node.count > 1; },
           [&](const NodeAuth& node) { return config_set(node, "requirepass", wanted); })  // and no other
      .end();
}

Rotation remove(const Nodes& nodes, const Passwords& now) {
  const auto& old = now.used.empty() ? now.previous : now.used;
  const auto closed = [](const NodeAuth& node) { return !node.open; };
  const bool any_closed =
      std::ranges::any_of(nodes, [&](const auto& node) { return node.trouble.empty() && closed(node); });
  return Steps(nodes)
      .all([&](const NodeAuth& node) { return any_closed && names_no_user(node); }, name_user)
      .all([&](const NodeAuth& node) { return any_closed && node.masterauth.empty() && !old.empty(); },
           [&](const NodeAuth& node) { return config_set(node, "masterauth", old); })
      .with_everybody()
      .all(closed, [](const NodeAuth& node) { return config_set(node, "requirepass", ""); })
      .write(now, {"", "", old})
      .all([](const NodeAuth& node) { return !node.masterauth.empty(); },
           [](const NodeAuth& node) { return config_set(node, "masterauth", ""); })
      .all([](const NodeAuth& node) { return !node.masteruser.empty(); },
           [](const NodeAuth& node) { return config_set(node, "masteruser", ""); })
      .end();
}

const Reply* value_of(const Reply& map, std::string_view name) {
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    if (map.items[i].text == name) return &map.items[i + 1];
  }
  return nullptr;
}

std::string text_of(const Reply& map, std::string_view name) {
  const auto* value = value_of(map, name);
  return value == nullptr ? "" : value->text;
}

}  // namespace

std::vector<std::string> Passwords::known() const {
  std::vector<std::string> out;
  for (const auto* each : {&used, &wanted, &previous}) {
    if (!each->empty() && std::ranges::find(out, *each) == out.end()) out.push_back(*each);
  }
  return out;
}

std::vector<Words> auth_questions(const Passwords& passwords) {
  std::vector<Words> out = {
      {"ACL", "GETUSER", "default"}, {"CONFIG", "GET", "masterauth"}, {"CONFIG", "GET", "masteruser"}};
  if (!passwords.wanted.empty()) out.push_back({"AUTH", passwords.wanted});
  return out;
}

NodeAuth read_auth(std::string id, std::string pod, const Passwords& passwords, const std::vector<Reply>& answers) {
  NodeAuth out{.id = std::move(id), .pod = std::move(pod)};
  if (answers.size() != auth_questions(passwords).size()) {
    out.trouble = "answers are missing";
    return out;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (!answers[i].is_error()) continue;
    out.trouble = answers[i].text;
    return out;
  }
  if (const auto* flags = value_of(answers[0], "flags")) {
    out.open = std::ranges::any_of(flags->items, [](const Reply& flag) { return flag.text == "nopass"; });
  }
  if (const auto* hashes = value_of(answers[0], "passwords")) out.count = hashes->items.size();
  out.masterauth = text_of(answers[1], "masterauth");
  out.masteruser = text_of(answers[2], "masteruser");
  out.takes_wanted = answers.size() > 3 && !answers[3].is_error();
  return out;
}

Rotation rotate(const std::vector<NodeAuth>& nodes, const Passwords& passwords) {
  return passwords.wanted.empty() ? remove(nodes, passwords) : change(nodes, passwords);
}

}  // namespace redis
