#include "kopper/plane/discovery/discovery.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/json/writer.h"
#include "kopper/meta/base64.h"
#include "kopper/plane/accept.h"
#include "kopper/plane/compat.h"
#include "kopper/plane/core.h"
#include "kopper/plane/negotiate.h"
#include "kopper/rt/sign.h"

namespace kopper::plane {
namespace {

using json::Writer;
using GroupPtrs = std::vector<const Catalog::Group*>;

constexpr std::uint16_t kChange = Resource::Get | Resource::Patch | Resource::Update;
constexpr std::uint16_t kProxy = kChange | Resource::Create | Resource::Delete;

bool is_custom(const Catalog::Group& group) {
  return !group.versions.empty() && !group.versions[0].resources.empty() && group.versions[0].resources[0]->custom;
}

bool is_legacy(const Catalog::Group& group) { return group.name.empty(); }

std::string group_version(const Catalog::Group& group, const Catalog::Version& version) {
  return group.name.empty() ? version.version : group.name + "/" + version.version;
}

void write_list(Writer& out, std::string_view key, const std::vector<std::string>& words) {
  if (words.empty()) return;
  out.key(key).begin_array();
  for (const std::string& word : words) out.value(word);
  out.end_array();
}

std::vector<std::string> subresources(const Resource& resource) {
  if (!resource.custom) return resource.subresources;
  std::vector<std::string> out;
  for (const char* name : {"status", "scale"})
    if (resource.has(name)) out.emplace_back(name);
  return out;
}

// ---- one document a version ----

void write_group(Writer& out, const Catalog::Group& group) {
  const auto version = [&](const Catalog::Version& v) {
    out.begin_object().key("groupVersion").value(group_version(group, v));
    out.key("version").value(v.version).end_object();
  };
  out.key("name").value(group.name).key("versions").begin_array();
  for (const Catalog::Version& v : group.versions) version(v);
  out.end_array().key("preferredVersion");
  version(group.versions.front());
}

std::string legacy_versions(std::string_view host) {
  std::string text;
  Writer out(text);
  out.begin_object().key("kind").value("APIVersions").key("versions").begin_array().value("v1").end_array();
  out.key("serverAddressByClientCIDRs").begin_array().begin_object();
  out.key("clientCIDR").value("0.0.0.0/0").key("serverAddress").value(host.empty() ? "localhost" : host);
  out.end_object().end_array().end_object();
  return text;
}

std::string group_list(const Catalog& catalog) {
  std::string text;
  Writer out(text);
  out.begin_object().key("kind").value("APIGroupList").key("apiVersion").value("v1").key("groups").begin_array();
  for (const Catalog::Group& group : catalog.groups()) {
    if (is_legacy(group) || group.versions.empty()) continue;
    out.begin_object();
    write_group(out, group);
    out.end_object();
  }
  out.end_array().end_object();
  return text;
}

std::string one_group(const Catalog::Group& group) {
  std::string text;
  Writer out(text);
  out.begin_object().key("kind").value("APIGroup").key("apiVersion").value("v1");
  write_group(out, group);
  out.end_object();
  return text;
}

// Names the version that objects are stored in. Changes with it, so that tools know when to write all of them again.
std::string storage_version_hash(const Resource& resource) {
  std::string stored = resource.group + "/" + (resource.custom ? resource.custom->storage_version : resource.version);
  if (resource.table() == "events") stored = "/v1";
  if (resource.group == "autoscaling") stored = "autoscaling/v2";
  if (resource.group == "apiextensions.k8s.io") stored = "apiextensions.k8s.io/v1beta1";  // the real server's choice
  std::string out;
  meta::append_base64(out, rt::sha256(fmt::format("{}/{}", stored, resource.kind)).substr(0, 8));
  return out;
}

void write_resource(Writer& out, const Resource& resource, int minor) {
  const auto begin = [&](std::string_view name, std::string_view singular) {
    out.begin_object().key("name").value(name).key("singularName").value(singular);
    out.key("namespaced").value(resource.namespaced);
  };
  const auto verbs = [&](std::uint16_t which) {
    out.key("verbs").begin_array();
    for (const std::string& verb : verb_names(which, resource.custom != nullptr)) out.value(verb);
    out.end_array();
  };
  begin(resource.plural, resource.singular);
  out.key("kind").value(resource.kind);
  verbs(resource.verbs);
  write_list(out, "shortNames", resource.short_names);
  write_list(out, "categories", resource.categories);
  if ((resource.verbs & Resource::Update) != 0) out.key("storageVersionHash").value(storage_version_hash(resource));
  out.end_object();
  for (const std::string& name : subresources(resource)) {
    Subresource sub = describe(resource, name);
    if (minor < 22 && name == "ephemeralcontainers") sub.kind = "EphemeralContainers";
    begin(resource.plural + "/" + name, "");
    if (!sub.version.empty()) out.key("group").value(sub.group).key("version").value(sub.version);
    out.key("kind").value(sub.kind);
    verbs(sub.verbs);
    out.end_object();
  }
}

std::string resource_list(const Catalog::Group& group, const Catalog::Version& version, int minor) {
  std::string text;
  Writer out(text);
  out.begin_object().key("kind").value("APIResourceList");
  if (!is_legacy(group)) out.key("apiVersion").value("v1");
  out.key("groupVersion").value(group_version(group, version)).key("resources").begin_array();
  for (const ResourceRef& resource : version.resources) write_resource(out, *resource, minor);
  out.end_array().end_object();
  return text;
}

// ---- all in one ----

void write_discovered(Writer& out, const Resource& resource) {
  const bool custom = resource.custom != nullptr;
  const auto body = [&](std::string_view group, std::string_view version, std::string_view kind) {
    out.key("responseKind").begin_object();
    out.key("group").value(group).key("version").value(version).key("kind").value(kind).end_object();
  };
  out.begin_object().key("resource").value(resource.plural);
  // Built-in kinds leave group and version to be those of the document.
  const std::string_view group = custom ? std::string_view(resource.group) : "";
  const std::string_view version = custom ? std::string_view(resource.version) : "";
  body(group, version, resource.kind);
  out.key("scope").value(resource.namespaced ? "Namespaced" : "Cluster");
  out.key("singularResource").value(resource.singular);
  write_list(out, "verbs", verb_names(resource.verbs, custom));
  write_list(out, "shortNames", resource.short_names);
  write_list(out, "categories", resource.categories);
  const std::vector<std::string> parts = subresources(resource);
  if (!parts.empty()) {
    out.key("subresources").begin_array();
    for (const std::string& name : parts) {
      const Subresource sub = describe(resource, name);
      out.begin_object().key("subresource").value(name);
      if (sub.version.empty()) {
        body(group, version, sub.kind);
      } else {
        body(sub.group, sub.version, sub.kind);
      }
      write_list(out, "verbs", verb_names(sub.verbs, custom));
      out.end_object();
    }
    out.end_array();
  }
  out.end_object();
}

std::string aggregated(const Catalog& catalog, std::string_view api_version, bool legacy) {
  GroupPtrs groups;
  for (const Catalog::Group& group : catalog.groups())
    if (is_legacy(group) == legacy && !group.versions.empty()) groups.push_back(&group);
  // Custom groups have one priority: they follow the built-in ones by name.
  const auto custom = std::ranges::stable_partition(groups, [](const auto* group) { return !is_custom(*group); });
  std::ranges::sort(custom, {}, &Catalog::Group::name);

  std::string text;
  Writer out(text);
  out.begin_object().key("kind").value("APIGroupDiscoveryList").key("apiVersion");
  out.value(fmt::format("apidiscovery.k8s.io/{}", api_version));
  out.key("metadata").begin_object().end_object().key("items").begin_array();
  for (const Catalog::Group* group : groups) {
    out.begin_object().key("metadata").begin_object();
    if (!legacy) out.key("name").value(group->name);
    out.end_object().key("versions").begin_array();
    for (const Catalog::Version& version : group->versions) {
      out.begin_object().key("version").value(version.version).key("resources").begin_array();
      for (const ResourceRef& resource : version.resources) write_discovered(out, *resource);
      out.end_array().key("freshness").value("Current").end_object();
    }
    out.end_array().end_object();
  }
  out.end_array().end_object();
  return text;
}

// ---- who asks for what ----

std::string_view cut(std::string_view& text, char mark) {
  const std::size_t end = text.find(mark);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

// "v2" or "v2beta1" when the aggregated form is wanted before any other that can be had.
std::optional<std::string_view> wants_aggregated(std::string_view accept) {
  for (const MediaRange& range : parse_accept(accept)) {
    const std::string_view as = range.parameter("as");
    const std::string_view version = range.parameter("v");
    const bool json = range.type == "application/json";
    if (as.empty() && (json || range.type == "application/yaml" || range.type == "*/*")) return std::nullopt;
    if (json && range.parameter("g") == "apidiscovery.k8s.io" && as == "APIGroupDiscoveryList" &&
        (version == "v2" || version == "v2beta1"))
      return version;
  }
  return std::nullopt;
}

http::Response send_aggregated(const Catalog& catalog, const Call& call, std::string_view version, bool legacy) {
  std::string body = aggregated(catalog, version, legacy);
  const std::string etag = fmt::format("\"{}\"", content_hash(body));
  http::Response out;
  if (call.header("if-none-match") == etag) {
    out = http::text_response(304, "");
    out.headers.remove("content-type");
    out.headers.remove("content-length");
  } else {
    if (call.info.flag("pretty")) body = formatted(std::move(body), Output{.pretty = true});
    out = http::text_response(
        200, std::move(body),
        fmt::format("application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList", version));
  }
  out.headers.set("etag", etag);
  out.headers.set("vary", "Accept");
  out.headers.set("cache-control", "public");
  return out;
}

http::Response send(const Call& call, std::string body) {
  const Output output = negotiate(call.info, call.header("accept"));
  return answer(call, 200, std::move(body), output);
}

void only_get(const Call& call) {
  if (call.request.method != "GET")
    throw Refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
}

http::Response send_version(const Call& call, const std::string& version) {
  if (negotiate(call.info, call.header("accept")).yaml)
    throw not_acceptable("406: Not Acceptable\n\nAvailable representations: application/json");
  std::string_view numbers = version;
  numbers.remove_prefix(numbers.starts_with('v') ? 1 : 0);
  const std::string_view major = cut(numbers, '.');
  const std::string_view minor = cut(numbers, '.');
  json::Object out{{"major", major}, {"minor", minor}};
  out["gitVersion"] = version + "+kopper";
  out["gitCommit"] = "";
  out["gitTreeState"] = "";
  out["buildDate"] = "1970-01-01T00:00:00Z";
  out["goVersion"] = "";
  out["compiler"] = "g++";
  out["platform"] = "linux/amd64";
  http::Response response =
      http::text_response(200, json::dump_pretty(json::Value(std::move(out))), "application/json");
  return response;
}

http::Response send_paths(const Catalog& catalog) {
  std::vector<std::string> paths = {"/api",   "/api/v1", "/apis",       "/apis/",      "/healthz",
                                    "/livez", "/readyz", "/openapi/v2", "/openapi/v3", "/version"};
  for (const Catalog::Group& group : catalog.groups()) {
    if (is_legacy(group)) continue;
    paths.push_back("/apis/" + group.name);
    for (const Catalog::Version& version : group.versions) paths.push_back("/apis/" + group_version(group, version));
  }
  std::ranges::sort(paths);
  json::Array list(paths.begin(), paths.end());
  json::Object out{{"paths", std::move(list)}};
  return http::text_response(200, json::dump_pretty(json::Value(std::move(out))), "application/json");
}

}  // namespace

Subresource describe(const Resource& resource, std::string_view name) {
  const auto options = [&](std::string_view what, std::uint16_t verbs) {
    return Subresource{"", "", fmt::format("{}{}Options", resource.kind, what), verbs};
  };
  constexpr std::uint16_t kConnect = Resource::Create | Resource::Get;
  if (name == "scale") return {"autoscaling", "v1", "Scale", kChange};
  if (name == "eviction") return {"policy", "v1", "Eviction", Resource::Create};
  if (name == "token") return {"authentication.k8s.io", "v1", "TokenRequest", Resource::Create};
  if (name == "binding") return {"", "", "Binding", Resource::Create};
  if (name == "attach") return options("Attach", kConnect);
  if (name == "exec") return options("Exec", kConnect);
  if (name == "portforward") return options("PortForward", kConnect);
  if (name == "proxy") return options("Proxy", kProxy);
  if (name == "log") return {"", "", resource.kind, Resource::Get};
  if (name == "finalize") return {"", "", resource.kind, Resource::Update};
  return {"", "", resource.kind, kChange};
}

std::vector<std::string> verb_names(std::uint16_t verbs, bool custom) {
  using Row = std::pair<Resource::Verb, const char*>;
  constexpr Row kRows[] = {
      {Resource::Create, "create"}, {Resource::Delete, "delete"}, {Resource::DeleteCollection, "deletecollection"},
      {Resource::Get, "get"},       {Resource::ListVerb, "list"}, {Resource::Patch, "patch"},
      {Resource::Update, "update"}, {Resource::Watch, "watch"}};
  std::vector<std::string> out;
  for (const auto& [verb, name] : kRows)
    if ((verbs & verb) != 0) out.emplace_back(name);
  // The server of custom resources has an order of its own: create before update.
  if (custom && (verbs & Resource::Create) != 0 && (verbs & Resource::Delete) != 0)
    std::ranges::rotate(out.begin(), out.begin() + 1, std::ranges::find(out, "update"));
  return out;
}

http::Response no_such_page() { return http::text_response(404, "404 page not found\n"); }

std::string content_hash(std::string_view bytes) {
  std::uint64_t a = 0xcbf29ce484222325U;  // FNV-1a twice, the second from another start
  std::uint64_t b = a ^ 0x9e3779b97f4a7c15U;
  for (const char c : bytes) {
    a = (a ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    b = (b ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    b ^= b >> 29U;
  }
  return fmt::format("{:016X}{:016X}", a, b);
}

std::optional<http::Response> Discovery::answer(const Call& call) const {
  const std::string& path = call.info.path;
  if (path == "/") return send_paths(catalog_);
  if (path == "/version") {
    only_get(call);
    return send_version(call, version_);
  }
  const bool legacy = path == "/api";
  if (legacy || path == "/apis") {
    if (legacy) only_get(call);
    // Older servers do not know that form.
    if (const auto version = wants_aggregated(call.header("accept")); version && minor_of(version_) >= 26)
      return send_aggregated(catalog_, call, *version, legacy);
    return send(call, legacy ? legacy_versions(call.header("host")) : group_list(catalog_));
  }
  const bool named = path.starts_with("/apis/");
  if (!named && !path.starts_with("/api/")) return std::nullopt;
  std::string_view rest = std::string_view(path).substr(named ? 6 : 5);
  const std::string_view name = named ? cut(rest, '/') : "";
  const Catalog::Group* group = catalog_.group(name);
  if (group == nullptr || group->versions.empty() || (named && name.empty())) return no_such_page();
  if (named && rest.empty()) return send(call, one_group(*group));
  const auto version = std::ranges::find(group->versions, rest, &Catalog::Version::version);
  if (version == group->versions.end()) return no_such_page();
  only_get(call);
  return send(call, resource_list(*group, *version, minor_of(version_)));
}

}  // namespace kopper::plane
