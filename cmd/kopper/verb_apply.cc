#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "kopper/client/watcher.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

#include "manifest.h"
#include "selection.h"
#include "verbs.h"

namespace kopper::cmd {
namespace {

using namespace std::chrono_literals;

constexpr auto kEstablishLimit = 30s;

bool is_crd(const Manifest& manifest) {
  return manifest.kind() == "CustomResourceDefinition" && manifest.api_version().starts_with("apiextensions.k8s.io/");
}

bool established(const json::Value& crd) {
  const auto* conditions = crd["status"]["conditions"].as_array();
  if (conditions == nullptr) return false;
  for (const auto& condition : *conditions) {
    if (condition.text("type") == "Established") return condition.text("status") == "True";
  }
  return false;
}

// So that a file may hold a definition and, below it, objects of that kind.
Task<> until_established(Session* session, const client::ApiResource* crds, const std::string* name) {
  client::WatcherOptions options{.field_selector = "metadata.name=" + *name};
  client::Changes<json::Value> changes(session->client.of(crds->resource), std::move(options));
  while (true) {
    const auto change = co_await changes.next();
    if (change.object && established(*change.object)) co_return;
    if (change.type == client::ChangeType::Failed && !change.error->retryable()) throw *change.error;
  }
}

// Discovery lags behind Established for a moment.
Task<client::ApiResource> find_new_resource(Session* session, const Manifest* manifest) {
  for (auto pause = 20ms;; pause *= 2) {
    try {
      co_return co_await find_resource(session, manifest);
    } catch (const Error& error) {
      if (error.code != Code::NotFound || pause > 3s) throw;
    }
    co_await rt::sleep(pause);
  }
}

class Applier {
 public:
  Applier(Session& session, const Args& args) : session_(session), args_(args) {}

  Task<> apply(const Manifest* manifest) {
    const auto resource = co_await find(manifest);
    const auto api = session_.client.of(resource.resource);
    const auto key = key_of(*manifest, resource, session_);
    json::Value object = manifest->object;
    if (resource.resource.namespaced) object["metadata"]["namespace"] = key.namespace_;
    const client::ApplyOptions options{
        .field_manager = args_.field_manager, .force = args_.force_conflicts, .dry_run = args_.dry_run};
    const auto before = co_await api.find(key);
    const auto after = co_await api.apply(std::move(object), options);
    report(resource, key, before, after);
    if (is_crd(*manifest) && !args_.dry_run) {
      const auto name = key.name;
      co_await rt::timeout(kEstablishLimit, until_established(&session_, &resource, &name));
      fresh_groups_.insert(std::string(manifest->object["spec"].text("group")));
    }
  }

 private:
  Task<client::ApiResource> find(const Manifest* manifest) {
    return fresh_groups_.contains(group_of(*manifest)) ? find_new_resource(&session_, manifest)
                                                       : find_resource(&session_, manifest);
  }

  static std::string group_of(const Manifest& manifest) {
    const auto slash = manifest.api_version().find('/');
    return std::string(slash == std::string_view::npos ? "" : manifest.api_version().substr(0, slash));
  }

  void report(const client::ApiResource& resource, const Key& key, const std::optional<json::Value>& before,
              const json::Value& after) {
    if (args_.output == Output::Json || args_.output == Output::Yaml) {
      if (args_.output == Output::Yaml) fmt::print("---\n");
      return print_object(after, args_.output);
    }
    if (args_.output == Output::Name) return fmt::print("{}\n", display_name(resource, key.name));
    const bool same =
        before && (*before)["metadata"].text("resourceVersion") == after["metadata"].text("resourceVersion");
    fmt::print("{} {}{}\n", display_name(resource, key.name),
               !before ? "created"
               : same  ? "unchanged"
                       : "configured",
               args_.dry_run ? " (dry run)" : "");
  }

  Session& session_;
  const Args& args_;
  std::set<std::string> fresh_groups_;
};

}  // namespace

// One bad object does not stop the others; the exit code is that of the first that failed.
Task<int> run_apply(Session* session, const Args* args) {
  const auto manifests = read_manifests(args->files);
  Applier applier(*session, *args);
  int worst = 0;
  for (const auto& manifest : manifests) {
    std::optional<Error> failed;
    try {
      co_await applier.apply(&manifest);
    } catch (const Error& error) {
      failed = error;
    }
    if (!failed) continue;
    if (failed->code == Code::Unavailable || failed->code == Code::Unauthorized) throw *failed;
    print_error(failed->with(manifest.source));
    if (worst == 0) worst = exit_code(failed->code);
  }
  co_return worst;
}

}  // namespace kopper::cmd
