// Moves a quarter of all slots from three masters to a fourth, with its keys and under live traffic: our move_slots
// against redis-cli, each on a fresh cluster of redis-servers, in one run. The traffic is a process apart; its
// latencies count from when a request was due, so that one that was held up counts in full.
// Then makes clusters of blank servers, ours against redis-cli --cluster create.
//   redis_bench [keys] ["nothing moves"|kopper|"kopper in turn"|rebalance|reshard]…
//   redis_bench form
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "kopper/base/error.h"
#include "kopper/rt/process.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/signal.h"

#include "operators/redis/act.h"
#include "operators/redis/cluster_nodes.h"
#include "operators/redis/connection.h"
#include "operators/redis/decide.h"
#include "operators/redis/move.h"
#include "operators/redis/observe.h"
#include "operators/redis/plan_slots.h"

namespace redis {
namespace {

using kopper::Code;
using kopper::Error;
using kopper::Task;
namespace rt = kopper::rt;
using namespace std::chrono_literals;

constexpr std::size_t kMasters = 4;
constexpr int kClients = 8;
constexpr auto kEvery = 4ms;  // a request of each client: 2,000 in a second

std::string key_of(std::size_t number) { return "key:" + std::to_string(number); }

// ---- traffic -------------------------------------------------------------------------------------------------------

struct Sample {
  rt::TimePoint due;
  rt::Duration took;
};

// Half of it reads, half writes. Knows who owns which slot, as cluster clients do, and goes where it is sent.
Task<> be_a_client(std::vector<std::string> owners, std::size_t keys, unsigned seed, std::vector<Sample>* samples) {
  Links links;
  std::mt19937 random(seed);
  auto due = rt::Loop::current().now() + std::chrono::microseconds(random() % 4000);
  for (;; due += kEvery) {
    co_await rt::sleep_until(due);
    const auto key = key_of(random() % keys);
    const auto slot = slot_of(key);
    const Words words = random() % 2 == 0 ? Words{"GET", key} : Words{"SET", key, std::string(32, 'y')};
    auto address = owners[slot];
    for (bool asking = false;;) {
      const auto link = co_await links.get(address);
      std::vector<Words> commands;
      if (asking) commands.push_back({"ASKING"});
      commands.push_back(words);
      const auto replies = co_await link->pipeline(std::move(commands), 60s);
      const auto& reply = replies.back();
      asking = reply.is_error("ASK ");
      if (asking || reply.is_error("MOVED ")) {
        const auto begin = reply.text.rfind(' ') + 1;
        address = reply.text.substr(begin, reply.text.rfind(':') - begin);
        if (!asking) owners[slot] = address;
      } else if (reply.is_error("TRYAGAIN")) {
        address = owners[slot];
      } else if (reply.is_error()) {
        throw Error(Code::Internal, reply.text);
      } else {
        break;
      }
    }
    samples->push_back({due, rt::Loop::current().now() - due});
  }
}

Task<std::vector<NodeLine>> nodes_at(std::string address) {
  const auto link = co_await Connection::open(address, 6379, Access());
  Words words = {"CLUSTER", "NODES"};
  const auto reply = co_await link->call(std::move(words));
  auto nodes = parse_cluster_nodes(reply.text);
  if (!nodes) throw Error(nodes.error());
  co_return std::move(*nodes);
}

Task<> send_traffic(std::string address, std::size_t keys, std::vector<Sample>* samples) {
  std::vector<std::string> owners(kSlots);
  const auto nodes = co_await nodes_at(address);
  for (const auto& node : nodes)
    for (const auto slot : node.slots.slots()) owners[slot] = node.address;
  rt::Scope clients;
  for (unsigned i = 0; i < kClients; ++i) clients.spawn(be_a_client(owners, keys, i, samples));
  (void)co_await rt::wait_stop_signal();
}

int traffic(const std::string& address, std::size_t keys, const std::string& file) {
  rt::Loop loop;
  std::vector<Sample> samples;
  samples.reserve(1'000'000);
  loop.run(send_traffic(address, keys, &samples));
  std::ofstream out(file);
  for (const auto& sample : samples) out << sample.due.time_since_epoch().count() << ' ' << sample.took.count() << '\n';
  return 0;
}

// ---- a cluster -----------------------------------------------------------------------------------------------------

Task<std::shared_ptr<Connection>> open_soon(std::string address) {
  for (int tries = 0; tries < 500; ++tries) {
    try {
      co_return co_await Connection::open(address, 6379, Access());
    } catch (const Error&) {
      // it starts
    }
    co_await rt::sleep(20ms);
  }
  throw Error(Code::Timeout, address + ": redis-server does not listen");
}

// Blank servers.
class Servers {
 public:
  explicit Servers(std::size_t size) {
    std::string pattern = std::filesystem::temp_directory_path() / "redis-bench-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    static unsigned count = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const auto number = static_cast<unsigned>(::getpid()) * 64U + count++;
      addresses.push_back(fmt::format("127.{}.{}.{}", 112 + (number >> 16U) % 8, (number >> 8U) % 256, number % 256));
      const auto disk = folder_ + "/" + std::to_string(i);
      std::filesystem::create_directory(disk);
      rt::ProcessSpec spec;
      spec.argv = {"setpriv",
                   "--pdeathsig",
                   "KILL",  // whatever ends this program ends them
                   "redis-server",
                   "--bind",
                   addresses[i],
                   "--dir",
                   disk,
                   "--save",
                   "",
                   "--cluster-enabled",
                   "yes",
                   "--logfile",
                   "log",
                   "--appendonly",
                   "no",
                   "--cluster-announce-ip",
                   addresses[i],
                   "--repl-diskless-sync-delay",
                   "0",
                   "--cluster-node-timeout",
                   "5000"};
      servers_.emplace_back(spec);
    }
    for (const auto& address : addresses) links.push_back(loop.run(open_soon(address)));
  }
  ~Servers() {
    links.clear();
    servers_.clear();
    std::filesystem::remove_all(folder_);
  }
  Servers(const Servers&) = delete;
  Servers& operator=(const Servers&) = delete;

  Reply at(std::size_t index, Words words) {
    auto reply = loop.run(links[index]->call(std::move(words), 60s));
    if (reply.is_error()) throw Error(Code::Internal, reply.text);
    return reply;
  }
  std::string id(std::size_t index) { return at(index, {"CLUSTER", "MYID"}).text; }

  // Seconds of CPU that all servers used until now.
  double cpu() {
    double all = 0;
    for (std::size_t i = 0; i < links.size(); ++i) {
      const auto info = at(i, {"INFO", "cpu"}).text;
      for (const auto* name : {"used_cpu_sys", "used_cpu_user"}) all += std::stod(std::string(info_value(info, name)));
    }
    return all;
  }

  rt::Loop loop;
  std::vector<std::string> addresses;
  std::vector<std::shared_ptr<Connection>> links;

  template <class Holds>
  void wait_until(Holds holds) {
    for (int tries = 0; tries < 3000; ++tries) {
      if (holds()) return;
      loop.run(rt::sleep(20ms));
    }
    throw Error(Code::Timeout, "the cluster does not get ready");
  }

 private:
  std::string folder_;
  std::vector<rt::Process> servers_;
};

// Three masters with all slots, a fourth without, and its replica, which we wait for and redis-cli does not.
class Cluster : public Servers {
 public:
  explicit Cluster(std::size_t keys) : Servers(kMasters + 1) {
    form();
    fill(keys);
  }

 private:
  void form() {
    const auto all = links.size();
    for (std::size_t i = 0; i < all; ++i) at(i, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    for (std::size_t i = 1; i < all; ++i) at(0, {"CLUSTER", "MEET", addresses[i], "6379"});
    for (std::size_t i = 0; i < 3; ++i) {
      at(i, {"CLUSTER", "ADDSLOTSRANGE", std::to_string(cut(i)), std::to_string(cut(i + 1) - 1)});
    }
    const auto says = [this](std::size_t i, Words words, std::string_view what) {
      return at(i, std::move(words)).text.contains(what);
    };
    for (std::size_t i = 0; i < all; ++i)
      wait_until([&] { return says(i, {"CLUSTER", "INFO"}, fmt::format("cluster_known_nodes:{}", all)); });
    at(kMasters, {"CLUSTER", "REPLICATE", id(kMasters - 1)});
    wait_until([&] { return says(kMasters, {"INFO", "replication"}, "master_link_status:up"); });
    for (std::size_t i = 0; i < all; ++i) wait_until([&] { return says(i, {"CLUSTER", "INFO"}, "cluster_state:ok"); });
  }

  // The slots of the i-th of three masters begin here.
  static std::size_t cut(std::size_t i) { return (i * kSlots * 2 + 3) / 6; }

  void fill(std::size_t keys) {
    std::vector<std::vector<Words>> commands(3);
    for (std::size_t number = 0; number < keys; ++number) {
      const auto key = key_of(number);
      const auto slot = slot_of(key);
      const std::size_t owner = slot < cut(1) ? 0 : slot < cut(2) ? 1 : 2;
      commands[owner].push_back({"SET", key, std::string(32, 'x')});
      if (commands[owner].size() == 1000) flush(owner, commands[owner]);
    }
    for (std::size_t i = 0; i < 3; ++i) flush(i, commands[i]);
  }
  void flush(std::size_t index, std::vector<Words>& commands) {
    const auto replies = loop.run(links[index]->pipeline(std::exchange(commands, {}), 60s));
    for (const auto& reply : replies)
      if (reply.is_error()) throw Error(Code::Internal, reply.text);
  }
};

// ---- the contenders ------------------------------------------------------------------------------------------------

// The pairs of masters at the same time, as the operator does, or one after the other.
void by_kopper(Cluster& cluster, int pipeline, bool in_turn) {
  std::vector<Holding> masters;
  std::vector<Party> parties;
  const auto nodes = cluster.loop.run(nodes_at(cluster.addresses[0]));
  for (std::size_t i = 0; i < kMasters; ++i) {
    parties.push_back(Party{cluster.id(i), cluster.links[i]});
    Holding master{parties[i].id, static_cast<int>(i), {}};
    for (const auto& node : nodes)
      if (node.id == master.id) master.slots = node.slots;
    masters.push_back(master);
  }
  const auto party = [&](const std::string& id) { return *std::ranges::find(parties, id, &Party::id); };
  const auto moves = balance(masters);
  std::vector<Moved> progress(moves.size());
  std::vector<Task<>> tasks;
  MoveOptions options;
  options.keys_a_migrate = static_cast<std::size_t>(pipeline);
  for (std::size_t i = 0; i < moves.size(); ++i)
    tasks.push_back(
        move_slots(party(moves[i].from), party(moves[i].to), parties, moves[i].slots, options, &progress[i]));
  if (in_turn) {
    for (auto& task : tasks) cluster.loop.run(std::move(task));
  } else {
    cluster.loop.run(rt::all(std::move(tasks)));
  }
  for (const auto& moved : progress)
    if (!moved.trouble.empty()) throw Error(Code::Internal, moved.trouble);
}

void by_redis_cli(Servers& cluster, std::vector<std::string> words) {
  rt::ProcessSpec spec;
  spec.argv = {"redis-cli", "--cluster"};
  spec.argv.insert(spec.argv.end(), words.begin(), words.end());
  const auto result = cluster.loop.run(rt::run_process(spec));
  if (!result.status.ok()) throw Error(Code::Internal, "redis-cli: " + result.out + result.err);
}

void run_one(const std::string& name, int keys_a_migrate, Cluster& cluster) {
  const auto where = cluster.addresses[0] + ":6379";
  const auto pipeline = std::to_string(keys_a_migrate);
  if (name == "kopper" || name == "kopper in turn") {
    by_kopper(cluster, keys_a_migrate, name != "kopper");
  } else if (name == "rebalance") {
    by_redis_cli(cluster, {"rebalance", where, "--cluster-use-empty-masters", "--cluster-pipeline", pipeline});
  } else if (name == "reshard") {
    by_redis_cli(cluster, {"reshard", where, "--cluster-from", "all", "--cluster-to", cluster.id(kMasters - 1),
                           "--cluster-slots", "4096", "--cluster-yes", "--cluster-pipeline", pipeline});
  } else {  // nothing moves
    cluster.loop.run(rt::sleep(10s));
  }
}

// ---- making clusters -----------------------------------------------------------------------------------------------

// What the operator does with pods that have just started.
void form_by_kopper(Servers& servers) {
  Links links;
  Wanted wanted;
  wanted.replicas = wanted.pods = static_cast<int>(servers.addresses.size());
  std::vector<PodFacts> pods(servers.addresses.size());
  for (std::size_t i = 0; i < pods.size(); ++i) {
    pods[i].name = std::to_string(i);
    pods[i].ordinal = static_cast<int>(i);
    pods[i].address = servers.addresses[i];
    pods[i].ready = true;
  }
  while (true) {
    const auto model = servers.loop.run(observe(links, pods, false));
    const auto decision = decide(*model, wanted);
    if (decision.calm) return;
    (void)servers.loop.run(act(links, model, decision, ActOptions()));
    servers.loop.run(rt::sleep(100ms));
  }
}

void form_by_redis_cli(Servers& servers) {
  std::vector<std::string> words = {"create"};
  for (const auto& address : servers.addresses) words.push_back(address + ":6379");
  words.insert(words.end(), {"--cluster-replicas", "1", "--cluster-yes"});
  by_redis_cli(servers, words);
}

// Until every node says ok, and every replica has its master's data.
double time_to_form(std::size_t size, bool ours) {
  Servers servers(size);
  const auto begin = rt::Loop::current().now();
  ours ? form_by_kopper(servers) : form_by_redis_cli(servers);
  servers.wait_until([&] {
    for (std::size_t i = 0; i < size; ++i) {
      if (!servers.at(i, {"CLUSTER", "INFO"}).text.contains("cluster_state:ok")) return false;
      const auto replication = servers.at(i, {"INFO", "replication"}).text;
      if (replication.contains("role:slave") && !replication.contains("master_link_status:up")) return false;
    }
    return true;
  });
  return std::chrono::duration<double>(rt::Loop::current().now() - begin).count();
}

// ---- the table -----------------------------------------------------------------------------------------------------

struct Result {
  std::string name;
  double seconds = 0;
  double cpu = 0;  // of the servers
  std::size_t slots = 0;
  std::int64_t keys = 0;
  std::vector<double> latencies;  // in ms, sorted; of what was due while it ran

  double part(double share) const {
    if (latencies.empty()) return 0;
    return latencies[std::min(latencies.size() - 1,
                              static_cast<std::size_t>(share * static_cast<double>(latencies.size())))];
  }
};

Result measure(const std::string& name, int pipeline, std::size_t keys) {
  Cluster cluster(keys);
  const auto file = std::string(std::filesystem::temp_directory_path() / fmt::format("redis-bench-{}", ::getpid()));
  rt::ProcessSpec spec;
  spec.argv = {"setpriv",
               "--pdeathsig",
               "KILL",
               std::filesystem::read_symlink("/proc/self/exe"),
               "--traffic",
               cluster.addresses[0],
               std::to_string(keys),
               file};
  rt::Process clients(spec);
  cluster.loop.run(rt::sleep(1s));
  Result result;
  result.name = name;
  const auto cpu = cluster.cpu();
  const auto begin = rt::Loop::current().now();
  run_one(name, pipeline, cluster);
  const auto end = rt::Loop::current().now();
  result.cpu = cluster.cpu() - cpu;
  cluster.loop.run(rt::sleep(500ms));
  clients.signal(SIGTERM);
  const auto status = cluster.loop.run(clients.wait());
  if (!status.ok()) throw Error(Code::Internal, "the traffic ended with " + status.str());
  result.seconds = std::chrono::duration<double>(end - begin).count();
  for (const auto& node : cluster.loop.run(nodes_at(cluster.addresses[kMasters - 1])))
    if (node.myself) result.slots = node.slots.size();
  result.keys = cluster.at(kMasters - 1, {"DBSIZE"}).integer;
  std::int64_t all = 0;
  for (std::size_t i = 0; i < kMasters; ++i) all += cluster.at(i, {"DBSIZE"}).integer;
  if (all < static_cast<std::int64_t>(keys))
    throw Error(Code::Internal, fmt::format("{}: {} keys are left", name, all));
  std::ifstream in(file);
  for (std::int64_t due = 0, took = 0; in >> due >> took;)
    if (due >= begin.time_since_epoch().count() && due < end.time_since_epoch().count())
      result.latencies.push_back(static_cast<double>(took) / 1e6);
  std::ranges::sort(result.latencies);
  std::filesystem::remove(file);
  return result;
}

void print(const std::vector<Result>& results) {
  const auto rival = std::ranges::find(results, "rebalance", &Result::name);
  std::cout
      << "\n| | s | CPU s | slots / s | keys / s | requests | p50 ms | p99 ms | p99.9 ms | max ms | x rebalance |\n"
         "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  for (const auto& result : results) {
    const bool moved = result.slots > 0;
    const auto rate = [&](auto count) {
      return moved ? fmt::format("{:.0f}", static_cast<double>(count) / result.seconds) : std::string();
    };
    const bool compare = moved && rival != results.end();
    std::cout << fmt::format("| {} | {:.1f} | {:.1f} | {} | {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.1f} | {} |\n",
                             result.name, result.seconds, result.cpu, rate(result.slots), rate(result.keys),
                             result.latencies.size(), result.part(0.5), result.part(0.99), result.part(0.999),
                             result.part(1), compare ? fmt::format("{:.1f}", rival->seconds / result.seconds) : "");
  }
}

int bench(std::vector<std::string> words) {
  std::size_t keys = 1'000'000;
  if (!words.empty() && std::isdigit(static_cast<unsigned char>(words[0][0])) != 0) {
    keys = std::stoul(words[0]);
    words.erase(words.begin());
  }
  const bool all = words.empty();
  if (all) words = {"nothing moves", "kopper", "kopper in turn", "rebalance", "reshard"};
  for (const int pipeline : {10, 100}) {  // the default of redis-cli, and what a RedisCluster of many keys says
    if (words[0] == "form") break;
    std::vector<Result> results;
    for (const auto& name : words) {
      results.push_back(measure(name, pipeline, keys));
      std::cerr << fmt::format("{}, {} keys a MIGRATE: {:.1f} s\n", name, pipeline, results.back().seconds);
    }
    std::cout << fmt::format("\n{} keys a MIGRATE\n", pipeline);
    print(results);
  }
  if (!all && words[0] != "form") return 0;
  std::cout << "\n| making a cluster of | kopper s | redis-cli s | x |\n|---:|---:|---:|---:|\n";
  for (const std::size_t size : {std::size_t{6}, std::size_t{60}}) {
    const auto ours = time_to_form(size, true);
    const auto theirs = time_to_form(size, false);
    std::cout << fmt::format("| {} | {:.1f} | {:.1f} | {:.1f} |\n", size, ours, theirs, theirs / ours);
  }
  return 0;
}

}  // namespace
}  // namespace redis

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 4 && words[0] == "--traffic") return redis::traffic(words[1], std::stoul(words[2]), words[3]);
    return redis::bench(words);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
