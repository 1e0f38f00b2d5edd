#include <csignal>
#include <cstdio>
#include <vector>

#include <fmt/core.h>

#include "kopper/client/watcher.h"
#include "kopper/json/yaml.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/signal.h"

#include "selection.h"
#include "verbs.h"

namespace kopper::cmd {
namespace {

using client::ChangeType;

std::string_view type_name(ChangeType type) {
  switch (type) {
    case ChangeType::Added: return "ADDED";
    case ChangeType::Modified: return "MODIFIED";
    case ChangeType::Deleted: return "DELETED";
    case ChangeType::Synced: return "SYNCED";
    case ChangeType::Failed: return "FAILED";
  }
  return "";
}

// Each change is flushed at once: whoever reads the pipe waits for it.
void print_change(const client::Change<json::Value>& change, const Selection& selection, Output output) {
  json::Value object = change.object.value_or(
      json::Object{{"metadata", json::Object{{"name", change.key.name}, {"namespace", change.key.namespace_}}}});
  if (auto* metadata = object["metadata"].as_object()) metadata->erase("managedFields");
  switch (output) {
    case Output::Json:
      fmt::print("{}\n", json::dump(json::Object{{"type", type_name(change.type)}, {"object", std::move(object)}}));
      break;
    case Output::Yaml:
      fmt::print("---\n{}",
                 json::to_yaml(json::Object{{"type", type_name(change.type)}, {"object", std::move(object)}}));
      break;
    case Output::Name: fmt::print("{}\n", display_name(selection.resource, change.key.name)); break;
    case Output::Table:
    case Output::Wide:
      fmt::print("{:<9} {:<40} {}\n", type_name(change.type), change.key.str(),
                 object["metadata"].text("resourceVersion"));
      break;
  }
  std::fflush(stdout);
}

// What no waiting will mend, found out before anything was shown.
bool hopeless(const Error& error) { return !error.retryable() && error.code != Code::Gone; }

Task<> follow(Session* session, const Args* args, const Selection* selection) {
  client::WatcherOptions options{.namespace_ = selection->namespace_,
                                 .label_selector = args->label_selector,
                                 .field_selector = args->field_selector};
  if (!selection->names.empty()) options.field_selector = "metadata.name=" + selection->names.front();
  client::Changes<json::Value> changes(session->client.of(selection->resource.resource), std::move(options));
  bool synced = false;
  while (true) {
    const auto change = co_await changes.next();
    if (change.type == ChangeType::Synced) {
      synced = true;
    } else if (change.type == ChangeType::Failed) {
      if (!synced && hopeless(*change.error)) throw *change.error;
      fmt::print(stderr, "warning: {}; going on\n", change.error->what());
    } else if (synced || args->initial) {
      print_change(change, *selection, args->output);
    }
  }
}

Task<int> until_signal() {
  const std::vector<int> signals{SIGINT, SIGTERM};
  co_await rt::wait_signal(signals);
  co_return 0;
}

Task<int> follow_for_ever(Session* session, const Args* args, const Selection* selection) {
  co_await follow(session, args, selection);
  co_return 0;
}

}  // namespace

Task<int> run_watch(Session* session, const Args* args) {
  const auto selection = co_await select(session, args);
  if (selection.names.size() > 1) throw Error(Code::Invalid, "watch takes one name, or none");
  std::vector<Task<int>> either;
  either.push_back(follow_for_ever(session, args, &selection));
  either.push_back(until_signal());
  co_return co_await rt::race(std::move(either));
}

}  // namespace kopper::cmd
