#include "kopper/plane/discovery/openapi_paths.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/plane/discovery/discovery.h"

namespace kopper::plane::openapi {
namespace {

constexpr Parameters kList =
    "allowWatchBookmarks? continue fieldSelector labelSelector limit# resourceVersion resourceVersionMatch "
    "sendInitialEvents? timeoutSeconds# watch?";
constexpr Parameters kWrite = "dryRun fieldManager fieldValidation";
constexpr Parameters kPatch = "dryRun fieldManager fieldValidation force?";
constexpr Parameters kDelete = "dryRun gracePeriodSeconds# orphanDependents? propagationPolicy";
constexpr Parameters kDeleteMany =
    "continue dryRun fieldSelector gracePeriodSeconds# labelSelector limit# orphanDependents? propagationPolicy "
    "resourceVersion resourceVersionMatch sendInitialEvents? timeoutSeconds#";

Parameters parameters_of(std::string_view subresource) {
  if (subresource == "attach") return "container stderr? stdin? stdout? tty?";
  if (subresource == "exec") return "command container stderr? stdin? stdout? tty?";
  if (subresource == "portforward") return "ports#";
  if (subresource == "proxy") return "path";
  if (subresource == "log")
    return "container follow? insecureSkipTLSVerifyBackend? limitBytes# previous? sinceSeconds# stream tailLines# "
           "timestamps?";
  return {};
}

std::string capitalized(std::string_view word) {
  std::string out(word);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

// "rbac.authorization.k8s.io" → "RbacAuthorization".
std::string group_word(std::string_view group) {
  if (group.empty()) return "Core";
  if (group.ends_with(".k8s.io")) group.remove_suffix(7);
  std::string out;
  while (!group.empty()) {
    const std::size_t dot = std::min(group.find('.'), group.size());
    out += capitalized(group.substr(0, dot));
    group.remove_prefix(std::min(dot + 1, group.size()));
  }
  return out;
}

constexpr std::string_view kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.";

std::string meta(std::string_view kind) { return fmt::format("{}{}", kMeta, kind); }

class Maker {
 public:
  Maker(const Resource& resource, std::string root, std::string words, std::string tag, std::vector<Path>& out)
      : resource_(resource),
        words_(std::move(words)),
        scoped_((resource.namespaced ? "Namespaced" : "") + resource.kind),
        name_(definition_name(resource)),
        tag_(std::move(tag)),
        out_(out),
        everywhere_(root + "/" + resource.plural),
        collection_(resource.namespaced ? root + "/namespaces/{namespace}/" + resource.plural : everywhere_) {}

  void make() {
    if (resource_.namespaced && has(Resource::ListVerb)) {
      Path& all = path(everywhere_, "pretty");
      add(all, "get", "list", fmt::format("list{}{}ForAllNamespaces", words_, resource_.kind), kList, "",
          name_ + "List");
    }
    const bool in = resource_.namespaced;
    Path& many = path(collection_, in ? "@namespace pretty" : "pretty");
    if (has(Resource::ListVerb)) add(many, "get", "list", id("list", scoped_), kList, "", name_ + "List");
    if (has(Resource::Create)) add(many, "post", "post", id("create", scoped_), kWrite, name_, name_, {200, 201, 202});
    if (has(Resource::DeleteCollection))
      add(many, "delete", "deletecollection", id("delete", "Collection" + scoped_), kDeleteMany, meta("DeleteOptions"),
          meta("Status"));
    if (!has(Resource::Get)) return;
    Path& one = path(collection_ + "/{name}", in ? "@name @namespace pretty" : "@name pretty");
    add(one, "get", "get", id("read", scoped_), "", "", name_);
    if (has(Resource::Update)) add(one, "put", "put", id("replace", scoped_), kWrite, name_, name_, {200, 201});
    if (has(Resource::Delete))
      add(one, "delete", "delete", id("delete", scoped_), kDelete, meta("DeleteOptions"), meta("Status"), {200, 202});
    if (has(Resource::Patch))
      add(one, "patch", "patch", id("patch", scoped_), kPatch, meta("Patch"), name_, {200, 201});
    for (const std::string& sub : resource_.subresources) part(sub);
  }

 private:
  bool has(Resource::Verb verb) const { return (resource_.verbs & verb) != 0; }
  std::string id(std::string_view verb, const std::string& rest) const {
    return fmt::format("{}{}{}", verb, words_, rest);
  }

  Path& path(std::string text, Parameters parameters) {
    Path& out = out_.emplace_back();
    out.path = std::move(text);
    out.tag = tag_;
    out.custom = resource_.custom != nullptr;
    out.parameters = parameters;
    return out;
  }

  void add(Path& to, std::string_view method, std::string_view action, std::string operation_id, Parameters parameters,
           std::string body, std::string result, std::vector<int> codes = {200}) {
    Operation& out = to.operations.emplace_back();
    out.method = method;
    out.action = action;
    out.id = std::move(operation_id);
    out.group = resource_.group;
    out.version = resource_.version;
    out.kind = resource_.kind;
    out.parameters = parameters;
    out.body_required = action != "delete" && action != "deletecollection";
    out.body = std::move(body);
    out.result = std::move(result);
    out.codes = std::move(codes);
  }

  void part(const std::string& sub) {
    const Subresource about = describe(resource_, sub);
    const bool other = !about.version.empty();
    const std::string name = other ? builtin_definition_name(about.group, about.version, about.kind)
                                   : (about.kind == resource_.kind
                                          ? name_
                                          : builtin_definition_name(resource_.group, resource_.version, about.kind));
    const std::string rest = scoped_ + capitalized(sub);
    Path& to = path(collection_ + "/{name}/" + sub, resource_.namespaced ? "@name @namespace pretty" : "@name pretty");
    if (about.kind.ends_with("Options")) {  // a stream: nothing to print prettily
      to.parameters.remove_suffix(std::string_view(" pretty").size());
      for (const char* method : {"get", "put", "post", "delete", "patch"}) {
        const bool proxy = sub == "proxy";
        const std::string_view word = method;
        if (!proxy && word != "get" && word != "post") continue;
        add(to, method, "connect", fmt::format("connect{}{}{}", words_, capitalized(method), rest), parameters_of(sub),
            "", "");
      }
    } else {
      const auto can = [&](Resource::Verb verb) { return (about.verbs & verb) != 0; };
      const bool text = sub == "log";
      if (can(Resource::Get)) add(to, "get", "get", id("read", rest), parameters_of(sub), "", text ? "" : name);
      if (can(Resource::Update)) add(to, "put", "put", id("replace", rest), kWrite, name, name, {200, 201});
      if (can(Resource::Create)) add(to, "post", "post", id("create", rest), kWrite, name, name, {200, 201, 202});
      if (can(Resource::Patch)) add(to, "patch", "patch", id("patch", rest), kPatch, meta("Patch"), name, {200, 201});
    }
    for (Operation& operation : to.operations) {
      if (other) operation.group = about.group;
      if (other) operation.version = about.version;
      operation.kind = about.kind;
    }
  }

  const Resource& resource_;
  const std::string words_;   // "AppsV1"
  const std::string scoped_;  // "NamespacedDeployment"
  const std::string name_;
  const std::string tag_;
  std::vector<Path>& out_;
  const std::string everywhere_;
  const std::string collection_;
};

}  // namespace

std::string builtin_definition_name(std::string_view group, std::string_view version, std::string_view kind) {
  if (group == "apiextensions.k8s.io")
    return fmt::format("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{}.{}", version, kind);
  if (group == "apiregistration.k8s.io")
    return fmt::format("io.k8s.kube-aggregator.pkg.apis.apiregistration.{}.{}", version, kind);
  return fmt::format("io.k8s.api.{}.{}.{}", group.empty() ? "core" : group.substr(0, group.find('.')), version, kind);
}

std::string definition_name(const Resource& resource) {
  if (!resource.custom) return builtin_definition_name(resource.group, resource.version, resource.kind);
  std::string reversed;
  std::string_view rest = resource.group;
  while (!rest.empty()) {
    const std::size_t dot = rest.rfind('.');
    reversed += rest.substr(dot == std::string_view::npos ? 0 : dot + 1);
    reversed += '.';
    rest = rest.substr(0, dot == std::string_view::npos ? 0 : dot);
  }
  return fmt::format("{}{}.{}", reversed, resource.version, resource.kind);
}

std::string root_of(const Catalog::Group& group, const Catalog::Version& version) {
  return group.name.empty() ? "/api/" + version.version : fmt::format("/apis/{}/{}", group.name, version.version);
}

std::vector<Path> paths_of(const Catalog::Group& group, const Catalog::Version& version) {
  std::vector<Path> out;
  const std::string root = root_of(group, version);
  const std::string words = group_word(group.name) + capitalized(version.version);
  std::string tag = fmt::format("{}_{}", group_word(group.name), version.version);
  tag[0] = static_cast<char>(tag[0] >= 'A' && tag[0] <= 'Z' ? tag[0] - 'A' + 'a' : tag[0]);
  Path& list = out.emplace_back();
  list.path = root + "/";
  list.tag = tag;
  Operation& resources = list.operations.emplace_back();
  resources.method = "get";
  resources.id = fmt::format("get{}APIResources", words);
  resources.result = meta("APIResourceList");
  for (const ResourceRef& resource : version.resources) Maker(*resource, root, words, tag, out).make();
  std::erase_if(out, [](const Path& path) { return path.operations.empty(); });
  std::ranges::sort(out, {}, &Path::path);
  return out;
}

}  // namespace kopper::plane::openapi
