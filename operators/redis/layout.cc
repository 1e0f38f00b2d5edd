#include "layout.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <tuple>

namespace redis {

namespace {

using Seats = std::vector<Seat>;

// By ordinal. A host that is not known is shared with nobody, and neither is a zone.
Seats prepared(Seats seats) {
  std::ranges::sort(seats, {}, &Seat::ordinal);
  for (auto& seat : seats) {
    if (seat.host.empty()) seat.host = "#" + std::to_string(seat.ordinal);
    if (seat.zone.empty()) seat.zone = "#" + seat.host;
  }
  return seats;
}

const Seat* find(const Seats& seats, int ordinal) {
  const auto found = std::ranges::find(seats, ordinal, &Seat::ordinal);
  return found == seats.end() ? nullptr : &*found;
}

// How willingly a pod is made a master: the less, the sooner.
int reluctance(const Seats& seats, const Seat& seat) {
  if (seat.owns) return 0;
  if (seat.follows >= 0 && seat.follows != seat.ordinal) return find(seats, seat.follows) == nullptr ? 2 : 4;
  const auto follows = [&](const Seat& other) {
    return other.ordinal != seat.ordinal && other.follows == seat.ordinal;
  };
  return std::ranges::any_of(seats, follows) ? 1 : 3;
}

// One after the other, the pod that costs least. What is to be least (the squares of the numbers of masters on each
// host, then in each zone) is a sum of convex functions over nested sets: there, that way leads to the best choice.
std::set<int> choose_masters(const Seats& seats, int wanted, int replicas_each) {
  std::map<std::string, int> on_host;
  std::map<std::string, int> in_zone;
  std::map<std::string, int> pods_on_host;
  std::map<int, int> reluctances;
  std::set<int> out;
  const auto take = [&](const Seat& seat) {
    out.insert(seat.ordinal);
    ++on_host[seat.host];
    ++in_zone[seat.zone];
  };
  for (const auto& seat : seats) {
    ++pods_on_host[seat.host];
    reluctances[seat.ordinal] = reluctance(seats, seat);
    if (seat.owns) take(seat);
  }
  while (static_cast<int>(out.size()) < wanted) {
    const auto cost = [&](const Seat& seat) {
      // Masters with many replicas are better off where few pods are: the replicas have to be elsewhere.
      const int crowd = replicas_each > 1 ? pods_on_host[seat.host] : 0;
      return std::tuple(reluctances[seat.ordinal], on_host[seat.host], in_zone[seat.zone], crowd, seat.ordinal);
    };
    const Seat* best = nullptr;
    for (const auto& seat : seats) {
      if (!out.contains(seat.ordinal) && (best == nullptr || cost(seat) < cost(*best))) best = &seat;
    }
    if (best == nullptr) break;
    take(*best);
  }
  return out;
}

// What is bad about a pairing, the worst first.
struct Cost {
  enum Part : std::uint8_t { TooMany, Uncovered, Changed, OneHost, Together, OneZone, kParts };
  std::array<int, kParts> parts{};

  static Cost of(Part part, int amount = 1) {
    Cost out;
    out.parts.at(part) = amount;
    return out;
  }
  friend Cost operator+(Cost a, const Cost& b) {
    for (std::size_t i = 0; i < a.parts.size(); ++i) a.parts.at(i) += b.parts.at(i);
    return a;
  }
  friend Cost operator-(const Cost& a) {
    Cost out;
    for (std::size_t i = 0; i < a.parts.size(); ++i) out.parts.at(i) = -a.parts.at(i);
    return out;
  }
  friend auto operator<=>(const Cost&, const Cost&) = default;
};

// The cheapest flow, found one cheapest path after the other.
class Flow {
 public:
  std::size_t add_node() {
    edges_of_.emplace_back();
    return edges_of_.size() - 1;
  }

  // The number of the edge.
  std::size_t add_edge(std::size_t from, std::size_t to, Cost cost, int capacity = 1) {
    edges_of_[from].push_back(edges_.size());
    edges_.push_back({to, capacity, cost});
    edges_of_[to].push_back(edges_.size());
    edges_.push_back({from, 0, -cost});
    return edges_.size() - 2;
  }

  bool used(std::size_t edge) const { return edges_[edge + 1].capacity > 0; }

  void run(std::size_t from, std::size_t to) {
    while (push_one(from, to)) {
    }
  }

 private:
  struct Edge {
    std::size_t to;
    int capacity;
    Cost cost;
  };

  bool push_one(std::size_t from, std::size_t to) {
    std::vector<std::optional<Cost>> best(edges_of_.size());
    std::vector<std::size_t> came_by(edges_of_.size());
    std::vector<bool> queued(edges_of_.size());
    std::deque<std::size_t> queue = {from};
    best[from] = Cost();
    while (!queue.empty()) {
      const auto node = queue.front();
      queue.pop_front();
      queued[node] = false;
      for (const auto number : edges_of_[node]) {
        const auto& edge = edges_[number];
        if (edge.capacity == 0) continue;
        const auto cost = *best[node] + edge.cost;
        if (best[edge.to] && *best[edge.to] <= cost) continue;
        best[edge.to] = cost;
        came_by[edge.to] = number;
        if (!queued[edge.to]) queue.push_back(edge.to);
        queued[edge.to] = true;
      }
    }
    if (!best[to]) return false;
    for (auto node = to; node != from; node = edges_[came_by[node] ^ 1U].to) {
      --edges_[came_by[node]].capacity;
      ++edges_[came_by[node] ^ 1U].capacity;
    }
    return true;
  }

  std::vector<Edge> edges_;  // each followed by its way back
  std::vector<std::vector<std::size_t>> edges_of_;
};

// Each replica is a unit that flows through the host where it is, as its master sees it, to that master.
class Pairing {
 public:
  Pairing(const Seats& seats, const std::set<int>& masters, int replicas_each) {
    int replicas = 0;
    for (const auto& seat : seats) replicas += masters.contains(seat.ordinal) ? 0 : 1;
    for (const auto& seat : seats) {
      if (masters.contains(seat.ordinal)) add_master(seat, replicas, replicas_each);
    }
    for (const auto& seat : seats) {
      if (!masters.contains(seat.ordinal)) add_replica(seat, masters);
    }
  }

  // By replica.
  std::map<int, int> solve() {
    flow_.run(source_, sink_);
    std::map<int, int> out;
    for (const auto& [edge, replica, master] : pairs_) {
      if (flow_.used(edge)) out[replica] = master;
    }
    return out;
  }

 private:
  struct Master {
    const Seat* seat;
    std::size_t node;
    std::size_t elsewhere;  // replicas on other hosts pass here
    std::map<std::string, std::size_t> hosts;
  };

  void add_master(const Seat& seat, int replicas, int replicas_each) {
    const Master master{&seat, flow_.add_node(), flow_.add_node(), {}};
    for (int nth = 1; nth <= replicas; ++nth) {
      const bool too_many = nth > std::max(replicas_each, 1);
      flow_.add_edge(master.node, sink_,
                     too_many  ? Cost::of(Cost::TooMany, nth - replicas_each)
                     : nth > 1 ? Cost::of(Cost::Uncovered)
                               : Cost());
    }
    // With one replica elsewhere the shard outlives its host: what the first one brings, the others do not.
    flow_.add_edge(master.elsewhere, master.node, Cost());
    flow_.add_edge(master.elsewhere, master.node, Cost::of(Cost::OneHost), replicas);
    masters_.push_back(master);
  }

  std::size_t host_of(Master& master, const std::string& host) {
    const auto [found, is_new] = master.hosts.try_emplace(host, 0);
    if (is_new) {
      found->second = flow_.add_node();
      const bool same = host == master.seat->host;
      const auto to = same ? master.node : master.elsewhere;
      const auto cost = same ? Cost::of(Cost::OneHost, 2) : Cost();
      flow_.add_edge(found->second, to, cost);
      flow_.add_edge(found->second, to, cost + Cost::of(Cost::Together), std::numeric_limits<int>::max() / 2);
    }
    return found->second;
  }

  void add_replica(const Seat& seat, const std::set<int>& masters) {
    const auto node = flow_.add_node();
    flow_.add_edge(source_, node, Cost());
    for (auto& master : masters_) {
      Cost cost;
      if (masters.contains(seat.follows) && seat.follows != master.seat->ordinal) cost = Cost::of(Cost::Changed);
      if (seat.zone == master.seat->zone) cost = cost + Cost::of(Cost::OneZone);
      pairs_.emplace_back(flow_.add_edge(node, host_of(master, seat.host), cost), seat.ordinal, master.seat->ordinal);
    }
  }

  Flow flow_;
  std::size_t source_ = flow_.add_node();
  std::size_t sink_ = flow_.add_node();
  std::vector<Master> masters_;
  std::vector<std::tuple<std::size_t, int, int>> pairs_;  // edge, replica, master
};

}  // namespace

std::map<int, int> lay_out(const std::vector<Seat>& seats, int masters, int replicas_each) {
  const auto all = prepared(seats);
  const auto chosen = choose_masters(all, masters, replicas_each);
  auto out = Pairing(all, chosen, replicas_each).solve();
  for (const auto master : chosen) out[master] = master;
  return out;
}

// Two at a time are enough: if every other pair had one of its pods on the host of a bad pair, that host would have
// more pods than there are masters, and no pairing could mend it.
std::vector<Swap> misplaced(const std::vector<Seat>& seats) {
  const auto all = prepared(seats);
  struct Pair {
    const Seat* replica;
    const Seat* master;
    bool used = false;
  };
  std::vector<Pair> pairs;
  for (const auto& seat : all) {
    const auto* master = seat.follows == seat.ordinal ? nullptr : find(all, seat.follows);
    if (master != nullptr) pairs.push_back({&seat, master});
  }
  std::vector<Swap> out;
  for (auto& bad : pairs) {
    if (bad.used || bad.replica->host != bad.master->host) continue;
    const auto cost = [&](const Pair& with) {
      const bool mends_two = with.replica->host == with.master->host;
      const int zones =
          (bad.replica->zone == with.master->zone ? 1 : 0) + (with.replica->zone == bad.master->zone ? 1 : 0);
      return std::tuple(!mends_two, zones, with.replica->ordinal);
    };
    Pair* best = nullptr;
    for (auto& with : pairs) {
      if (with.used || with.replica->host == bad.master->host || with.master->host == bad.replica->host) continue;
      if (best == nullptr || cost(with) < cost(*best)) best = &with;
    }
    if (best == nullptr) continue;
    bad.used = best->used = true;
    out.push_back({bad.replica->ordinal, best->replica->ordinal});
  }
  return out;
}

}  // namespace redis
