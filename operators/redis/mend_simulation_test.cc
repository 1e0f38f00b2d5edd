#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "mend.h"

// Redis' rules for the ownership of slots and for open ones, with nothing else around them, and faults at any step:
// whatever happened, looking and mending again and again ends with no slot open and each key at its owner, in its
// newest version.

namespace redis {
namespace {

// A few slots have keys. The others of a shard always go together, and are one part.
constexpr std::size_t kParts = 9;
constexpr std::size_t kOpenable = 6;
constexpr int kKeys = 3;  // in each of the slots that have some

std::size_t slot_of_part(std::size_t part) { return part / 2 * 5461 + part % 2; }

std::size_t part_of(std::size_t slot) {
  for (std::size_t part = 0; part < kOpenable; ++part) {
    if (slot_of_part(part) == slot) return part;
  }
  throw std::out_of_range(std::to_string(slot));
}

const SlotSet& slots_of_part(std::size_t part) {
  static const auto kAll = [] {
    std::vector<SlotSet> all;
    for (std::size_t i = 0; i < kOpenable; ++i) all.push_back(SlotSet::of({slot_of_part(i)}));
    all.insert(all.end(), {SlotSet::range(2, 5460), SlotSet::range(5463, 10921), SlotSet::range(10924, kSlots - 1)});
    return all;
  }();
  return kAll.at(part);
}

struct Server {
  std::string id;
  int ordinal = 0;
  bool alive = true;
  std::string master;  // "": it is one
  std::uint64_t epoch = 0;
  std::array<std::string, kParts> view;
  std::map<std::size_t, std::string> importing;  // by part
  std::map<std::size_t, std::string> migrating;
  std::map<std::size_t, std::map<int, int>> keys;  // by part: key and version

  bool is_master() const { return master.empty(); }
  bool owns(std::size_t part) const { return is_master() && view.at(part) == id; }
  std::size_t count(std::size_t part) const { return keys.contains(part) ? keys.at(part).size() : 0; }
  bool has(std::size_t part, int key) const { return keys.contains(part) && keys.at(part).contains(key); }
  bool owns_any() const { return is_master() && std::ranges::count(view, id) > 0; }
};

class Cluster {
 public:
  explicit Cluster(unsigned seed) : random(seed) {
    for (int i = 0; i < 8; ++i) {
      Server server{.id = fmt::format("{}{}", i < 4 ? "m" : "r", i % 4), .ordinal = i, .epoch = 1U + i % 4U};
      if (i >= 4) server.master = fmt::format("m{}", i % 4);
      for (std::size_t part = 0; part < kParts; ++part) {
        server.view.at(part) =
            fmt::format("m{}", part < kOpenable ? part / 2 : std::max<std::size_t>(part - kOpenable, 1));
      }
      servers.push_back(server);  // m3 has no slots, and m0 can lose all that it has
    }
  }

  Server& at(const std::string& id) { return *std::ranges::find(servers, id, &Server::id); }
  bool up(const std::string& id) { return at(id).alive; }
  std::uint64_t next_epoch() const { return std::ranges::max(servers, {}, &Server::epoch).epoch + 1; }
  bool chance(unsigned percent) { return random() % 100 < percent; }
  // Somebody or something stops here, at times.
  bool dies() { return careless && chance(4); }

  Server* any(const std::function<bool(const Server&)>& which) {
    std::vector<Server*> found;
    for (auto& server : servers) {
      if (which(server)) found.push_back(&server);
    }
    return found.empty() ? nullptr : found[random() % found.size()];
  }

  // ---- what Redis does ----

  void replicate() {
    for (auto& server : servers) {
      if (server.alive && !server.is_master() && up(server.master)) server.keys = at(server.master).keys;
    }
  }

  void follow(Server& server, const std::string& master) {
    server.master = master;
    server.importing.clear();
    server.migrating.clear();
    for (auto& other : servers) {
      if (other.alive && other.master == server.id) other.master = master;
    }
    replicate();
  }

  void hear(Server& server, const Server& from) {
    std::vector<std::size_t> dirty;
    bool lost = false;
    for (std::size_t part = 0; part < kParts; ++part) {
      auto& owner = server.view.at(part);
      if (!from.owns(part) || owner == from.id || server.importing.contains(part)) continue;
      if (at(owner).epoch >= from.epoch) continue;
      if (server.owns(part)) {
        lost = true;
        if (server.count(part) > 0) dirty.push_back(part);
      }
      owner = from.id;
    }
    if (lost && !server.owns_any()) return follow(server, from.id);
    for (const auto part : dirty) server.keys.erase(part);
    replicate();
  }

  void gossip() {
    for (int round = 0; round < 2; ++round) {
      for (auto& server : servers) {
        for (const auto& from : servers) {
          if (server.alive && from.alive && from.is_master() && &server != &from) hear(server, from);
        }
      }
      for (auto& server : servers) {  // a replica of one that became a replica
        if (server.alive && !server.is_master() && up(server.master) && !at(server.master).is_master()) {
          server.master = at(server.master).master;
        }
      }
    }
    replicate();
  }

  // Everybody who is there learns of it.
  void bump(Server& server) {
    if (server.epoch + 1 != next_epoch()) server.epoch = next_epoch();
    for (auto& other : servers) {
      if (other.alive && &other != &server) hear(other, server);
    }
  }

  bool set_slot(Server& server, std::size_t part, const std::string& what, const std::string& id = "") {
    if (!server.alive || !server.is_master()) return false;
    if (what == "IMPORTING") {
      if (server.owns(part) || !at(id).is_master()) return false;
      server.importing[part] = id;
    } else if (what == "MIGRATING") {
      if (!server.owns(part) || !at(id).is_master()) return false;
      server.migrating[part] = id;
    } else if (what == "STABLE") {
      server.importing.erase(part);
      server.migrating.erase(part);
    } else {
      const bool was_mine = server.owns(part);
      if (!at(id).is_master() || (was_mine && id != server.id && server.count(part) > 0)) return false;
      if (server.count(part) == 0) server.migrating.erase(part);
      server.view.at(part) = id;
      if (was_mine && !server.owns_any()) follow(server, id);
      if (id == server.id && server.importing.erase(part) > 0) bump(server);
    }
    return true;
  }

  bool takes_the_cluster_for_up(const Server& server) {
    return std::ranges::all_of(server.view, [&](const std::string& owner) { return up(owner); });
  }

  // The keys of an open slot, one at a time. False when it was refused, or ended on the way.
  bool migrate(Server& from, Server& to, std::size_t part, int key, bool replace) {
    if (!from.alive || !to.alive || !from.is_master() || !to.is_master() || dies()) return false;
    if (!takes_the_cluster_for_up(from) || !takes_the_cluster_for_up(to)) return false;
    if (!from.importing.contains(part) && !from.migrating.contains(part)) return false;
    if (!to.owns(part) && !to.importing.contains(part)) return false;
    if (to.owns(part) && to.migrating.contains(part) && !to.has(part, key)) return false;  // ASK
    if (to.has(part, key) && !replace) {
      from.keys[part].erase(key);
      replicate();
      return true;
    }
    to.keys[part][key] = from.keys[part][key];
    replicate();
    if (dies()) return false;  // it is on both now
    from.keys[part].erase(key);
    replicate();
    return true;
  }

  // ---- what the operator does ----

  bool carry_out(const Move& move) {
    auto& from = at(move.from);
    auto& to = at(move.to);
    for (const auto slot : move.slots.slots()) {
      const auto part = part_of(slot);
      if (dies() || !set_slot(to, part, "IMPORTING", from.id)) return false;
      if (dies() || !set_slot(from, part, "MIGRATING", to.id)) return false;
      while (from.count(part) > 0) {
        if (!migrate(from, to, part, from.keys[part].begin()->first, true)) return false;
        if (chance(30)) write();
      }
      for (auto* server : {&to, &from}) {
        if (dies() || !set_slot(*server, part, "NODE", to.id)) return false;
        if (chance(10)) gossip();
      }
      for (auto& server : servers) {
        if (server.alive && server.is_master() && !dies()) set_slot(server, part, "NODE", to.id);
      }
    }
    return true;
  }

  bool carry_out(const Rescue& rescue) {
    auto& holder = at(rescue.holder);
    auto& owner = at(rescue.owner);
    for (const auto slot : rescue.slots.slots()) {
      const auto part = part_of(slot);
      if (dies() || !set_slot(holder, part, "IMPORTING", owner.id)) return false;
      while (holder.count(part) > 0) {
        if (!migrate(holder, owner, part, holder.keys[part].begin()->first, false)) return false;
        if (chance(30)) write();
      }
      if (dies() || !set_slot(holder, part, "STABLE")) return false;
    }
    return true;
  }

  bool carry_out(const Mending& mending) {
    for (const auto& command : mending.commands) {
      if (dies()) return false;
      if (command.words.at(1) == "BUMPEPOCH") {
        bump(at(command.node));
        continue;
      }
      const auto part = part_of(std::stoul(command.words.at(2)));
      set_slot(at(command.node), part, command.words.at(3), command.words.size() > 4 ? command.words.at(4) : "");
    }
    for (const auto& move : mending.moves) {
      if (!carry_out(move)) return false;
    }
    for (const auto& rescue : mending.rescues) {
      if (!carry_out(rescue)) return false;
    }
    return true;
  }

  Model observe() {
    std::vector<Node> nodes;
    std::set<std::size_t> open;
    for (const auto& server : servers) {
      for (const auto* marks : {&server.importing, &server.migrating}) {
        for (const auto& [part, peer] : *marks) {
          if (server.alive) open.insert(part);
        }
      }
    }
    for (const auto& server : servers) {
      Node node;
      node.pod = {.name = fmt::format("demo-{}", server.ordinal), .ordinal = server.ordinal};
      if (!server.alive) node.trouble = "connection refused";
      if (server.alive) {
        node.id = server.id;
        node.state_ok = takes_the_cluster_for_up(server);
        for (const auto& other : servers) node.sees.push_back(line(server, other));
        for (std::size_t part = 0; part < kOpenable && server.is_master(); ++part) {
          if (open.contains(part) || !server.owns(part)) {
            node.keys_in_slot[slot_of_part(part)] = static_cast<std::int64_t>(server.count(part));
          }
        }
      }
      nodes.push_back(std::move(node));
    }
    return Model(std::move(nodes));
  }

  static NodeLine line(const Server& server, const Server& other) {
    NodeLine out;
    out.id = other.id;
    out.myself = server.id == other.id;
    out.master = other.is_master();
    out.replica = !other.is_master();
    out.master_id = other.master;
    out.failed = !other.alive;
    out.config_epoch = other.epoch;
    for (std::size_t part = 0; part < kParts; ++part) {
      if (server.view.at(part) == other.id) out.slots |= slots_of_part(part);
    }
    if (!out.myself) return out;
    for (const auto& [part, peer] : server.importing) out.open.push_back({slot_of_part(part), true, peer});
    for (const auto& [part, peer] : server.migrating) out.open.push_back({slot_of_part(part), false, peer});
    return out;
  }

  // ---- what clients do ----

  // A key is written where the cluster sends the client to; what was acknowledged must not be lost.
  void write() {
    const auto part = random() % kOpenable;
    const int key = static_cast<int>(random() % kKeys);
    const auto* server = any([](const Server& each) { return each.alive; });
    bool asking = false;
    for (int hops = 0; server != nullptr && hops < 6; ++hops) {
      const auto& owner = server->view.at(part);
      auto next = owner;
      const bool serves = server->owns(part) || (asking && server->importing.contains(part));
      if (!server->alive || !takes_the_cluster_for_up(*server)) return;
      if (serves && server->owns(part) && server->migrating.contains(part) && !server->has(part, key)) {
        next = server->migrating.at(part);  // ASK
        asking = true;
      } else if (serves) {
        at(server->id).keys[part][key] = ++version;
        newest[{part, key}] = version;
        return replicate();
      } else {
        asking = false;
      }
      server = &at(next);
    }
  }

  // ---- what goes wrong ----

  void kill() {
    if (dead != nullptr) return;
    dead = any([](const Server& each) { return each.alive; });
    dead->alive = false;
    replaced = !dead->is_master();
  }

  void promote() {
    if (dead == nullptr || !dead->is_master() || !dead->owns_any()) return;
    // One that was away and has old news would take slots that others own: no operator is fast enough for that.
    auto* heir =
        any([&](const Server& each) { return each.alive && each.master == dead->id && knows_all_owners(each); });
    if (heir == nullptr) return;
    replaced = true;
    heir->master.clear();
    heir->epoch = next_epoch();
    for (auto& owner : heir->view) owner = owner == dead->id ? heir->id : owner;
    gossip();
  }

  bool knows_all_owners(const Server& server) {
    for (std::size_t part = 0; part < kParts; ++part) {
      for (const auto& owner : servers) {
        if ((owner.alive || &owner == dead) && owner.owns(part) && server.view.at(part) != owner.id) return false;
      }
    }
    return true;
  }

  void come_back() {
    if (dead == nullptr) return;
    dead->alive = true;
    for (auto& server : servers) {  // it serves nobody before it has heard of the others
      if (server.alive && server.is_master() && &server != dead) hear(*dead, server);
    }
    dead = nullptr;
  }

  // Fast enough that nobody takes over. A node that finds keys of others' slots opens them.
  void restart() {
    auto* server = any([](const Server& each) { return each.alive && each.is_master(); });
    if (server == nullptr) return;
    for (const auto& [part, keys] : server->keys) {
      if (keys.empty() || server->owns(part) || server->importing.contains(part)) continue;
      server->importing[part] = server->view.at(part);
    }
  }

  void meddle() {
    auto* server = any([](const Server& each) { return each.alive && each.is_master(); });
    const auto* peer = any([](const Server& each) { return each.is_master(); });
    const auto part = random() % kOpenable;
    const std::array<std::string, 3> all = {"IMPORTING", "MIGRATING", "STABLE"};
    set_slot(*server, part, all.at(random() % 3), peer->id);
  }

  void move_something() {
    auto* from = any([](const Server& each) { return each.alive && each.owns_any(); });
    auto* to = any([&](const Server& each) { return each.alive && each.is_master() && &each != from; });
    Move move{from->id, to == nullptr ? "" : to->id, {}};
    for (std::size_t part = 0; part < kOpenable; ++part) {
      if (from->owns(part) && chance(70)) move.slots.insert(slot_of_part(part));
    }
    if (to != nullptr && !move.slots.empty()) carry_out(move);
  }

  void something_happens() {
    const auto what = random() % 10;
    story += fmt::format("{}{}\n", str(), what);
    switch (what) {
      case 0: return kill();
      case 1: return promote();
      case 2: return come_back();
      case 3: return restart();
      case 4: return meddles ? meddle() : gossip();
      case 5: return gossip();
      case 6: return write();
      default: break;
    }
    const auto mending = mend(observe(), true);
    for (const auto& note : mending.notes) story += note + "\n";
    if (mending.empty()) {
      move_something();
    } else {
      carry_out(mending);
    }
  }

  std::string str() {
    std::string out;
    for (auto& server : servers) {
      out += fmt::format("{} {} {} epoch {}:", server.id, server.alive ? "up" : "down", server.master, server.epoch);
      for (std::size_t part = 0; part < kOpenable; ++part) {
        out += fmt::format(" {}{}", part, server.view.at(part));
        if (server.importing.contains(part)) out += "<-" + server.importing.at(part);
        if (server.migrating.contains(part)) out += "->" + server.migrating.at(part);
        for (const auto& [key, number] : server.keys[part]) out += fmt::format(" k{}v{}", key, number);
      }
      out += "\n";
    }
    return out;
  }

  std::mt19937 random;
  std::vector<Server> servers;
  Server* dead = nullptr;
  bool replaced = false;  // somebody took the place of the dead one, if it had any
  bool careless = true;   // the operator, and MIGRATE, may end at any step
  bool meddles = false;   // somebody sets marks by hand
  std::string story;
  int version = 0;
  std::map<std::pair<std::size_t, int>, int> newest;
};

void expect_that_all_ends_well(unsigned seed, bool meddles) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Cluster cluster(seed);
  cluster.meddles = meddles;
  for (int i = 0; i < 40; ++i) cluster.write();
  for (int i = 0; i < 30; ++i) cluster.something_happens();
  cluster.careless = false;
  cluster.promote();
  if (!cluster.replaced || seed % 2 == 0) cluster.come_back();

  auto& story = cluster.story;
  story += cluster.str();
  bool quiet = false;
  for (int look = 0; look < 15 && !quiet; ++look) {
    cluster.gossip();
    const auto mending = mend(cluster.observe(), true);
    quiet = mending.empty();
    // A receiver that may have keys is waited for, also when another took over its slots: nobody can tell.
    if (mending.waiting.find("receiver is silent") != std::string::npos) cluster.come_back();
    cluster.carry_out(mending);
    for (const auto& note : mending.notes) story += note + "\n";
    story += mending.waiting + "\n" + cluster.str();
  }
  ASSERT_TRUE(quiet) << story;
  for (const auto& server : cluster.servers) {
    EXPECT_TRUE(cluster.dead != nullptr || cluster.knows_all_owners(server)) << server.id << "\n" << story;
    if (!server.alive || !server.is_master()) continue;
    EXPECT_TRUE(server.importing.empty() && server.migrating.empty()) << story;
  }
  for (const auto& [where, version] : cluster.newest) {
    const auto& [part, key] = where;
    int owners = 0;
    for (const auto& server : cluster.servers) {
      if (!server.alive || !server.owns(part)) continue;
      ++owners;
      ASSERT_TRUE(server.has(part, key)) << "part " << part << " key " << key << " is lost\n" << story;
      ASSERT_EQ(server.keys.at(part).at(key), version) << "part " << part << " key " << key << "\n" << story;
    }
    ASSERT_EQ(owners, 1);
  }
}

TEST(MendSimulation, WhateverDies) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    expect_that_all_ends_well(seed, false);
    ASSERT_FALSE(testing::Test::HasFatalFailure());
  }
}

TEST(MendSimulation, WhoeverMeddles) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    expect_that_all_ends_well(seed, true);
    ASSERT_FALSE(testing::Test::HasFatalFailure());
  }
}

}  // namespace
}  // namespace redis
