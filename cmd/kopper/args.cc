#include "args.h"

#include <map>

#include <CLI/CLI.hpp>

#include "kopper/base/duration.h"

namespace kopper::cmd {
namespace {

const std::map<std::string, Output> kOutputs{{"table", Output::Table},
                                             {"wide", Output::Wide},
                                             {"json", Output::Json},
                                             {"yaml", Output::Yaml},
                                             {"name", Output::Name}};

void add_connection(CLI::App& app, Args& args) {
  app.add_option("--kubeconfig", args.kubeconfig,
                 "Path to the kubeconfig (default: $KUBECONFIG, in-cluster, ~/.kube/config)");
  app.add_option("--context", args.context, "Context of the kubeconfig to use");
  app.add_option("--as", args.as_user, "Act as this user");
  app.add_option("--as-group", args.as_groups, "Act as a member of this group (repeatable)");
  app.add_option_function<int>(
         "--timeout", [&args](int seconds) { args.timeout = std::chrono::seconds(seconds); },
         "Seconds to wait for the cluster before giving up")
      ->default_str("60")
      ->check(CLI::PositiveNumber);
}

void add_namespace(CLI::App& verb, Args& args) {
  verb.add_option("-n,--namespace", args.namespace_, "Namespace (default: the context's)");
}

void add_selection(CLI::App& verb, Args& args) {
  verb.add_option("resource", args.resource,
                  "Kind, plural or short name, with its group if need be: po, deployments.apps, pods/web")
      ->required();
  verb.add_option("name", args.names, "Names of objects");
  add_namespace(verb, args);
  verb.add_flag("-A,--all-namespaces", args.all_namespaces, "In all namespaces");
  verb.add_option("-l,--selector", args.label_selector, "Label selector: app=web,tier in (a,b),!canary");
  verb.add_option("--field-selector", args.field_selector, "Field selector: metadata.name=web");
}

void add_output(CLI::App& verb, Args& args) {
  verb.add_option("-o,--output", args.output, "table, wide, json, yaml or name")
      ->transform(CLI::CheckedTransformer(kOutputs).description(""))
      ->type_name("FORMAT");
}

CLI::App* add_get(CLI::App& app, Args& args) {
  auto* verb = app.add_subcommand("get", "Show objects");
  add_selection(*verb, args);
  add_output(*verb, args);
  verb->add_flag("--no-headers", args.no_headers, "Leave the header line out");
  verb->add_flag("--ignore-not-found", args.ignore_not_found, "An object that is not there is no error");
  return verb;
}

CLI::App* add_apply(CLI::App& app, Args& args) {
  auto* verb = app.add_subcommand("apply", "Make objects be as files say (server-side apply)");
  verb->add_option("-f,--filename", args.files, "File, folder or - for standard input (repeatable)")->required();
  add_namespace(*verb, args);
  add_output(*verb, args);
  verb->add_option("--field-manager", args.field_manager, "Who owns the fields")->capture_default_str();
  verb->add_flag("--force-conflicts", args.force_conflicts, "Take fields that others own");
  verb->add_flag("--dry-run", args.dry_run, "Ask the server, change nothing");
  return verb;
}

CLI::App* add_delete(CLI::App& app, Args& args) {
  auto* verb = app.add_subcommand("delete", "Delete objects by name, selector or file");
  add_selection(*verb, args);
  verb->get_option("resource")->required(false);
  verb->add_option("-f,--filename", args.files, "Delete what these files name (repeatable)");
  verb->add_option("--cascade", args.cascade, "What happens to owned objects: background, foreground or orphan")
      ->check(CLI::IsMember({"background", "foreground", "orphan"}).description(""))
      ->capture_default_str();
  verb->add_option("--grace-period", args.grace_period, "Seconds a pod is given to stop");
  verb->add_flag("--ignore-not-found", args.ignore_not_found, "An object that is not there is no error");
  verb->add_flag("--wait", args.wait, "Return when the objects are gone");
  verb->add_flag("--dry-run", args.dry_run, "Ask the server, change nothing");
  return verb;
}

CLI::App* add_watch(CLI::App& app, Args& args) {
  auto* verb = app.add_subcommand("watch", "Follow changes until stopped; goes on over disconnects");
  add_selection(*verb, args);
  add_output(*verb, args);
  verb->add_flag("!--only-changes", args.initial, "Do not show what is there already");
  return verb;
}

CLI::App* add_cluster(CLI::App& app, Args& args) {
  auto* verb = app.add_subcommand("cluster", "Run a local API server to develop on, until stopped");
  verb->add_option("--port", args.port, "Port on 127.0.0.1 (default: one that is free)");
  verb->add_option("--data-dir", args.data_dir, "Keep objects and keys in this folder (default: in memory)");
  verb->add_option("--token-auth-file", args.token_file, "Who else may log in: lines of token,user,uid,\"group,group\"")
      ->check(CLI::ExistingFile.description(""));
  verb->add_option("--watch-history", args.history,
                   "How many changes of each kind a watch may go back (default: 10000)");
  verb->add_option_function<std::string>(
          "--event-ttl",
          [&args](const std::string& text) {
            const auto read = parse_duration(text);
            if (!read) throw CLI::ValidationError("--event-ttl", "say 90s, 30m or 1h30m");
            args.event_ttl = *read;
          },
          "How long Events are kept after their last write; 0: for ever (default: 1h)")
      ->type_name("DURATION");
  verb->add_option("--kubernetes-version-compat", args.version_compat,
                   "Say to be this version, and behave as it did where clients of that time must see it (1.20)")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const bool right = text.size() > 2 && text.size() < 5 && text.starts_with("1.") &&
                               text.find_first_not_of("0123456789", 2) == std::string::npos;
            return right ? std::string() : "say 1.20 or the like";
          },
          ""))
      ->type_name("1.N");
  verb->add_flag("--debug-faults", args.debug_faults,
                 "Let administrators make things go wrong (/debug/faults, /debug/clock)");
  verb->footer("--kubeconfig names the file to write (mode 0600; default: kopper.kubeconfig)");
  return verb;
}

CLI::App* add_up(CLI::App& app, Args& args) {
  auto* verb = app.add_subcommand(
      "up", "Run a local cluster whose pods are programs of this machine, with Kopper's operators, until stopped");
  verb->add_flag("--demo", args.demo, "Apply the operators' samples and show how they become ready");
  verb->add_option("--operators", args.operators, "Which ones to run, separated by commas, or none (default: all)")
      ->delimiter(',');
  verb->add_option("--nodes", args.nodes, "How many logical nodes")->check(CLI::Range(1, 100))->capture_default_str();
  verb->add_option("--data-dir", args.data_dir,
                   "Keep objects, keys and volumes in this folder, and go on from there (default: nothing is kept)");
  verb->add_flag("--until-ready", args.until_ready,
                 "End with 0 when all custom resources are ready; with 3 after --timeout, naming what is not");
  verb->add_option_function<std::string>(
          "--timeout",
          [&args](const std::string& text) {
            const auto read = parse_duration(text);
            if (!read) throw CLI::ValidationError("--timeout", "say 90s, 5m or 1h30m");
            args.up_timeout = *read;
          },
          "How long to wait for them (default: 2m)")
      ->type_name("DURATION");
  verb->add_option("--port", args.port, "Port of the API server on 127.0.0.1 (default: one that is free)");
  verb->add_option("--token-auth-file", args.token_file, "Who else may log in: lines of token,user,uid,\"group,group\"")
      ->check(CLI::ExistingFile.description(""));
  verb->add_option("--image-map", args.image_map,
                   "A file that says which programs images stand for: images: [{name, entrypoint, program, package}]")
      ->check(CLI::ExistingFile.description(""));
  verb->add_option("--allow-host-path", args.host_paths, "A folder that pods may mount, read-only (repeatable)");
  verb->footer("--kubeconfig names the file to write (mode 0600; default: kopper.kubeconfig)");
  return verb;
}

CLI::App* add_version(CLI::App& app, Args& args) {
  auto* verb = app.add_subcommand("version", "Show the version of kopper and of the cluster");
  verb->add_flag("--client", args.client_only, "Only kopper's own");
  add_output(*verb, args);
  return verb;
}

}  // namespace

Parsed parse_args(int argc, char** argv) {
  Args args;
  CLI::App app("kopper: talk to a Kubernetes API server", "kopper");
  app.require_subcommand(1);
  app.fallthrough();  // so that the options of all verbs may stand after the verb too
  add_connection(app, args);
  app.get_formatter()->column_width(34);
  app.footer("Exit codes: 0 ok, 1 failure, 2 usage, 3 time-out, 4 conflict, 5 invalid input, 6 cluster unreachable");
  const std::pair<CLI::App*, Verb> verbs[] = {{add_get(app, args), Verb::Get},
                                              {add_apply(app, args), Verb::Apply},
                                              {add_delete(app, args), Verb::Delete},
                                              {add_watch(app, args), Verb::Watch},
                                              {add_version(app, args), Verb::Version},
                                              {add_cluster(app, args), Verb::Cluster},
                                              {add_up(app, args), Verb::Up}};
  for (const auto& [app_verb, verb] : verbs)
    if (verb != Verb::Cluster && verb != Verb::Up) app_verb->footer("Options of every verb: kopper --help");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return {std::nullopt, app.exit(error) == 0 ? 0 : 2};
  }
  for (const auto& [app_verb, verb] : verbs) {
    if (app_verb->parsed()) args.verb = verb;
  }
  return {std::move(args), 0};
}

}  // namespace kopper::cmd
