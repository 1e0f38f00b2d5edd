#include "kopper/plane/auth/rbac.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "kopper/api/selector.h"

namespace kopper::plane {
namespace {

bool has(const std::vector<std::string>& all, std::string_view one) { return std::ranges::find(all, one) != all.end(); }

bool url_covers(std::string_view owner, std::string_view path) {
  if (owner == path) return true;
  if (!owner.ends_with('*')) return false;
  while (owner.ends_with('*')) owner.remove_suffix(1);
  return path.starts_with(owner);
}

// `wanted` is "pods" or "pods/log".
bool resource_covers(const std::vector<std::string>& owned, std::string_view wanted) {
  if (has(owned, "*") || has(owned, wanted)) return true;
  const std::size_t slash = wanted.find('/');
  return slash != std::string_view::npos && has(owned, fmt::format("*{}", wanted.substr(slash)));
}

// `part` has one of each.
bool covers(const PolicyRule& owner, const PolicyRule& part) {
  if (!has(owner.verbs, "*") && !has(owner.verbs, part.verbs[0])) return false;
  if (!part.urls.empty())
    return std::ranges::any_of(owner.urls, [&](const std::string& url) { return url_covers(url, part.urls[0]); });
  if (!has(owner.groups, "*") && !has(owner.groups, part.groups[0])) return false;
  if (!resource_covers(owner.resources, part.resources[0])) return false;
  return owner.names.empty() || (!part.names.empty() && has(owner.names, part.names[0]));
}

std::vector<PolicyRule> broken_down(const PolicyRule& rule) {
  std::vector<PolicyRule> out;
  for (const std::string& group : rule.groups)
    for (const std::string& resource : rule.resources)
      for (const std::string& verb : rule.verbs) {
        PolicyRule part{.verbs = {verb}, .groups = {group}, .resources = {resource}, .names = {}, .urls = {}};
        if (rule.names.empty()) out.push_back(part);
        for (const std::string& name : rule.names) {
          part.names = {name};
          out.push_back(part);
        }
      }
  for (const std::string& url : rule.urls)
    for (const std::string& verb : rule.verbs)
      out.push_back({.verbs = {verb}, .groups = {}, .resources = {}, .names = {}, .urls = {url}});
  return out;
}

std::vector<std::string> texts(const json::Value& list) {
  std::vector<std::string> out;
  if (const json::Array* all = list.as_array())
    for (const json::Value& one : *all)
      if (const std::string* text = one.as_string()) out.push_back(*text);
  return out;
}

json::Array to_array(const std::vector<std::string>& texts) { return {texts.begin(), texts.end()}; }

std::string describe(const PolicyRule& rule) {
  std::string out;
  const auto add = [&](const char* name, const std::vector<std::string>& list) {
    if (!list.empty()) out += fmt::format("{}{}:{}", out.empty() ? "" : ", ", name, quoted(list));
  };
  add("APIGroups", rule.groups);
  add("Resources", rule.resources);
  add("NonResourceURLs", rule.urls);
  add("ResourceNames", rule.names);
  add("Verbs", rule.verbs);
  return "{" + out + "}";
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string quoted(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : " ") + quoted(text);
  return "[" + out + "]";
}

Action action_of(const RequestInfo& info) {
  Action out{.verb = info.verb,
             .is_resource = info.is_resource,
             .group = info.group,
             .resource = info.resource,
             .subresource = info.subresource,
             .namespace_ = info.namespace_,
             .name = info.name,
             .path = info.path};
  if (info.is_resource && info.name.empty() && (info.verb == "list" || info.verb == "watch"))
    if (const auto text = info.text("fieldSelector"))
      if (const auto fields = api::FieldSelector::parse(*text))
        if (const auto name = fields->exact("metadata.name")) out.name = *name;
  return out;
}

bool allows(const PolicyRule& rule, const Action& action) {
  if (!has(rule.verbs, "*") && !has(rule.verbs, action.verb)) return false;
  if (!action.is_resource)
    return std::ranges::any_of(rule.urls, [&](const std::string& url) { return url_covers(url, action.path); });
  if (!has(rule.groups, "*") && !has(rule.groups, action.group)) return false;
  const std::string resource =
      action.subresource.empty() ? action.resource : fmt::format("{}/{}", action.resource, action.subresource);
  return resource_covers(rule.resources, resource) && (rule.names.empty() || has(rule.names, action.name));
}

std::vector<PolicyRule> missing(std::span<const PolicyRule> owned, std::span<const PolicyRule> wanted) {
  std::vector<PolicyRule> out;
  for (const PolicyRule& rule : wanted)
    for (PolicyRule& part : broken_down(rule))
      if (std::ranges::none_of(owned, [&](const PolicyRule& owner) { return covers(owner, part); }))
        out.push_back(std::move(part));
  return out;
}

std::string describe(const std::vector<PolicyRule>& rules) {
  std::vector<PolicyRule> compact;
  for (const PolicyRule& rule : rules) {
    const auto same = std::ranges::find_if(compact, [&](const PolicyRule& other) {
      return rule.urls.empty() && other.urls.empty() && other.groups == rule.groups &&
             other.resources == rule.resources && other.names == rule.names;
    });
    if (same == compact.end()) {
      compact.push_back(rule);
    } else {
      same->verbs.insert(same->verbs.end(), rule.verbs.begin(), rule.verbs.end());
    }
  }
  std::set<std::string> lines;
  for (const PolicyRule& rule : compact) lines.insert(describe(rule));
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : "\n") + line;
  return out;
}

Refusal access_denied(std::string_view user, const Action& action, std::string_view reason) {
  std::string why;
  if (!action.is_resource) {
    why = fmt::format("User {} cannot {} path {}", quoted(user), action.verb, quoted(action.path));
  } else {
    const std::string resource =
        action.subresource.empty() ? action.resource : fmt::format("{}/{}", action.resource, action.subresource);
    why = fmt::format("User {} cannot {} resource {} in API group {} {}", quoted(user), action.verb, quoted(resource),
                      quoted(action.group),
                      action.namespace_.empty() ? "at the cluster scope"
                                                : fmt::format("in the namespace {}", quoted(action.namespace_)));
  }
  if (!reason.empty()) why += fmt::format(": {}", reason);
  if (!action.is_resource) return forbidden({.group = "", .resource = ""}, "", why);
  return forbidden({.group = action.group, .resource = action.resource}, action.name, why);
}

std::vector<PolicyRule> rules_of(const json::Value& rules) {
  std::vector<PolicyRule> out;
  if (const json::Array* all = rules.as_array())
    for (const json::Value& rule : *all)
      out.push_back({.verbs = texts(rule["verbs"]),
                     .groups = texts(rule["apiGroups"]),
                     .resources = texts(rule["resources"]),
                     .names = texts(rule["resourceNames"]),
                     .urls = texts(rule["nonResourceURLs"])});
  return out;
}

json::Value to_json(const PolicyRule& rule) {
  json::Object out{{"verbs", to_array(rule.verbs)}};
  if (!rule.groups.empty()) out["apiGroups"] = to_array(rule.groups);
  if (!rule.resources.empty()) out["resources"] = to_array(rule.resources);
  if (!rule.names.empty()) out["resourceNames"] = to_array(rule.names);
  if (!rule.urls.empty()) out["nonResourceURLs"] = to_array(rule.urls);
  return out;
}

}  // namespace kopper::plane
