#include "plan_slots.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

namespace redis {

namespace {

void by_ordinal(std::vector<Holding>& holdings) { std::ranges::stable_sort(holdings, {}, &Holding::ordinal); }

auto find(const std::vector<Holding>& holdings, const std::string& id) {
  return std::ranges::find(holdings, id, &Holding::id);
}

bool names(const Assignment& assignment, const std::string& id) {
  return std::ranges::find(assignment.donors, id) != assignment.donors.end();
}

// How many slots each of `keep` is to have.
std::map<std::string, std::size_t> even_targets(std::vector<Holding> keep, std::size_t total) {
  std::ranges::stable_sort(keep, [](const Holding& a, const Holding& b) { return a.slots.size() > b.slots.size(); });
  std::map<std::string, std::size_t> targets;
  const auto share = total / keep.size();
  auto rest = total % keep.size();
  for (const auto& each : keep) {
    targets[each.id] = share + (rest > 0 ? 1 : 0);
    if (rest > 0) --rest;
  }
  return targets;
}

kopper::Error invalid(std::string_view field, std::string_view what) {
  return {kopper::Code::Invalid, fmt::format("updateStrategy.assignStrategies{}: {}", field, what)};
}

// What can be said of assignments before any slot is counted.
std::optional<kopper::Error> refuse(const std::vector<Holding>& donors, const std::vector<Holding>& receivers,
                                    const std::vector<Assignment>& assignments) {
  if (assignments.size() != receivers.size()) {
    return invalid("", fmt::format("{} for {} new masters", assignments.size(), receivers.size()));
  }
  for (std::size_t i = 0; i < assignments.size(); ++i) {
    const auto& [slots, from] = assignments[i];
    if (slots < 1) return invalid(fmt::format("[{}].slots", i), "must be at least 1");
    const auto field = fmt::format("[{}].fromReplicas", i);
    if (from.empty()) return invalid(field, "names no master");
    for (const auto& id : from) {
      if (find(receivers, id) != receivers.end()) {
        return invalid(field, fmt::format("{} is a new master and has nothing to give", id));
      }
      if (find(donors, id) == donors.end()) {
        return invalid(field, fmt::format("{} is not a master of this cluster", id));
      }
      if (std::ranges::count(from, id) > 1) return invalid(field, fmt::format("names {} twice", id));
    }
  }
  return std::nullopt;
}

// How many of `wanted` each of `from` gives.
std::vector<std::size_t> shares(const std::vector<Holding*>& from, std::size_t wanted) {
  std::size_t total = 0;
  std::size_t largest = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    total += from[i]->slots.size();
    if (from[i]->slots.size() > from[largest]->slots.size()) largest = i;
  }
  std::vector<std::size_t> out;
  if (total == 0) return std::vector<std::size_t>(from.size());
  for (const auto* each : from) out.push_back(wanted * each->slots.size() / total);
  out[largest] += wanted - std::accumulate(out.begin(), out.end(), std::size_t{0});
  return out;
}

using Plan = std::expected<std::vector<Move>, kopper::Error>;

// `donors` by ordinal. `wanted` are the slots that each receiver still lacks.
Plan plan(std::vector<Holding> donors, const std::vector<Holding>& receivers,
          const std::vector<Assignment>& assignments, const std::vector<std::size_t>& wanted) {
  std::vector<Move> out;
  for (std::size_t i = 0; i < assignments.size(); ++i) {
    std::vector<Holding*> from;
    for (auto& donor : donors) {
      if (names(assignments[i], donor.id)) from.push_back(&donor);
    }
    const auto gives = shares(from, wanted[i]);
    for (std::size_t j = 0; j < from.size(); ++j) {
      auto& donor = *from[j];
      if (gives[j] == 0) continue;
      if (gives[j] >= donor.slots.size()) {
        return std::unexpected(
            invalid(fmt::format("[{}].slots", i),
                    fmt::format("{} would give {} of its {} slots", donor.id, gives[j], donor.slots.size())));
      }
      auto slots = donor.slots.first(gives[j]);
      donor.slots -= slots;
      out.push_back({.from = donor.id, .to = receivers[i].id, .slots = std::move(slots)});
    }
  }
  return out;
}

// The rest of a plan of which the receivers have a part already. As donors give their lowest slots, a slot that came
// was below those that its donor has left. Nothing when that explains not all that the receivers have.
std::optional<std::vector<Move>> resume(std::vector<Holding> donors, const std::vector<Holding>& receivers,
                                        const std::vector<Assignment>& assignments) {
  std::vector<Holding*> donor_of(kSlots);
  for (auto& donor : donors) {
    for (const auto slot : donor.slots.slots()) donor_of[slot] = &donor;
  }
  for (std::size_t i = 0; i < receivers.size(); ++i) {
    for (const auto slot : receivers[i].slots.slots()) {
      const auto gave = [&](const Holding* donor) { return donor != nullptr && names(assignments[i], donor->id); };
      const auto next = std::find_if(donor_of.begin() + static_cast<std::ptrdiff_t>(slot), donor_of.end(), gave);
      if (next == donor_of.end()) return std::nullopt;
      (*next)->slots.insert(slot);
    }
  }
  std::vector<std::size_t> wanted;
  for (const auto& each : assignments) wanted.push_back(each.slots);
  auto whole = plan(std::move(donors), receivers, assignments, wanted);
  if (!whole) return std::nullopt;

  SlotSet came;
  for (const auto& receiver : receivers) came |= receiver.slots;
  std::vector<Move> out;
  for (auto& move : *whole) {
    const auto to = find(receivers, move.to);
    came -= move.slots & to->slots;
    move.slots -= to->slots;
    if (!move.slots.empty()) out.push_back(std::move(move));
  }
  if (!came.empty()) return std::nullopt;
  return out;
}

}  // namespace

std::vector<Move> balance(std::vector<Holding> keep, std::vector<Holding> drain) {
  if (keep.empty()) return {};
  by_ordinal(keep);
  std::size_t total = 0;
  for (const auto* all : {&keep, &drain}) {
    for (const auto& each : *all) total += each.slots.size();
  }
  const auto targets = even_targets(keep, total);

  std::vector<Holding> donors = std::move(drain);
  std::vector<std::pair<std::string, std::size_t>> lack;
  for (const auto& each : keep) {
    const auto target = targets.at(each.id);
    const auto has = each.slots.size();
    if (has > target) donors.push_back({each.id, each.ordinal, each.slots.first(has - target)});
    if (has < target) lack.emplace_back(each.id, target - has);
  }
  by_ordinal(donors);

  // Both in order, each taking up where the other ended: no more moves than donors and receivers together.
  std::vector<Move> out;
  auto to = lack.begin();
  for (auto& donor : donors) {
    while (!donor.slots.empty() && to != lack.end()) {
      auto slots = donor.slots.first(to->second);
      donor.slots -= slots;
      to->second -= slots.size();
      out.push_back({.from = donor.id, .to = to->first, .slots = std::move(slots)});
      if (to->second == 0) ++to;
    }
  }
  return out;
}

double imbalance(const std::vector<Holding>& holdings) {
  if (holdings.empty()) return 0;
  const auto share = static_cast<double>(kSlots) / static_cast<double>(holdings.size());
  double most = 0;
  for (const auto& each : holdings) {
    most = std::max(most, std::abs(static_cast<double>(each.slots.size()) - share));
  }
  return most < 1 ? 0 : most / share * 100;  // 16384 can not always be divided
}

std::expected<std::vector<Move>, kopper::Error> assign(const std::vector<Holding>& donors,
                                                       const std::vector<Holding>& receivers,
                                                       const std::vector<Assignment>& assignments) {
  if (auto error = refuse(donors, receivers, assignments)) return std::unexpected(*std::move(error));
  auto givers = donors;
  by_ordinal(givers);
  if (std::ranges::any_of(receivers, [](const Holding& each) { return !each.slots.empty(); })) {
    if (auto rest = resume(givers, receivers, assignments)) return *std::move(rest);
  }
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < assignments.size(); ++i) {
    const auto has = receivers[i].slots.size();
    wanted.push_back(assignments[i].slots > has ? assignments[i].slots - has : 0);
  }
  return plan(std::move(givers), receivers, assignments, wanted);
}

}  // namespace redis
