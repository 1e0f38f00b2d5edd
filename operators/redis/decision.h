#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "slots.h"

namespace redis {

// To be sent to one node.
struct Command {
  std::string node;  // its id
  std::vector<std::string> words;
  // How an error answer begins that only says that it is so already, or does not matter.
  std::vector<std::string> fine = {};
  bool secret = false;  // a password is among the words: not to be shown, and neither is an answer that may repeat it

  friend bool operator==(const Command&, const Command&) = default;
};

// Slots, with their keys, go from a master that owns them to another. Slots that are open from `from` to `to` already
// are finished in the same way. A key that is at `to` already is overwritten: the owner's is the newer one.
struct Move {
  std::string from;  // ids
  std::string to;
  SlotSet slots;

  friend bool operator==(const Move&, const Move&) = default;
};

// Keys of slots that `holder` does not own go to `owner`, whose own copy stays when it has one.
struct Rescue {
  std::string holder;  // ids
  std::string owner;
  SlotSet slots;

  friend bool operator==(const Rescue&, const Rescue&) = default;
};

}  // namespace redis
