#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decision.h"
#include "resp.h"

// How a cluster gets another password, its first one, or none any more, while nodes and clients go on: pure.

namespace redis {

// "" is none.
struct Passwords {
  std::string wanted;         // the user's
  std::string used;           // what the files say that nodes start with
  std::string previous = "";  // what they said before: a node may have started with that

  // Those that some node may ask for, in the order in which to try them.
  std::vector<std::string> known() const;
  friend bool operator==(const Passwords&, const Passwords&) = default;
};

// What one node takes, and what it sends to its master.
struct NodeAuth {
  std::string id;
  std::string pod;
  std::string trouble = "";  // it does not answer; nothing else is known then
  bool open = false;         // asks for no password
  bool takes_wanted = false;
  std::size_t count = 0;  // how many passwords it takes in all
  std::string masterauth = "";
  std::string masteruser = "";
};

// What to ask a node, and what follows from the answers (as many, in the same order). An error answer where none should
// be is the node's trouble.
std::vector<Words> auth_questions(const Passwords& passwords);
NodeAuth read_auth(std::string id, std::string pod, const Passwords& passwords, const std::vector<Reply>& answers);

struct Rotation {
  // To all nodes, in any order. Passwords are among the words: not for logs.
  std::vector<Command> commands;
  // What the files are to say from now on (`used` and `previous`); nothing else is to be done before.
  std::optional<Passwords> write;
  std::string waiting;  // more is to be done once these nodes answer

  bool done() const { return commands.empty() && !write && waiting.empty(); }
};

// The next step. At any moment between two commands every node can log in at every other, so that replication goes on
// over reconnects and failovers; nodes take both passwords until all have the new one and new files are written. May
// end after any command; nodes may restart with old or new files meanwhile. All nodes of the cluster are to be given.
Rotation rotate(const std::vector<NodeAuth>& nodes, const Passwords& passwords);

}  // namespace redis
