#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cluster_nodes.h"
#include "slots.h"

namespace redis {

// What Kubernetes knows of a pod of the cluster.
struct PodFacts {
  std::string name;
  int ordinal = 0;
  std::string address;  // "" while it has none
  std::string host;     // name of the Kubernetes node
  std::string host_address;
  std::string zone;
  bool ready = false;
  bool terminating = false;
  bool outdated = false;  // made from an older template
};

// A pod, and what the Redis in it says of itself and of the others.
struct Node {
  PodFacts pod;
  std::string trouble;  // why it does not answer; all that follows is then empty

  std::string id;
  std::vector<NodeLine> sees;          // CLUSTER NODES, itself included
  bool state_ok = false;               // cluster_state
  std::uint64_t epoch = 0;             // cluster_current_epoch
  bool loading = false;                // its data from disk
  bool link_up = false;                // of a replica: to its master
  std::int64_t link_down_seconds = 0;  // for how long it has not been
  std::int64_t offset = 0;             // of replication: what it wrote, or has of its master
  std::int64_t keys = 0;               // DBSIZE
  std::int64_t memory = 0;             // used, in bytes
  std::int64_t max_memory = 0;         // 0: no bound
  std::int64_t log_size = 0;           // of the append-only file, in bytes; 0: it keeps none
  bool rewriting = false;              // that file
  std::string eviction;                // maxmemory_policy
  std::string version;                 // "7.0.15"
  // Of slots that are open anywhere, and of slots that it has keys of but does not own: how many keys it has there.
  std::map<std::size_t, std::int64_t> keys_in_slot;

  bool answers() const { return trouble.empty(); }
  // The line about itself; an empty one when it does not answer.
  const NodeLine& self() const;
  // What it thinks of another; null when it has not heard of it.
  const NodeLine* view_of(std::string_view other) const;
  bool is_master() const { return self().master; }
  const std::string& master_id() const { return self().master_id; }
  // Knows nobody, owns nothing, holds nothing: it can become anything.
  bool is_blank() const;
};

// All pods of a cluster at one moment, and what follows from their answers taken together. No node is asked more than
// the others: what a node says of itself counts for its role and its marks, and what most say for those who are silent.
struct Model {
  explicit Model(std::vector<Node> all);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  std::vector<Node> nodes;  // by ordinal

  // Null when none of the pods answers with this id.
  const Node* find(std::string_view id) const;
  const Node* pod(std::string_view name) const;

  // Who owns each slot, by id: the node that claims it itself; for those who are silent, as the others see it.
  // "" when nobody does. Of two who claim it, the one with the higher epoch.
  const std::string& owner(std::size_t slot) const;
  const SlotSet& slots_of(std::string_view id) const;
  std::map<std::string, SlotSet, std::less<>> held;  // by owner
  SlotSet unowned;                                   // nobody has them
  SlotSet disputed;                                  // several nodes claim them for themselves
  SlotSet disagreed;                                 // some node sees another owner than owner()
  std::vector<std::string> ghosts;                   // ids that nodes know and no answering pod has, sorted

  // Answering masters, by ordinal; with slots or without.
  std::vector<const Node*> masters() const;
  // Answering replicas of a master, by ordinal.
  std::vector<const Node*> replicas_of(std::string_view master_id) const;
  bool all_answer() const;

 private:
  std::vector<const std::string*> owners_;  // kSlots keys of `held`, or null
};

}  // namespace redis
