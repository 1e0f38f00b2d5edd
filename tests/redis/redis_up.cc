#include "redis/redis_up.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>

#include <unistd.h>

namespace redis::testing {
namespace {

using kopper::json::Value;
using kopper::testing::cluster;

// Failovers are quick, and what was answered survives the process.
constexpr const char* kSettings = R"(apiVersion: v1
kind: ConfigMap
metadata: {name: rc-settings}
data:
  redis.conf: |
    cluster-node-timeout 2000
    appendfsync no
)";

constexpr const char* kCluster = R"(apiVersion: redis.middleware.hc.cn/v1alpha1
kind: RedisCluster
metadata: {name: rc}
spec:
  replicas: %
  repository: redis
  version: "7"
  storage: {size: 64Mi}
  updateStrategy: {pipeline: "20"}
  pod:
  - configmap: rc-settings
)";

std::string with_number(std::string text, std::size_t number) {
  return text.replace(text.find('%'), 1, std::to_string(number));
}

std::string log_file() {
  return (std::filesystem::temp_directory_path() / ("kopper-redis-manager-" + std::to_string(::getpid()))).string();
}

// Not of one test: the program's.
bool prepared = false;

std::string text_of(const Value& value, std::string_view key) { return std::string(value.text(key)); }

}  // namespace

void RedisUp::SetUp() {
  ns = "redis";
  if (prepared) return;
  prepared = true;
  cluster().kubectl({"create", "namespace", ns});
  if (kubectl({"get", "crd", "redisclusters.redis.middleware.hc.cn"}).exit != 0) {
    const auto crds = run_program({KOPPER_OPERATOR_MANAGER, "--print-crds", "--operators=rediscluster"});
    ok({"apply", "-f", "-"}, crds.out);
    wait("crd/redisclusters.redis.middleware.hc.cn", "condition=Established");
  }
  ok({"apply", "-f", "-"}, kSettings);
}

void RedisUp::TearDown() {
  load.reset();
  if (!HasFailure()) return;
  std::cerr << ok({"get", "rec", "rc", "-o", "yaml"}) << ok({"get", "pods", "-o", "wide"})
            << ok({"get", "events", "--field-selector", "involvedObject.kind=RedisCluster"});
  for (const Pod& pod : pods())
    std::cerr << pod.name << " " << pod.address << "\n" << ask(pod.address, {"CLUSTER", "NODES"}).str() << "\n";
  std::cerr << manager_log();
}

void RedisUp::have(std::size_t size) {
  if (kubectl({"get", "rec", "rc"}).exit != 0)
    ok({"apply", "-f", "-"}, with_number(kCluster, size));
  else
    change("\"pause\":false,\"updateStrategy\":{\"type\":\"AutoReceive\",\"assignStrategies\":null},\"replicas\":" +
           std::to_string(size));
  settle(size);
}

void RedisUp::change(const std::string& spec) {
  ok({"patch", "rec", "rc", "--type=merge", "-p", "{\"spec\":{" + spec + "}}"});
}

std::vector<Pod> RedisUp::pods() {
  std::vector<Pod> out;
  const auto list = kopper::json::parse(kubectl({"get", "pods", "-l", "app=rc", "-o", "json"}).out);
  if (!list) return out;
  const Value& parsed = *list;
  const auto* items = parsed["items"].as_array();
  if (items == nullptr) return out;
  for (const Value& item : *items) {
    if (!item["metadata"].text("deletionTimestamp").empty() || item["status"].text("podIP").empty()) continue;
    out.push_back({text_of(item["metadata"], "name"), text_of(item["status"], "podIP"),
                   text_of(item["metadata"], "uid"), text_of(item["spec"]["containers"][0], "image")});
  }
  if (load) {
    std::vector<std::string> known;
    for (const Pod& pod : out) known.push_back(pod.address);
    load->know(known);
  }
  return out;
}

std::vector<std::string> RedisUp::addresses() {
  std::vector<std::string> out;
  for (const Pod& pod : pods()) out.push_back(pod.address);
  return out;
}

Answer RedisUp::ask(const std::string& address, const std::vector<std::string>& words) {
  try {
    return BlockingClient(address).call(words);
  } catch (const Broken& broken) {
    Answer out;
    out.kind = Answer::Kind::Error;
    out.text = broken.what();
    return out;
  }
}

Value RedisUp::resource() {
  return kopper::json::parse(kubectl({"get", "rec", "rc", "-o", "json"}).out).value_or(Value());
}

std::string RedisUp::condition(const std::string& type) {
  return kubectl({"get", "rec", "rc", "-o", "jsonpath={.status.conditions[?(@.type==\"" + type + "\")].status}"}).out;
}

std::vector<NodeSeen> RedisUp::nodes() {
  for (const std::string& address : addresses())
    if (const Answer answer = ask(address, {"CLUSTER", "NODES"}); !answer.is_error()) return read_nodes(answer.text);
  return {};
}

NodeSeen RedisUp::node(const std::string& address) {
  for (NodeSeen& seen : nodes())
    if (seen.address == address) return seen;
  ADD_FAILURE() << "no node at " << address;
  return {};
}

std::vector<std::size_t> RedisUp::slot_counts() {
  std::vector<std::size_t> out;
  for (const NodeSeen& seen : nodes())
    if (seen.slots.any()) out.push_back(seen.slots.count());
  std::sort(out.begin(), out.end());
  return out;
}

std::pair<std::string, std::string> RedisUp::open_slot() {
  for (const std::string& address : addresses())
    for (const NodeSeen& seen : read_nodes(ask(address, {"CLUSTER", "NODES"}).text))
      if (!seen.open.empty()) return {address, seen.open.front()};
  return {};
}

std::string RedisUp::status_difference() {
  const Value object = resource();
  const auto* conditions = object["status"]["conditions"].as_array();
  if (conditions == nullptr) return "no conditions";
  std::map<std::string, const Value*> told;
  for (const Value& entry : *conditions)
    if (!entry.text("nodeId").empty()) told[text_of(entry, "nodeId")] = &entry;
  const auto seen = nodes();
  std::map<std::string, std::string> names;
  for (const Pod& pod : pods()) names[pod.address] = pod.name;
  std::string out;
  for (const NodeSeen& node : seen) {
    const auto found = told.find(node.id);
    if (found == told.end()) {
      out += node.id + " is not in the status\n";
      continue;
    }
    const auto compare = [&](const std::string& field, const std::string& expected) {
      const std::string value = text_of(*found->second, field);
      if (value != expected) out += node.id + ": " + field + " is " + value + ", not " + expected + "\n";
    };
    compare("name", names[node.address]);
    compare("instance", node.address + ":6379");
    compare("type", node.is("master") ? "master" : "slave");
    compare("masterNodeId", node.master);
    compare("slots", node.slots_text);
    compare("status", "True");
  }
  if (told.size() != seen.size()) out += std::to_string(told.size()) + " nodes are in the status\n";
  return out;
}

void RedisUp::settle(std::size_t size) {
  Expected expected;
  expected.masters = size / 2;
  const auto all = [&]() -> std::vector<std::string> {
    std::vector<std::string> out = addresses();
    if (out.size() != size) out.emplace_back("0.0.0.0");  // which does not answer
    return out;
  };
  ASSERT_EQ(wait_for_invariants(all, expected, std::chrono::seconds(90)), "");
  ASSERT_TRUE(eventually([&] {
    const Value object = resource();
    return object["status"].text("phase") == "Running" && condition("Ready") == "True" &&
           object["status"]["observedGeneration"] == object["metadata"]["generation"];
  })) << kubectl({"get", "rec", "rc", "-o", "yaml"}).out;
  std::string difference;
  EXPECT_TRUE(eventually([&] { return (difference = status_difference()).empty(); }, std::chrono::seconds(30)))
      << difference;
  EXPECT_EQ(broken_invariants(addresses(), expected), "") << "still";
  const Finished check = run_program({"redis-cli", "--cluster", "check", addresses().front() + ":6379"});
  EXPECT_EQ(check.exit, 0) << check.out;
}

Load& RedisUp::write(int replicas) {
  static int times = 0;
  LoadOptions options;
  options.prefix = "load" + std::to_string(++times);
  options.replicas = replicas;
  load = std::make_unique<Load>(addresses(), options);
  load->start();
  return *load;
}

void RedisUp::verify() {
  EXPECT_TRUE(load->wait_for(1000)) << "writers go on";
  EXPECT_EQ(load->verify(), "");
  std::cout << "  " << load->acknowledged() << " writes, longest " << load->longest_of_all().count() << " ms, p99 "
            << load->latency(99).count() << " us\n";
}

std::unique_ptr<Process> RedisUp::manager(std::vector<std::string> more) {
  const char* other = std::getenv("KOPPER_MANAGER");
  std::vector<std::string> command{other != nullptr ? other : KOPPER_OPERATOR_MANAGER,
                                   "--kubeconfig",
                                   cluster().kubeconfig(),
                                   "--operators=rediscluster",
                                   "--namespace=" + ns,
                                   "--health-probe-bind-address=0",
                                   "--metrics-bind-address=0"};
  command.insert(command.end(), more.begin(), more.end());
  return std::make_unique<Process>(std::move(command), log_file());
}

std::string RedisUp::manager_log() {
  std::ifstream file(log_file());
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  return all.size() > 20000 ? all.substr(all.size() - 20000) : all;
}

}  // namespace redis::testing
