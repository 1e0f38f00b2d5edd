#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/client/api.h"
#include "kopper/client/manifests.h"
#include "kopper/json/yaml.h"
#include "kopper/local/cluster.h"
#include "kopper/rt/file.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/signal.h"
#include "kopper/rt/terminal.h"

#include "operators/catalog.h"
#include "progress.h"
#include "verbs.h"

namespace kopper::cmd {
namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 100ms;   // how often the table is made anew
constexpr auto kPodsEnd = 10s;  // for pods to end by themselves
constexpr const char* kNext =
    "\nTry, in another terminal:\n"
    "  export KUBECONFIG={0}\n"
    "  kubectl get pods -o wide                              the programs, each with an address of its own\n"
    "  kubectl scale memcached demo --replicas 5             (kopper get memcacheds, where there is no kubectl)\n"
    "  kubectl delete pod -l app=memcached                   they come back\n"
    "  kubectl logs deployment/demo; kubectl exec -it deployment/demo -- sh\n"
    "  kubectl scale rec demo-redis --replicas 8             slots move to a new master while clients write\n"
    "  kubectl exec -it demo-redis-0 -- sh -c 'redis-cli -c -h $PODIP'\n"
    "Ctrl-C stops all of it.\n";

// Those of --operators; all of them when none are named.
std::vector<operators::Entry> chosen(const std::vector<std::string>& names) {
  auto all = operators::catalog();
  if (names == std::vector<std::string>{"none"}) return {};
  for (const auto& name : names) {
    if (std::ranges::find(all, name, &operators::Entry::name) != all.end()) continue;
    std::vector<std::string> known;
    for (const auto& entry : all) known.push_back(entry.name);
    throw Error(Code::Invalid, fmt::format("--operators: there is no {}; there are {}", name, fmt::join(known, ", ")));
  }
  if (!names.empty()) {
    std::erase_if(all, [&](const auto& entry) { return std::ranges::find(names, entry.name) == names.end(); });
  }
  return all;
}

workloads::ImageMap images_of(const Args& args) {
  auto images = workloads::ImageMap::defaults();
  if (args.image_map.empty()) return images;
  try {
    auto file = json::parse_yaml(rt::read_file(args.image_map));
    if (!file) throw_error(file.error());
    for (const auto& document : *file) images.add(document.value);
  } catch (Error& error) {
    throw std::move(error.with(args.image_map));
  }
  return images;
}

local::ClusterOptions cluster_options(const Args& args, const std::vector<operators::Entry>& entries) {
  local::ClusterOptions options;
  options.server.port = args.port;
  options.server.data_dir = args.data_dir;
  options.server.token_file = args.token_file;
  options.server.plane.event_ttl = args.event_ttl;
  options.nodes = args.nodes;
  options.images = images_of(args);
  options.host_paths = args.host_paths;
  options.operators.name = "operator-manager";
  for (const auto& entry : entries) {
    options.operators.controllers.push_back(entry.controller);
    if (entry.webhooks != nullptr) entry.webhooks(options.operators.webhooks);
  }
  return options;
}

Task<std::vector<ProgressRow>> look(client::Client client, const std::vector<operators::Entry>* entries) {
  std::vector<ProgressRow> rows;
  for (const auto& entry : *entries) {
    const auto api = client.of(client::resource_of(*entry.controller.kind));
    const auto list = co_await api.list();
    for (const auto& object : list.items) rows.push_back(progress_of(object));
  }
  co_return rows;
}

// One table that is drawn again in a terminal; elsewhere a line for each change.
class Show {
 public:
  void update(const std::vector<ProgressRow>& rows) {
    if (rows == rows_) return;
    if (rt::is_terminal(stdout)) {
      if (lines_ > 0) fmt::print("\x1b[{}A\x1b[J", lines_);
      const auto table = progress_table(rows);
      fmt::print("{}", table);
      lines_ = static_cast<std::size_t>(std::ranges::count(table, '\n'));
    } else {
      for (const auto& row : rows) {
        if (std::ranges::find(rows_, row) == rows_.end()) fmt::print("  {}\n", progress_line(row));
      }
    }
    std::fflush(stdout);
    rows_ = rows;
  }
  // Where no table was drawn, the last state is shown as one.
  void finish() const {
    if (!rt::is_terminal(stdout)) fmt::print("\n{}", progress_table(rows_));
  }
  const std::vector<ProgressRow>& rows() const { return rows_; }

 private:
  std::vector<ProgressRow> rows_;
  std::size_t lines_ = 0;
};

// Draws until everything is ready; for ever when `keep_on`.
Task<> follow(client::Client client, const std::vector<operators::Entry>* entries, Show* show, bool keep_on) {
  for (;;) {
    const auto rows = co_await look(client, entries);
    show->update(rows);
    if (!keep_on && all_ready(rows)) co_return;
    co_await rt::sleep(kLook);
  }
}

Task<std::string> told_to_stop() {
  co_await rt::wait_stop_signal();
  co_return "";
}

// "" when somebody asked for it, else why.
Task<std::string> until_stopped(local::Cluster* cluster) {
  std::vector<Task<std::string>> ends;
  ends.push_back(told_to_stop());
  ends.push_back(cluster->failure());
  co_return co_await rt::race(std::move(ends));
}

// True when all were ready in time.
Task<bool> until_ready(client::Client client, const std::vector<operators::Entry>* entries, Show* show,
                       std::chrono::seconds limit) {
  try {
    co_await rt::timeout(limit, follow(client, entries, show, false));
    co_return true;
  } catch (const Error& error) {
    if (error.code != Code::Timeout) throw;
  }
  co_return false;
}

Task<std::string> ready_or_not(client::Client client, const std::vector<operators::Entry>* entries, Show* show,
                               std::chrono::seconds limit) {
  const bool ready = co_await until_ready(client, entries, show, limit);
  co_return ready ? "ready" : "not ready";
}

Task<int> demo(local::Cluster* cluster, const Args* args, const std::vector<operators::Entry>* entries,
               const std::string* kubeconfig) {
  const auto began = rt::Loop::current().now();
  Show show;
  if (args->demo) {
    for (const auto& entry : *entries) {
      co_await client::apply_manifests(cluster->client(), std::string(entry.sample), "default");
    }
  }
  std::vector<Task<std::string>> ends;
  ends.push_back(until_stopped(cluster));
  ends.push_back(ready_or_not(cluster->client(), entries, &show, args->up_timeout));
  const auto how = co_await rt::race(std::move(ends));
  show.finish();
  const std::chrono::duration<double> took = rt::Loop::current().now() - began;
  if (how == "ready") {
    fmt::print("all are ready after {:.1f} s\n", took.count());
    if (args->until_ready) co_return 0;
  } else if (how == "not ready") {
    for (const auto& row : show.rows()) {
      if (!row.is_ready())
        fmt::print(stderr, "not ready after {} s: {}\n", args->up_timeout.count(), progress_line(row));
    }
    if (show.rows().empty()) fmt::print(stderr, "there is nothing to wait for: --demo applies the samples\n");
    if (args->until_ready) co_return 3;
  } else {
    if (!how.empty()) throw Error(Code::Internal, how);
    co_return 0;
  }
  fmt::print(kNext, *kubeconfig);
  std::fflush(stdout);
  const auto why = co_await until_stopped(cluster);
  if (!why.empty()) throw Error(Code::Internal, why);
  co_return 0;
}

}  // namespace

Task<int> run_up(const Args* args) {
  const auto entries = chosen(args->operators);
  local::Cluster cluster(cluster_options(*args, entries));
  co_await cluster.start();
  const std::string path =
      std::filesystem::absolute(args->kubeconfig.empty() ? "kopper.kubeconfig" : args->kubeconfig).string();
  rt::write_file_atomic(path, cluster.server().kubeconfig(), 0600);
  fmt::print("kopper is up at {}: {}, for development, on this machine only\n", cluster.server().url(),
             args->nodes == 1 ? "one node" : fmt::format("{} nodes", args->nodes));
  fmt::print("  {}\n", args->data_dir.empty() ? "objects and volumes end with it (--data-dir keeps them)"
                                              : fmt::format("objects and volumes are kept in {}", args->data_dir));
  fmt::print("  export KUBECONFIG={}\n\n", path);
  std::fflush(stdout);
  int code = 0;
  std::optional<Error> failure;
  try {
    if (args->demo || args->until_ready) {
      code = co_await demo(&cluster, args, &entries, &path);
    } else {
      const auto why = co_await until_stopped(&cluster);
      if (!why.empty()) failure.emplace(Code::Internal, why);
    }
  } catch (const Error& error) {
    failure = error;
  }
  co_await cluster.stop(kPodsEnd);
  if (failure) throw *failure;
  co_return code;
}

}  // namespace kopper::cmd
