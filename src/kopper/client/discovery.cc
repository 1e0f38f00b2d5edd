#include "kopper/client/discovery.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "kopper/client/codec.h"
#include "kopper/json/value.h"
#include "kopper/rt/scope.h"

namespace kopper::client {
namespace {

constexpr std::string_view kAggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json";

http::Request ask(std::string target, std::string_view accept = "application/json") {
  http::Request request;
  request.target = std::move(target);
  request.headers.add("accept", accept);
  return request;
}

std::string str(const json::Value& value, std::string_view key) { return std::string(value.text(key)); }

const json::Array& array(const json::Value& value) {
  static const json::Array none;
  const auto* items = value.as_array();
  return items != nullptr ? *items : none;
}

std::vector<std::string> strings(const json::Value& value) {
  std::vector<std::string> out;
  for (const auto& item : array(value)) {
    if (const auto* text = item.as_string()) out.push_back(*text);
  }
  return out;
}

std::string group_version(std::string_view group, std::string_view version) {
  return group.empty() ? std::string(version) : fmt::format("{}/{}", group, version);
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool same(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// ---- aggregated: one document for all groups

ApiResource aggregated_resource(const json::Value& item, const std::string& group, const std::string& version,
                                bool preferred) {
  ApiResource out;
  out.resource = {.group = group,
                  .version = version,
                  .plural = str(item, "resource"),
                  .kind = str(item["responseKind"], "kind"),
                  .namespaced = item.text("scope") == "Namespaced"};
  out.singular = str(item, "singularResource");
  out.short_names = strings(item["shortNames"]);
  out.categories = strings(item["categories"]);
  out.verbs = strings(item["verbs"]);
  for (const auto& sub : array(item["subresources"])) out.subresources.push_back(str(sub, "subresource"));
  out.preferred = preferred;
  return out;
}

void add_group(const json::Value& item, Catalog& out) {
  const auto group = str(item["metadata"], "name");
  bool preferred = true;  // versions come in the order of preference
  for (const auto& version : array(item["versions"])) {
    const auto name = str(version, "version");
    const auto& resources = array(version["resources"]);
    if (version.text("freshness") == "Stale") {
      out.broken.push_back({group_version(group, name), "its server does not answer"});
    }
    for (const auto& resource : resources)
      out.resources.push_back(aggregated_resource(resource, group, name, preferred));
    preferred = false;
  }
}

// ---- legacy: groups first, then a document for each version

struct Version {
  std::string group;
  std::string version;
  bool preferred = true;

  std::string path() const { return group.empty() ? "/api/" + version : fmt::format("/apis/{}/{}", group, version); }
};

void add_legacy_versions(const json::Value& answer, std::vector<Version>& out) {
  bool first = true;
  for (const auto& version : strings(answer["versions"])) {  // /api: APIVersions
    out.push_back({"", version, first});
    first = false;
  }
  for (const auto& group : array(answer["groups"])) {  // /apis: APIGroupList
    const auto name = str(group, "name");
    const auto preferred = group["preferredVersion"].text("version");
    const auto add = [&](bool wanted) {
      for (const auto& version : array(group["versions"])) {
        const auto text = version.text("version");
        if ((text == preferred) == wanted) out.push_back({name, std::string(text), wanted});
      }
    };
    add(true);
    add(false);
  }
}

struct LegacyPart {
  Version version;
  Catalog found;
};

Task<> fetch_part(Client client, LegacyPart* part) {
  std::string problem;
  try {
    const auto body = co_await client.call(ask(part->version.path()));
    auto parsed = parse_legacy_resources(body);
    if (parsed)
      part->found = std::move(*parsed);
    else
      problem = parsed.error().str();
  } catch (const Error& error) {
    problem = error.what();
  }
  for (auto& resource : part->found.resources) resource.preferred = part->version.preferred;
  if (!problem.empty())
    part->found.broken.push_back({group_version(part->version.group, part->version.version), problem});
}

void append(Catalog& to, Catalog from) {
  std::ranges::move(from.resources, std::back_inserter(to.resources));
  std::ranges::move(from.broken, std::back_inserter(to.broken));
}

bool is_aggregated(const json::Value& answer) { return answer.text("kind") == "APIGroupDiscoveryList"; }

// ---- names

// "deployments.v1.apps" → deployments, v1, apps. What follows the first dot is a group, or a version and a group.
struct Wanted {
  std::string_view name;
  std::optional<std::string_view> group;
  std::string_view version;
};

bool looks_like_version(std::string_view text) {
  return text.size() >= 2 && text[0] == 'v' && std::isdigit(static_cast<unsigned char>(text[1])) != 0;
}

Wanted split(std::string_view name) {
  const auto dot = name.find('.');
  if (dot == std::string_view::npos) return {.name = name};
  auto rest = name.substr(dot + 1);
  const auto next = rest.find('.');
  Wanted wanted{.name = name.substr(0, dot), .group = rest};
  if (!looks_like_version(rest.substr(0, next))) return wanted;
  wanted.version = rest.substr(0, next);
  wanted.group = next == std::string_view::npos ? std::string_view{} : rest.substr(next + 1);
  return wanted;
}

bool is_plural(const ApiResource& r, std::string_view name) { return same(r.resource.plural, name); }
bool is_singular(const ApiResource& r, std::string_view name) {
  return same(r.singular, name) || same(r.resource.kind, name);
}
bool is_short(const ApiResource& r, std::string_view name) {
  return std::ranges::any_of(r.short_names, [&](const std::string& s) { return same(s, name); });
}

[[noreturn]] void throw_unknown(std::string_view what, const Catalog& catalog) {
  auto message = fmt::format("the server has no resource \"{}\"", what);
  for (const auto& broken : catalog.broken) message += fmt::format("; {} did not answer", broken.api_version);
  throw Error(Code::NotFound, std::move(message));
}

}  // namespace

const ApiResource* Catalog::find(std::string_view name) const {
  const auto wanted = split(name);
  // A name of the better sort wins over an earlier group: "nodes" is never somebody's short name.
  using Match = bool (*)(const ApiResource&, std::string_view);
  for (const Match match : std::array<Match, 3>{is_plural, is_singular, is_short}) {
    for (const auto& resource : resources) {
      if (wanted.group && !same(*wanted.group, resource.resource.group)) continue;
      if (!wanted.version.empty() && wanted.version != resource.resource.version) continue;
      if (match(resource, wanted.name)) return &resource;
    }
  }
  return nullptr;
}

const ApiResource* Catalog::find(std::string_view group, std::string_view version, std::string_view kind) const {
  const auto found = std::ranges::find_if(resources, [&](const ApiResource& r) {
    return r.resource.group == group && (version.empty() || r.resource.version == version) && r.resource.kind == kind;
  });
  return found == resources.end() ? nullptr : &*found;
}

std::expected<Catalog, DecodeError> parse_aggregated(std::string_view json) {
  const auto answer = json::parse(json);
  if (!answer) return std::unexpected(answer.error());
  if (!is_aggregated(*answer))
    return std::unexpected(DecodeError{.what = "not an APIGroupDiscoveryList", .path = "kind"});
  Catalog out;
  for (const auto& group : array((*answer)["items"])) add_group(group, out);
  return out;
}

std::expected<Catalog, DecodeError> parse_legacy_resources(std::string_view json) {
  const auto answer = json::parse(json);
  if (!answer) return std::unexpected(answer.error());
  if (answer->text("kind") != "APIResourceList")
    return std::unexpected(DecodeError{.what = "not an APIResourceList", .path = "kind"});
  const auto gv = answer->text("groupVersion");
  const auto slash = gv.find('/');
  const std::string group(slash == std::string_view::npos ? std::string_view{} : gv.substr(0, slash));
  const std::string version(slash == std::string_view::npos ? gv : gv.substr(slash + 1));
  Catalog out;
  for (const auto& item : array((*answer)["resources"])) {
    const auto name = item.text("name");
    if (const auto sub = name.find('/'); sub != std::string_view::npos) {
      const auto owner = std::ranges::find(out.resources, name.substr(0, sub),
                                           [](const ApiResource& r) { return std::string_view(r.resource.plural); });
      if (owner != out.resources.end()) owner->subresources.emplace_back(name.substr(sub + 1));
      continue;
    }
    const auto* namespaced = item["namespaced"].as_bool();
    ApiResource resource;
    resource.resource = {.group = group,
                         .version = version,
                         .plural = std::string(name),
                         .kind = str(item, "kind"),
                         .namespaced = namespaced != nullptr && *namespaced};
    resource.singular = str(item, "singularName");
    if (resource.singular.empty()) resource.singular = lower(resource.resource.kind);  // built-in kinds before 1.27
    resource.short_names = strings(item["shortNames"]);
    resource.categories = strings(item["categories"]);
    resource.verbs = strings(item["verbs"]);
    out.resources.push_back(std::move(resource));
  }
  return out;
}

Task<Catalog> discover(Client client) {
  Catalog all;
  std::vector<Version> versions;
  for (const auto* root : {"/api", "/apis"}) {
    const auto body = co_await client.call(ask(root, kAggregated));
    const auto answer = json::parse(body);
    if (!answer) throw_error(answer.error(), std::string("discovery of ") + root);
    if (!is_aggregated(*answer))
      add_legacy_versions(*answer, versions);
    else
      for (const auto& group : array((*answer)["items"])) add_group(group, all);
  }
  std::vector<LegacyPart> parts;
  for (auto& version : versions) parts.push_back({std::move(version), {}});
  rt::Scope scope;
  for (auto& part : parts) scope.spawn(fetch_part(client, &part));
  co_await scope.join();
  for (auto& part : parts) append(all, std::move(part.found));
  co_return all;
}

Task<ServerVersion> server_version(Client client) {
  const auto body = co_await client.call(ask("/version"));
  const auto answer = json::parse(body);
  if (!answer) throw_error(answer.error(), "the server's version");
  co_return ServerVersion{.major = str(*answer, "major"),
                          .minor = str(*answer, "minor"),
                          .git_version = str(*answer, "gitVersion"),
                          .platform = str(*answer, "platform")};
}

Task<> RestMapper::refresh() { catalog_ = co_await discover(client_); }

Task<ApiResource> RestMapper::find(std::string name) {
  if (const auto* known = catalog_.find(name)) co_return *known;
  co_await refresh();
  if (const auto* known = catalog_.find(name)) co_return *known;
  throw_unknown(name, catalog_);
}

Task<ApiResource> RestMapper::find(std::string group, std::string version, std::string kind) {
  if (const auto* known = catalog_.find(group, version, kind)) co_return *known;
  co_await refresh();
  if (const auto* known = catalog_.find(group, version, kind)) co_return *known;
  throw_unknown(fmt::format("{} {}", group_version(group, version), kind), catalog_);
}

}  // namespace kopper::client
