#include <utility>
#include <vector>

#include <fmt/core.h>

#include "kopper/client/watcher.h"
#include "kopper/rt/scope.h"

#include "manifest.h"
#include "selection.h"
#include "verbs.h"

namespace kopper::cmd {
namespace {

struct Target {
  client::ApiResource resource;
  Key key;
};

client::DeleteOptions options_of(const Args& args) {
  client::DeleteOptions options{.grace_period_seconds = args.grace_period, .dry_run = args.dry_run};
  options.propagation = args.cascade == "foreground" ? client::Propagation::Foreground
                        : args.cascade == "orphan"   ? client::Propagation::Orphan
                                                     : client::Propagation::Background;
  return options;
}

Task<std::vector<Target>> targets_of_files(Session* session, const Args* args) {
  std::vector<Target> targets;
  for (const auto& manifest : read_manifests(args->files)) {
    auto resource = co_await find_resource(session, &manifest);
    auto key = key_of(manifest, resource, *session);
    targets.push_back({std::move(resource), std::move(key)});
  }
  co_return targets;
}

Task<std::vector<Target>> targets_of_words(Session* session, const Args* args) {
  auto selection = co_await select(session, args);
  std::vector<Target> targets;
  for (const auto& name : selection.names) targets.push_back({selection.resource, selection.key(name)});
  if (!selection.names.empty()) co_return targets;
  if (args->label_selector.empty() && args->field_selector.empty()) {
    throw Error(Code::Invalid, "say which: names, a selector, or files");
  }
  const auto list = co_await session->client.metadata_of(selection.resource.resource).list(selection.list);
  for (const auto& object : list.items) targets.push_back({selection.resource, client::key_of(object)});
  co_return targets;
}

// Watches rather than asks again and again: returns in the moment the object is gone, finalizers and all.
Task<> until_gone(Session* session, const Target* target) {
  client::WatcherOptions options{.namespace_ = target->key.namespace_,
                                 .field_selector = "metadata.name=" + target->key.name};
  client::Changes<client::PartialObject> changes(session->client.metadata_of(target->resource.resource),
                                                 std::move(options));
  bool there = false;
  while (true) {
    const auto change = co_await changes.next();
    if (change.type == client::ChangeType::Failed && !change.error->retryable()) throw *change.error;
    if (change.type == client::ChangeType::Added) there = true;
    if (change.type == client::ChangeType::Deleted) co_return;
    if (change.type == client::ChangeType::Synced && !there) co_return;
  }
}

Task<bool> delete_one(Session* session, const Args* args, const Target* target) {
  const auto name = display_name(target->resource, target->key.name);
  const auto options = options_of(*args);
  const bool was_there = co_await session->client.of(target->resource.resource).remove(target->key, options);
  if (!was_there) {
    if (!args->ignore_not_found) fmt::print(stderr, "error: {} not found\n", name);
    co_return args->ignore_not_found;
  }
  fmt::print("{} deleted{}\n", name, args->dry_run ? " (dry run)" : "");
  if (args->wait && !args->dry_run) co_await rt::timeout(args->timeout, until_gone(session, target));
  co_return true;
}

}  // namespace

Task<int> run_delete(Session* session, const Args* args) {
  if (args->files.empty() == args->resource.empty()) {
    throw Error(Code::Invalid, "say what to delete: a kind and names, or -f FILE");
  }
  std::vector<Target> targets;
  if (args->files.empty()) {
    targets = co_await targets_of_words(session, args);
  } else {
    targets = co_await targets_of_files(session, args);
  }
  if (targets.empty()) fmt::print(stderr, "No resources found\n");
  int worst = 0;
  for (const auto& target : targets) {
    const bool gone = co_await delete_one(session, args, &target);
    if (!gone) worst = 1;
  }
  co_return worst;
}

}  // namespace kopper::cmd
