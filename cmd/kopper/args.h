#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kopper::cmd {

enum class Verb : std::uint8_t { Get, Apply, Delete, Watch, Version, Cluster, Up };
enum class Output : std::uint8_t { Table, Wide, Json, Yaml, Name };

// What a command line asks for. Fields that a verb has no flag for keep their defaults.
struct Args {
  Verb verb = Verb::Version;

  // Which cluster, as whom.
  std::string kubeconfig;
  std::string context;
  std::string as_user;
  std::vector<std::string> as_groups;
  std::chrono::seconds timeout{60};

  // What.
  std::string resource;  // "pods", "po", "deploy.apps", "pods/web"
  std::vector<std::string> names;
  std::vector<std::string> files;  // "-" is standard input
  std::string namespace_;
  bool all_namespaces = false;
  std::string label_selector;
  std::string field_selector;

  // How.
  Output output = Output::Table;
  bool no_headers = false;
  bool dry_run = false;
  bool client_only = false;
  std::string field_manager = "kopper-cli";
  bool force_conflicts = false;
  std::string cascade = "background";
  std::optional<std::int64_t> grace_period;
  bool ignore_not_found = false;
  bool wait = false;
  // The local cluster.
  std::uint16_t port = 0;
  std::string data_dir;
  std::string token_file;
  std::size_t history = 0;     // 0: the server's own choice
  std::string version_compat;  // "1.20"; empty: the newest
  std::chrono::seconds event_ttl{3600};
  bool debug_faults = false;
  // The living one.
  bool demo = false;
  bool until_ready = false;
  std::chrono::seconds up_timeout{120};
  std::vector<std::string> operators;  // none: all
  std::size_t nodes = 1;
  std::string image_map;                // a file
  std::vector<std::string> host_paths;  // what pods may see of the machine

  bool initial = true;  // watch: show what is there first
};

// Reads the command line. When there is nothing to run (--help, a mistake), prints why and returns the exit code.
struct Parsed {
  std::optional<Args> args;
  int exit_code = 0;
};
Parsed parse_args(int argc, char** argv);

}  // namespace kopper::cmd
