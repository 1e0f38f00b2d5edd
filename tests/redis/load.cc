#include "redis/load.h"

#include <algorithm>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "redis/servers.h"

namespace redis::testing {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// What a key is for: strings mostly, some counters, hashes and lists.
enum class Kind : std::uint8_t { String, Counter, Hash, List };

Kind kind_of(std::size_t index) {
  constexpr std::array kinds{Kind::String,  Kind::String,  Kind::String, Kind::String,
                             Kind::Counter, Kind::Counter, Kind::Hash,   Kind::List};
  return kinds.at(index % kinds.size());
}

// Whether a repeated write changes nothing.
bool repeatable(Kind kind) { return kind == Kind::String || kind == Kind::Hash; }

std::vector<std::string> write_of(Kind kind, const std::string& key, std::uint32_t version) {
  const std::string value = std::to_string(version) + " of " + key;
  switch (kind) {
    case Kind::String: return {"SET", key, value};
    case Kind::Counter: return {"INCR", key};
    case Kind::Hash: return {"HSET", key, "field", value};
    case Kind::List: break;
  }
  return {"RPUSH", key, value};
}

std::vector<std::string> read_of(Kind kind, const std::string& key) {
  switch (kind) {
    case Kind::String:
    case Kind::Counter: return {"GET", key};
    case Kind::Hash: return {"HGET", key, "field"};
    case Kind::List: break;
  }
  return {"LLEN", key};
}

// Errors that pass: the cluster changes.
bool passing(const Answer& answer) {
  for (const char* start : {"TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY", "BUSY"})
    if (answer.is_error(start)) return true;
  return false;
}

// Of "MOVED 7 127.0.0.1:6379" and "ASK 7 127.0.0.1:6379".
std::string target_of(const std::string& error) {
  const std::string last = error.substr(error.rfind(' ') + 1);
  return last.substr(0, last.rfind(':'));
}

std::uint32_t leading_number(const std::string& text) {
  std::uint32_t out = 0;
  std::istringstream(text) >> out;
  return out;
}

}  // namespace

ClusterClient::ClusterClient(std::vector<std::string> seeds, LoadOptions options, const std::atomic<bool>* stop)
    : options_(std::move(options)), stop_(stop), known_(seeds.begin(), seeds.end()) {
  refresh();
}

void ClusterClient::know(const std::vector<std::string>& addresses) {
  known_.insert(addresses.begin(), addresses.end());
}

BlockingClient& ClusterClient::at(const std::string& address) {
  if (const auto found = open_.find(address); found != open_.end()) return found->second;
  return open_.try_emplace(address, address, options_.password, options_.timeout).first->second;
}

void ClusterClient::pause() { std::this_thread::sleep_for(milliseconds(5)); }

bool ClusterClient::refresh_from(const std::string& address) {
  try {
    BlockingClient& client = at(address);
    const Answer answer = client.call({"CLUSTER", "NODES"});
    const auto nodes = read_nodes(answer.text);
    // A node that has lost the others knows nothing worth having.
    if (nodes.size() < 2) return false;
    for (const NodeSeen& node : nodes) {
      if (node.address.empty() || node.is("fail") || node.is("noaddr") || node.is("handshake")) continue;
      known_.insert(node.address);
      for (std::size_t slot = 0; slot < kAllSlots; ++slot)
        if (node.slots[slot]) owners_.at(slot) = node.address;
    }
    return true;
  } catch (const Broken&) {
    open_.erase(address);
    return false;
  }
}

void ClusterClient::refresh() {
  // In another order each time, so that one with an old view does not stand in the way.
  static thread_local std::minstd_rand random(7);
  std::vector<std::string> order(known_.begin(), known_.end());
  std::shuffle(order.begin(), order.end(), random);
  for (const std::string& address : order)
    if (refresh_from(address)) return;
}

ClusterClient::Done ClusterClient::call(const std::vector<std::string>& words, std::size_t slot,
                                        Clock::time_point until) {
  Done out;
  std::string ask;
  while (!*stop_ && Clock::now() < until) {
    out.address = ask.empty() ? owners_.at(slot) : ask;
    const bool asking = !std::exchange(ask, "").empty();
    if (out.address.empty()) {
      refresh();
      pause();
      continue;
    }
    std::vector<std::vector<std::string>> commands;
    if (asking) commands.push_back({"ASKING"});
    commands.push_back(words);
    if (options_.replicas > 0) commands.push_back({"WAIT", std::to_string(options_.replicas), "500"});
    bool connected = false;
    try {
      BlockingClient& client = at(out.address);
      connected = true;
      auto answers = client.pipeline(commands);
      out.answer = std::move(answers.at(asking ? 1 : 0));
      out.durable = options_.replicas == 0 || answers.back().integer >= options_.replicas;
    } catch (const Broken& broken) {
      open_.erase(out.address);
      out.lost = connected;
      out.late = connected && dynamic_cast<const TimedOut*>(&broken) != nullptr;
      if (out.lost) return out;  // the caller knows whether it may be done twice
      refresh();
      pause();
      continue;
    }
    if (out.answer.is_error("MOVED ")) {
      owners_.at(slot) = target_of(out.answer.text);
      known_.insert(owners_.at(slot));
    } else if (out.answer.is_error("ASK ")) {
      ask = target_of(out.answer.text);
    } else if (passing(out.answer)) {
      pause();
      refresh();
    } else {
      out.answered = true;
      return out;
    }
  }
  return out;
}

Load::Load(std::vector<std::string> seeds, LoadOptions options)
    : options_(std::move(options)), seeds_(std::move(seeds)), keys_(options_.keys) {}

Load::~Load() { stop(); }

std::string Load::name(std::size_t key) const { return options_.prefix + ":" + std::to_string(key); }

// With many writes at once, so that it is soon done.
void Load::fill(ClusterClient& client) {
  std::map<std::string, std::vector<std::size_t>> by_owner;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const std::string& owner = client.owner(slot_of_key(name(i)));
    if (owner.empty()) throw std::runtime_error("nobody has the slot of " + name(i));
    by_owner[owner].push_back(i);
  }
  for (const auto& [owner, indexes] : by_owner) {
    std::vector<std::vector<std::string>> commands;
    for (const std::size_t i : indexes) commands.push_back(write_of(kind_of(i), name(i), 1));
    if (options_.replicas > 0) commands.push_back({"WAIT", std::to_string(options_.replicas), "5000"});
    const auto answers = client.at(owner).pipeline(commands);
    for (std::size_t n = 0; n < indexes.size(); ++n) {
      if (answers[n].is_error()) throw std::runtime_error("at the start: " + owner + ": " + answers[n].text);
      Key& key = keys_[indexes[n]];
      key.low = key.high = 1;
    }
    acknowledged_ += indexes.size();
  }
}

void Load::start() {
  stop_ = false;
  for (std::size_t i = 0; i < options_.writers; ++i) {
    auto writer = std::make_unique<Writer>();
    writer->client = std::make_unique<ClusterClient>(seeds_, options_, &stop_);
    writers_.push_back(std::move(writer));
  }
  fill(*writers_.front()->client);
  for (std::size_t i = 0; i < options_.writers; ++i) writers_[i]->thread = std::thread([this, i] { write_on(i); });
}

bool Load::wait_for(std::uint64_t more, std::chrono::seconds patience) {
  const std::uint64_t target = acknowledged_ + more;
  return eventually([&] { return acknowledged_ >= target; }, patience);
}

void Load::know(const std::vector<std::string>& addresses) {
  const std::lock_guard lock(mutex_);
  seeds_.insert(seeds_.end(), addresses.begin(), addresses.end());
  for (const auto& writer : writers_) {
    writer->told = addresses;
    writer->fresh = true;
  }
}

void Load::stop() {
  stop_ = true;
  for (const auto& writer : writers_)
    if (writer->thread.joinable()) writer->thread.join();
}

void Load::hear(Writer& writer) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(writer.fresh, false)) writer.client->know(writer.told);
}

void Load::write_on(std::size_t index) {
  Writer& writer = *writers_[index];
  std::minstd_rand random(static_cast<unsigned>(index) + 1);
  std::uniform_int_distribution<std::size_t> any(0, options_.keys / options_.writers - 1);
  auto next = Clock::now();
  const auto step = options_.writes_a_second > 0 ? microseconds(1'000'000 / options_.writes_a_second) : microseconds(0);
  while (!stop_) {
    hear(writer);
    write(writer, any(random) * options_.writers + index);
    next = std::max(next + step, Clock::now() - milliseconds(100));  // not all at once after a stall
    std::this_thread::sleep_until(next);
  }
}

void Load::write(Writer& writer, std::size_t index) {
  Key& key = keys_[index];
  const Kind kind = kind_of(index);
  const std::string text = name(index);
  const std::size_t slot = slot_of_key(text);
  const std::uint32_t version = key.high + 1;
  const auto words = write_of(kind, text, version);
  const auto begin = Clock::now();
  ClusterClient::Done done;
  if (repeatable(kind)) key.high = version;
  while (!stop_ && !done.answered) {
    if (!repeatable(kind)) ++key.high;
    done = writer.client->call(words, slot);
    if (done.late) ++key.late, key.late_values.insert(version);
    if (done.lost) writer.client->refresh();
    if (!done.answered) hear(writer);
    // It never reached a server.
    if (!repeatable(kind) && !done.answered && !done.lost) --key.high;
  }
  if (!done.answered) return;
  const auto took = Clock::now() - begin;
  if (done.answer.is_error()) {
    writer.wrong.push_back(text + ": " + done.answer.text);
    return;
  }
  if (!repeatable(kind)) {
    const auto now = done.answer.integer;
    if (now <= key.low || now > key.high)
      writer.wrong.push_back(text + " became " + std::to_string(now) + ", which is not in " +
                             std::to_string(key.low + 1) + ".." + std::to_string(key.high));
    const auto value = static_cast<std::uint32_t>(now);
    key.high = value + key.late;
    if (done.durable) key.low = value;
  } else if (done.durable) {
    key.low = version;
  }
  acknowledged_ += done.durable ? 1 : 0;
  auto& longest = writer.longest[done.address];
  longest = std::max(longest, std::chrono::duration_cast<milliseconds>(took));
  writer.microseconds.push_back(static_cast<std::uint32_t>(std::chrono::duration_cast<microseconds>(took).count()));
}

std::string Load::difference(std::size_t index, const Answer& answer) const {
  const Key& key = keys_[index];
  const auto value =
      answer.kind == Answer::Kind::Integer ? static_cast<std::uint32_t>(answer.integer) : leading_number(answer.text);
  if (!answer.is_error() && value >= key.low && value <= key.high) return "";
  if (repeatable(kind_of(index)) && key.late_values.contains(value)) return "";
  return name(index) + " (slot " + std::to_string(slot_of_key(name(index))) + ") is " + answer.str() +
         ", but must be in " + std::to_string(key.low) + ".." + std::to_string(key.high);
}

std::string Load::verify() {
  stop();
  std::vector<std::string> wrong;
  for (const auto& writer : writers_) wrong.insert(wrong.end(), writer->wrong.begin(), writer->wrong.end());
  const std::atomic<bool> go_on = false;
  LoadOptions reading = options_;
  reading.replicas = 0;
  ClusterClient client(seeds_, reading, &go_on);
  if (!writers_.empty()) {
    hear(*writers_.front());
    for (std::size_t slot = 0; slot < kAllSlots; ++slot) client.know({writers_.front()->client->owner(slot)});
    client.refresh();
  }
  const auto until = Clock::now() + std::chrono::seconds(60);
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    ClusterClient::Done done;
    while (!done.answered && Clock::now() < until) {
      if (done.lost) client.refresh();
      done = client.call(read_of(kind_of(i), name(i)), slot_of_key(name(i)), until);
    }
    if (!done.answered) {
      wrong.push_back(name(i) + " cannot be read");
      break;
    }
    if (const std::string found = difference(i, done.answer); !found.empty()) wrong.push_back(found);
  }
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(wrong.size(), 20); ++i) out += wrong[i] + "\n";
  if (wrong.size() > 20) out += "and " + std::to_string(wrong.size() - 20) + " more\n";
  return out;
}

std::map<std::string, milliseconds> Load::longest() const {
  std::map<std::string, milliseconds> out;
  for (const auto& writer : writers_)
    for (const auto& [address, took] : writer->longest) out[address] = std::max(out[address], took);
  return out;
}

milliseconds Load::longest_of_all() const {
  milliseconds out{0};
  for (const auto& [address, took] : longest()) out = std::max(out, took);
  return out;
}

microseconds Load::latency(double percent) const {
  std::vector<std::uint32_t> all;
  for (const auto& writer : writers_) all.insert(all.end(), writer->microseconds.begin(), writer->microseconds.end());
  if (all.empty()) return microseconds(0);
  const auto at = static_cast<std::size_t>(static_cast<double>(all.size() - 1) * percent / 100);
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(at), all.end());
  return microseconds(all[at]);
}

}  // namespace redis::testing
