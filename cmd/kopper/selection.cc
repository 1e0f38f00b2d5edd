#include "selection.h"

#include "kopper/base/error.h"

namespace kopper::cmd {

Task<Selection> select(Session* session, const Args* args) {
  Selection selection;
  selection.names = args->names;
  std::string type = args->resource;
  if (const auto slash = type.find('/'); slash != std::string::npos) {
    selection.names.insert(selection.names.begin(), type.substr(slash + 1));
    type.resize(slash);
  }
  if (!selection.names.empty() && args->all_namespaces) {
    throw Error(Code::Invalid, "an object is looked up by name in one namespace: leave out --all-namespaces");
  }
  if (!selection.names.empty() && !(args->label_selector.empty() && args->field_selector.empty())) {
    throw Error(Code::Invalid, "give names or a selector, not both");
  }
  selection.resource = co_await session->mapper.find(type);
  const bool everywhere = args->all_namespaces || !selection.resource.resource.namespaced;
  selection.namespace_ = everywhere ? "" : session->namespace_;
  selection.list.namespace_ = selection.namespace_;
  selection.list.label_selector = args->label_selector;
  selection.list.field_selector = args->field_selector;
  co_return selection;
}

Task<client::ApiResource> find_resource(Session* session, const Manifest* manifest) {
  const auto api_version = manifest->api_version();
  const auto slash = api_version.find('/');
  std::string group(slash == std::string_view::npos ? "" : api_version.substr(0, slash));
  std::string version(slash == std::string_view::npos ? api_version : api_version.substr(slash + 1));
  co_return co_await session->mapper.find(std::move(group), std::move(version), std::string(manifest->kind()));
}

Key key_of(const Manifest& manifest, const client::ApiResource& resource, const Session& session) {
  std::string name(manifest.name());
  if (!resource.resource.namespaced) return {"", std::move(name)};
  return {manifest.namespace_().empty() ? session.namespace_ : std::string(manifest.namespace_()), std::move(name)};
}

}  // namespace kopper::cmd
