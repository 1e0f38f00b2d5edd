#include "move.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/rt/scope.h"

#include "cluster_nodes.h"

namespace redis {

using kopper::Error;
using kopper::Task;
namespace rt = kopper::rt;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMostTries = 3;   // of one key that does not arrive, and of a slot that does not get empty
constexpr std::size_t kMostWaits = 50;  // for a node that cannot serve now
constexpr rt::Duration kWait = 100ms;
constexpr std::size_t kSlotsAtOnce = 8;  // whose keys are listed, or which are closed, in one go
constexpr std::size_t kFetchAtOnce = 8;  // MIGRATEs' worth of keys that are asked for together

// What both kinds of move share. Lives in the frame of the public function.
struct Job {
  Party from;
  Party to;
  MoveOptions options;
  Moved* progress = nullptr;
  // The key that `to` has already is the right one. Otherwise that of `from`, which owns the slot, is.
  bool keep_existing = false;

  std::vector<std::size_t> slots = {};  // of this batch
  std::size_t next = 0;                 // the first of them that no worker has taken

  // For calls that may have to wait for a MIGRATE: its own bound is for a silence, not for all of it.
  rt::Duration patience() const { return 10 * options.migrate_timeout + 5s; }
  bool fine() const { return progress->trouble.empty(); }
  // The first counts: the rest follows from it.
  void stop(std::string why) {
    if (fine()) progress->trouble = std::move(why);
  }
};

std::string name_of(const Party& party) {
  return fmt::format("{} ({}:{})", party.id.substr(0, 8), party.link->address(), party.link->port());
}

// An answer may repeat what was sent, and MIGRATE is sent a password.
std::string text_of(const Reply& reply, const Party& to) {
  const auto& password = to.link->password();
  if (!password.empty() && reply.text.contains(password)) return reply.text.substr(0, reply.text.find(' '));
  return reply.text;
}

Words set_slot(std::size_t slot, std::string_view state, std::string_view id = {}) {
  Words words = {"CLUSTER", "SETSLOT", std::to_string(slot), std::string(state)};
  if (!id.empty()) words.emplace_back(id);
  return words;
}

template <class Make>
std::vector<Words> for_each_slot(const std::vector<std::size_t>& slots, Make make) {
  std::vector<Words> commands;
  commands.reserve(slots.size());
  for (const auto slot : slots) commands.push_back(make(slot));
  return commands;
}

// How many keys the party has of each.
Task<std::vector<std::int64_t>> count_keys(Party party, std::vector<std::size_t> slots) {
  auto commands =
      for_each_slot(slots, [](auto slot) -> Words { return {"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)}; });
  const auto replies = co_await party.link->pipeline(std::move(commands));
  std::vector<std::int64_t> counts;
  for (const auto& reply : replies) {
    if (reply.type != Reply::Type::Integer)
      throw Error(kopper::Code::Unavailable, fmt::format("{} does not count its keys: {}", name_of(party), reply.text));
    counts.push_back(reply.integer);
  }
  co_return counts;
}

enum class Answer : std::uint8_t {
  Moved,
  Exists,   // a key is at the target already; some may have been moved
  Lost,     // no answer of the target: keys may be on both nodes
  Later,    // a node cannot serve now
  Refused,  // roles or slots are not what we think
};

Answer answer_of(const Reply& reply) {
  if (!reply.is_error()) return Answer::Moved;
  const std::string_view text = reply.text;
  if (text.contains("BUSYKEY")) return Answer::Exists;
  if (text.contains("CLUSTERDOWN") || text.contains("LOADING") || text.contains("TRYAGAIN")) return Answer::Later;
  if (text.starts_with("IOERR")) return text.contains("connect") ? Answer::Later : Answer::Lost;
  return Answer::Refused;
}

Words migrate_words(const Job& job, const std::vector<std::string>& keys, bool replace) {
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(job.options.migrate_timeout);
  Words words = {"MIGRATE", job.to.link->address(),         std::to_string(job.to.link->port()), "",
                 "0",       std::to_string(timeout.count())};
  if (replace) words.emplace_back("REPLACE");
  if (!job.to.link->password().empty()) words.insert(words.end(), {"AUTH", job.to.link->password()});
  words.emplace_back("KEYS");
  words.insert(words.end(), keys.begin(), keys.end());
  return words;
}

// The copy of `from`, which owns nothing, goes: that of the owner stays.
Task<> drop(Job* job, std::string key) {
  std::vector<Words> commands = {{"ASKING"}, {"DEL", std::move(key)}};
  const auto replies = co_await job->from.link->pipeline(std::move(commands));
  const auto& deleted = replies.at(1);
  if (deleted.is_error()) job->stop(fmt::format("{} does not drop a key: {}", name_of(job->from), deleted.text));
}

Task<> migrate(Job* job, std::size_t slot, std::vector<std::string> keys, bool replace);

Task<> migrate_singly(Job* job, std::size_t slot, std::vector<std::string> keys, bool replace) {
  for (auto& key : keys) {
    if (!job->fine()) co_return;
    std::vector<std::string> one;
    one.push_back(std::move(key));
    co_await migrate(job, slot, std::move(one), replace);
  }
}

Task<> migrate(Job* job, std::size_t slot, std::vector<std::string> keys, bool replace) {
  std::size_t lost = 0;
  std::size_t waits = 0;
  while (job->fine()) {
    const auto reply = co_await job->from.link->call(migrate_words(*job, keys, replace), job->patience());
    const auto answer = answer_of(reply);
    if (answer == Answer::Moved) {
      job->progress->keys += keys.size();
      co_return;
    }
    if (answer == Answer::Exists && !job->keep_existing && !replace) {
      replace = true;
      continue;
    }
    if (answer == Answer::Exists && job->keep_existing) {
      if (keys.size() == 1) {
        co_await drop(job, keys[0]);
      } else {
        co_await migrate_singly(job, slot, std::move(keys), false);
      }
      co_return;
    }
    if (answer == Answer::Lost) {
      replace = !job->keep_existing;
      if (keys.size() > 1) {
        co_await migrate_singly(job, slot, std::move(keys), replace);
        co_return;
      }
      if (++lost < kMostTries) continue;
      job->stop(fmt::format("key \"{}\" of slot {} does not get from {} to {}, with a timeout of {} ms: {}", keys[0],
                            slot, name_of(job->from), name_of(job->to),
                            std::chrono::duration_cast<std::chrono::milliseconds>(job->options.migrate_timeout).count(),
                            text_of(reply, job->to)));
      co_return;
    }
    if (answer == Answer::Later && ++waits <= kMostWaits) {
      co_await rt::sleep(kWait);
      continue;
    }
    job->stop(fmt::format("keys of slot {} do not get from {} to {}: {}", slot, name_of(job->from), name_of(job->to),
                          text_of(reply, job->to)));
  }
}

std::size_t keys_at_once(const Job& job) { return std::max<std::size_t>(1, job.options.keys_a_migrate); }

Words list_keys(const Job& job, std::size_t slot) {
  return {"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), std::to_string(keys_at_once(job) * kFetchAtOnce)};
}

// All keys of one slot that `from` has now, the first of which are `listed`.
Task<> empty_slot(Job* job, std::size_t slot, Reply listed) {
  const auto at_once = keys_at_once(*job);
  while (job->fine()) {
    if (listed.type != Reply::Type::Array) {
      job->stop(fmt::format("{} does not list the keys of slot {}: {}", name_of(job->from), slot, listed.text));
      co_return;
    }
    auto& items = listed.items;
    for (std::size_t at = 0; at < items.size() && job->fine(); at += at_once) {
      std::vector<std::string> keys;
      for (std::size_t i = at; i < std::min(items.size(), at + at_once); ++i) keys.push_back(std::move(items[i].text));
      co_await migrate(job, slot, std::move(keys), false);
    }
    if (items.size() < at_once * kFetchAtOnce) co_return;
    listed = co_await job->from.link->call(list_keys(*job, slot), job->patience());
  }
}

Task<> work(Job* job) {
  while (job->next < job->slots.size() && job->fine()) {
    std::vector<std::size_t> some;
    while (job->next < job->slots.size() && some.size() < kSlotsAtOnce) some.push_back(job->slots[job->next++]);
    auto commands = for_each_slot(some, [job](auto slot) { return list_keys(*job, slot); });
    auto lists = co_await job->from.link->pipeline(std::move(commands), job->patience());
    for (std::size_t i = 0; i < some.size() && job->fine(); ++i) co_await empty_slot(job, some[i], std::move(lists[i]));
  }
}

// Until `from` counts no key of these slots.
Task<> empty_slots(Job* job, std::vector<std::size_t> slots) {
  for (std::size_t round = 0; job->fine(); ++round) {
    const auto counts = co_await count_keys(job->from, slots);
    job->slots.clear();
    job->next = 0;
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (counts[i] != 0) job->slots.push_back(slots[i]);
    if (job->slots.empty()) co_return;
    if (round == kMostTries) {
      job->stop(fmt::format("slots {} of {} do not get empty", SlotSet::of(job->slots).str(), name_of(job->from)));
      co_return;
    }
    rt::Scope workers;
    for (std::size_t i = 0; i < std::max<std::size_t>(1, job->options.in_flight); ++i) workers.spawn(work(job));
    co_await workers.join();
  }
}

// True when some replica has all that the text says that the master wrote.
bool replicated(std::string_view master, std::string_view later) {
  const auto written = info_number(master, "master_repl_offset");
  if (info_number(later, "connected_slaves") == 0) return true;  // nobody to wait for
  for (std::int64_t i = 0; i < info_number(later, "connected_slaves"); ++i) {
    // "ip=127.0.0.1,port=6379,state=online,offset=123,lag=0"
    const auto replica = info_value(later, "slave" + std::to_string(i));
    const auto at = replica.find("offset=");
    if (!replica.contains("state=online") || at == std::string_view::npos) continue;
    std::int64_t offset = 0;
    for (const char digit : replica.substr(at + 7)) {
      if (digit < '0' || digit > '9') break;
      offset = offset * 10 + (digit - '0');
    }
    if (offset >= written) return true;
  }
  return false;
}

// MIGRATE deletes a key when the target has it, not when the target's replica has it. WAIT alone would not do: newer
// versions ask only for what this connection wrote. It makes the replicas tell at once how far they are.
Task<> wait_for_replica(Job* job) {
  const auto deadline = rt::Loop::current().now() + job->options.replica_patience;
  std::string written;
  while (true) {
    std::vector<Words> commands = {{"INFO", "replication"}, {"WAIT", "1", "100"}, {"INFO", "replication"}};
    const auto replies = co_await job->to.link->pipeline(std::move(commands));
    if (written.empty()) written = replies[0].text;
    if (replicated(written, replies[2].text)) co_return;
    if (rt::Loop::current().now() >= deadline) break;
    co_await rt::sleep(20ms);
  }
  job->stop(fmt::format("no replica of {} has the keys that came last", name_of(job->to)));
}

Task<> tell(Party party, std::vector<Words> commands) {
  try {
    (void)co_await party.link->pipeline(std::move(commands), 1s);
  } catch (const Error&) {
    // gossip tells it as well
  }
}

// Marks the slots at both. Those that `to` owns already are left out of `open`: they were moved before, and maybe not
// everybody knows.
Task<> open_slots(Job* job, std::vector<std::size_t> slots, std::vector<std::size_t>* open) {
  auto importing = for_each_slot(slots, [&](auto slot) { return set_slot(slot, "IMPORTING", job->from.id); });
  const auto imports = co_await job->to.link->pipeline(std::move(importing));
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (imports[i].is_error() && !imports[i].text.contains("already the owner")) {
      job->stop(fmt::format("{} does not take slot {}: {}", name_of(job->to), slots[i], imports[i].text));
      co_return;
    }
    if (!imports[i].is_error()) open->push_back(slots[i]);
  }
  auto migrating = for_each_slot(*open, [&](auto slot) { return set_slot(slot, "MIGRATING", job->to.id); });
  const auto replies = co_await job->from.link->pipeline(std::move(migrating));
  for (std::size_t i = 0; i < open->size(); ++i) {
    if (!replies[i].is_error()) continue;
    job->stop(fmt::format("{} does not give slot {}: {}", name_of(job->from), (*open)[i], replies[i].text));
    co_return;
  }
}

// Makes `to` the owner. First there: from then on its claim is the newer one.
Task<> give(Job* job, std::vector<std::size_t> slots, std::vector<Party> others) {
  const auto commands = for_each_slot(slots, [&](auto slot) { return set_slot(slot, "NODE", job->to.id); });
  const auto taken = co_await job->to.link->pipeline(commands);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!taken[i].is_error()) continue;
    job->stop(fmt::format("{} does not become the owner of slot {}: {}", name_of(job->to), slots[i], taken[i].text));
    co_return;
  }
  job->progress->slots += slots.size();
  const auto given = co_await job->from.link->pipeline(commands);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    // It gave away its last slot, and became a replica of the new owner.
    if (!given[i].is_error() || given[i].text.contains("only with masters")) continue;
    job->stop(fmt::format("{} does not give up slot {}: {}", name_of(job->from), slots[i], given[i].text));
    co_return;
  }
  rt::Scope telling;
  for (const auto& other : others)
    if (other.id != job->from.id && other.id != job->to.id) telling.spawn(tell(other, commands));
  co_await telling.join();
}

// Nothing may be left at `from`, which deletes what it has of a slot when it hears that another owns it. Few at a time:
// each is told to all nodes at once, and they serve nobody while they read that.
Task<> close_slots(Job* job, std::vector<std::size_t> slots, std::vector<Party> others) {
  const auto counts = co_await count_keys(job->from, slots);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (counts[i] == 0) continue;
    job->stop(fmt::format("{} has {} keys of slot {}, which it does not own any more", name_of(job->from), counts[i],
                          slots[i]));
    co_return;
  }
  for (std::size_t at = 0; at < slots.size() && job->fine(); at += kSlotsAtOnce) {
    const auto end = std::min(slots.size(), at + kSlotsAtOnce);
    std::vector<std::size_t> some(slots.begin() + static_cast<std::ptrdiff_t>(at),
                                  slots.begin() + static_cast<std::ptrdiff_t>(end));
    co_await give(job, std::move(some), others);
  }
}

Task<> move_batch(Job* job, std::vector<std::size_t> slots, std::vector<Party> others) {
  std::vector<std::size_t> open;
  co_await open_slots(job, slots, &open);
  if (job->fine()) co_await empty_slots(job, open);
  if (job->fine()) co_await close_slots(job, slots, others);
  if (job->fine()) co_await wait_for_replica(job);
}

Task<> rescue_batch(Job* job, std::vector<std::size_t> slots) {
  const auto counts = co_await count_keys(job->from, slots);
  std::vector<std::size_t> hidden;
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (counts[i] != 0) hidden.push_back(slots[i]);
  // MIGRATE and DEL work only where the slot is open.
  auto importing = for_each_slot(hidden, [&](auto slot) { return set_slot(slot, "IMPORTING", job->to.id); });
  const auto opened = co_await job->from.link->pipeline(std::move(importing));
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    if (!opened[i].is_error()) continue;
    job->stop(fmt::format("{} does not open slot {}: {}", name_of(job->from), hidden[i], opened[i].text));
    co_return;
  }
  co_await empty_slots(job, hidden);
  if (!job->fine()) co_return;
  // Also those that were empty: their mark may be left of an earlier try.
  auto stable = for_each_slot(slots, [](auto slot) { return set_slot(slot, "STABLE"); });
  const auto closed = co_await job->from.link->pipeline(std::move(stable));
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!closed[i].is_error()) continue;
    job->stop(fmt::format("{} does not close slot {}: {}", name_of(job->from), slots[i], closed[i].text));
    co_return;
  }
  job->progress->slots += slots.size();
  co_await wait_for_replica(job);
}

std::vector<std::vector<std::size_t>> batches_of(const SlotSet& slots, std::size_t size) {
  std::vector<std::vector<std::size_t>> batches;
  for (const auto slot : slots.slots()) {
    if (batches.empty() || batches.back().size() >= size) batches.emplace_back();
    batches.back().push_back(slot);
  }
  return batches;
}

Task<> run_batches(Job* job, SlotSet slots, std::vector<Party> others) {
  job->progress->trouble.clear();
  try {
    const auto batches = batches_of(slots, std::max<std::size_t>(1, job->options.batch));
    for (const auto& batch : batches) {
      if (job->options.go_on && !job->options.go_on()) co_return;
      if (job->keep_existing) {
        co_await rescue_batch(job, batch);
      } else {
        co_await move_batch(job, batch, others);
      }
      if (!job->fine()) co_return;
    }
  } catch (const Error& error) {
    job->stop(error.what());
  }
}

}  // namespace

Task<> move_slots(Party from, Party to, std::vector<Party> others, SlotSet slots, MoveOptions options,
                  Moved* progress) {
  Job job;
  job.from = std::move(from);
  job.to = std::move(to);
  job.options = std::move(options);
  job.progress = progress;
  co_await run_batches(&job, slots, std::move(others));
}

Task<> rescue_keys(Party holder, Party owner, SlotSet slots, MoveOptions options, Moved* progress) {
  Job job;
  job.from = std::move(holder);
  job.to = std::move(owner);
  job.options = std::move(options);
  job.progress = progress;
  job.keep_existing = true;
  std::vector<Party> nobody;
  co_await run_batches(&job, slots, std::move(nobody));
}

}  // namespace redis
