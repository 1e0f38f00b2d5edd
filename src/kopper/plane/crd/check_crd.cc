#include "kopper/plane/crd/check_crd.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "kopper/api/validation.h"
#include "kopper/plane/crd/crd_schema.h"
#include "kopper/plane/crd/crd_status.h"
#include "kopper/plane/crd/detail/field_path.h"
#include "kopper/plane/crd/detail/schema_check.h"
#include "kopper/plane/crd/go_text.h"
#include "kopper/plane/reading.h"

namespace kopper::plane {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::string joined(const api::Complaints& complaints) { return fmt::format("{}", fmt::join(complaints, ",")); }

const json::Array& list_of(const json::Value& value) {
  static const json::Array kNone;
  const json::Array* list = value.as_array();
  return list != nullptr ? *list : kNone;
}

// Whether all versions say the same under a member. The server then speaks of it as if it stood in spec itself.
bool same_in_all(const json::Array& versions, const char* member) {
  if (versions.empty() || versions[0][member].is_null()) return false;
  return std::ranges::all_of(versions, [&](const json::Value& v) { return v[member] == versions[0][member]; });
}

class CrdCheck {
 public:
  CrdCheck(const json::Value& crd, BuiltinSchemas& builtins, const json::Value* old)
      : crd_(crd), spec_(crd["spec"]), versions_(list_of(spec_["versions"])), builtins_(builtins), old_(old) {}

  Problems run() {
    if (old_ == nullptr) name();
    group();
    schemas_are_there();
    versions();
    names(spec_["names"], "spec.names", true);
    lifted();
    conversion();
    if (old_ != nullptr) immutable();
    names(crd_["status"]["acceptedNames"], "status.acceptedNames", false);
    stored_versions();
    approval();
    if (is_true(spec_["preserveUnknownFields"]) &&
        !(old_ != nullptr && is_true((*old_)["spec"]["preserveUnknownFields"])))
      problems_.invalid("spec.preserveUnknownFields", true,
                        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
                        "spec.versions[*].schema instead");
    return std::move(problems_);
  }

 private:
  void name() {
    const std::string_view name = crd_["metadata"].text("name");
    if (name.empty()) return problems_.required("metadata.name", "name or generateName is required");
    for (const std::string& complaint : api::check_dns_subdomain(name))
      problems_.invalid("metadata.name", name, complaint);
    if (name != fmt::format("{}.{}", spec_["names"].text("plural"), spec_.text("group")))
      problems_.invalid("metadata.name", name, "must be spec.names.plural+\".\"+spec.group");
  }

  void group() {
    const std::string_view group = spec_.text("group");
    if (group.empty()) {
      problems_.required("spec.group");
    } else if (const auto complaints = api::check_dns_subdomain(group); !complaints.empty()) {
      problems_.invalid("spec.group", group, joined(complaints));
    } else if (group.find('.') == std::string_view::npos) {
      problems_.invalid("spec.group", group, "should be a domain with at least one dot");
    }
    const std::string_view scope = spec_.text("scope");
    if (scope.empty()) {
      problems_.required("spec.scope");
    } else if (scope != "Cluster" && scope != "Namespaced") {
      problems_.not_supported("spec.scope", scope, {"Cluster", "Namespaced"});
    }
  }

  void schemas_are_there() {
    for (std::size_t i = 0; i < versions_.size(); ++i)
      if (!versions_[i]["schema"]["openAPIV3Schema"].is_object())
        problems_.required(at("spec.versions", i) + ".schema.openAPIV3Schema");
  }

  void versions() {
    std::set<std::string, std::less<>> seen;
    std::size_t storage = 0;
    bool unique = true;
    const bool same_schema = same_in_all(versions_, "schema");
    const bool same_subresources = same_in_all(versions_, "subresources");
    const bool same_columns = same_in_all(versions_, "additionalPrinterColumns");
    const bool same_selectable = same_in_all(versions_, "selectableFields");
    for (std::size_t i = 0; i < versions_.size(); ++i) {
      const json::Value& version = versions_[i];
      const std::string path = at("spec.versions", i);
      if (is_true(version["storage"])) ++storage;
      unique = seen.insert(std::string(version.text("name"))).second && unique;
      if (const auto complaints = api::check_dns1035_label(version.text("name")); !complaints.empty())
        problems_.invalid(at(path, "name"), version.text("name"), joined(complaints));
      deprecation(version, path);
      if (!same_schema) schema(version, path + ".schema", !version["subresources"]["status"].is_null());
      if (!same_subresources) subresources(version["subresources"], at(path, "subresources"));
      if (!same_columns) columns(version, path);
      if (!same_selectable) selectable(version, path);
    }
    if (!unique)
      problems_.add("spec.versions", "FieldValueInvalid",
                    fmt::format("Invalid value: {}: must contain unique version names", shown()));
    if (storage != 1)
      problems_.add("spec.versions", "FieldValueInvalid",
                    fmt::format("Invalid value: {}: must have exactly one version marked as storage version", shown()));
    if (!versions_.empty())
      if (const auto complaints = api::check_dns1035_label(versions_[0].text("name")); !complaints.empty())
        problems_.invalid("spec.version", versions_[0].text("name"), joined(complaints));
  }

  // The versions as the server prints them: what is the same in all of them stands elsewhere.
  std::string shown() const {
    std::string out;
    for (const json::Value& v : versions_) {
      const auto own = [&](const char* member) {
        return same_in_all(versions_, member) ? std::string("null") : go_json(v[member]);
      };
      out += fmt::format(
          R"({}{{"Name":{},"Served":{},"Storage":{},"Deprecated":{},"DeprecationWarning":{},"Schema":{},"Subresources":{},)"
          R"("AdditionalPrinterColumns":{},"SelectableFields":{}}})",
          out.empty() ? "" : ",", go_json(v.text("name")), is_true(v["served"]), is_true(v["storage"]),
          is_true(v["deprecated"]), go_json(v["deprecationWarning"]), own("schema"), own("subresources"),
          own("additionalPrinterColumns"), own("selectableFields"));
    }
    return "[" + out + "]";
  }

  // What is the same in all versions.
  void lifted() {
    if (versions_.empty()) return;
    const json::Value& first = versions_[0];
    const auto has_status = [](const json::Value& v) { return !v["subresources"]["status"].is_null(); };
    if (same_in_all(versions_, "schema")) schema(first, "spec.validation", std::ranges::any_of(versions_, has_status));
    if (same_in_all(versions_, "subresources")) subresources(first["subresources"], "spec.subresources");
    if (same_in_all(versions_, "additionalPrinterColumns")) columns(first, "spec");
    if (same_in_all(versions_, "selectableFields")) selectable(first, "spec");
  }

  void deprecation(const json::Value& version, const std::string& path) {
    const json::Value& warning = version["deprecationWarning"];
    const std::string where = at(path, "deprecationWarning");
    if (!warning.is_string()) return;
    if (!is_true(version["deprecated"]))
      return problems_.invalid(where, warning, "can only be set for deprecated versions");
    const std::string& text = *warning.as_string();
    if (text.size() > 256) problems_.invalid(where, warning, "must be <= 256 characters long");
    if (text.empty()) problems_.invalid(where, warning, "must not be an empty string");
    const auto control =
        std::ranges::find_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
    if (control != text.end())
      problems_.invalid(
          where, warning,
          fmt::format("must only contain printable UTF-8 characters; non-printable character found at index {}",
                      control - text.begin()));
  }

  void schema(const json::Value& version, const std::string& path, bool has_status) {
    const json::Value& written = version["schema"]["openAPIV3Schema"];
    if (!written.is_object()) return;
    detail::check_schema(written, has_status, at(path, "openAPIV3Schema"), builtins_, problems_);
  }

  // True when it is a path at all.
  bool simple_path(std::string_view path, const std::string& where) {
    if (path.empty()) {
      problems_.required(where);
    } else if (path[0] != '.') {
      problems_.invalid(where, path, "must be a simple json path starting with .");
    } else {
      return true;
    }
    return false;
  }

  void subresources(const json::Value& subresources, const std::string& path) {
    const json::Value& scale = subresources["scale"];
    if (!scale.is_object()) return;
    const auto under = [&](const char* member, std::string_view prefix, const char* called) {
      const std::string where = fmt::format("{}.scale.{}", path, member);
      if (simple_path(scale.text(member), where) && !scale.text(member).starts_with(prefix))
        problems_.invalid(where, scale.text(member), fmt::format("should be a json path under {}", called));
    };
    under("specReplicasPath", ".spec.", ".spec");
    under("statusReplicasPath", ".status.", ".status");
    const std::string_view selector = scale.text("labelSelectorPath");
    if (selector.empty()) return;
    const std::string where = path + ".scale.labelSelectorPath";
    if (simple_path(selector, where) && !selector.starts_with(".spec.") && !selector.starts_with(".status."))
      problems_.invalid(where, selector, "should be a json path under either .spec or .status");
  }

  void columns(const json::Value& version, const std::string& path) {
    constexpr std::array<std::string_view, 5> kTypes{"boolean", "date", "integer", "number", "string"};
    constexpr std::array<std::string_view, 8> kFormats{"byte",  "date",  "date-time", "double",
                                                       "float", "int32", "int64",     "password"};
    const json::Array& list = list_of(version["additionalPrinterColumns"]);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string where = at(at(path, "additionalPrinterColumns"), i);
      const std::string_view type = list[i].text("type");
      const std::string_view format = list[i].text("format");
      if (list[i].text("name").empty()) problems_.required(at(where, "name"));
      const std::string types = fmt::format("must be one of {}", fmt::join(kTypes, ","));
      if (type.empty()) {
        problems_.required(at(where, "type"), types);
      } else if (std::ranges::find(kTypes, type) == kTypes.end()) {
        problems_.invalid(at(where, "type"), type, types);
      }
      if (!format.empty() && std::ranges::find(kFormats, format) == kFormats.end())
        problems_.invalid(at(where, "format"), format, fmt::format("must be one of {}", fmt::join(kFormats, ",")));
      simple_path(list[i].text("jsonPath"), at(where, "JSONPath"));
    }
  }

  void selectable(const json::Value& version, const std::string& path) {
    const json::Array& list = list_of(version["selectableFields"]);
    if (list.empty() || !version["schema"]["openAPIV3Schema"].is_object()) return;
    const CrdSchema made(version["schema"]["openAPIV3Schema"], builtins_);
    const std::string all = at(path, "selectableFields");
    std::set<std::string> seen;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string where = at(at(all, i), "jsonPath");
      const std::string_view text = list[i].text("jsonPath");
      if (text.empty()) {
        problems_.required(where);
        continue;
      }
      auto found = detail::parse_field_path(text, made.root(), false);
      // The root has more members than the definition names; those are not for selecting.
      if (found && version["schema"]["openAPIV3Schema"]["properties"][found->root].is_null())
        found = std::unexpected("does not refer to a valid field");
      if (!found) {
        problems_.invalid(where, text, "is an invalid path: " + found.error());
        continue;
      }
      if (found->root == "metadata") problems_.invalid(where, text, "must not point to fields in metadata");
      const Schema::Type type = found->schema->type;
      if (type != Schema::Type::String && type != Schema::Type::Boolean && type != Schema::Type::Integer)
        problems_.invalid(
            where, text,
            "must point to a field of type string, boolean or integer. Enum string fields and strings with "
            "formats are allowed.");
      if (!seen.insert(found->str).second) problems_.duplicate(where, text);
    }
    if (seen.size() > 8) problems_.too_many(all, seen.size(), 8);
  }

  void names(const json::Value& names, const std::string& path, bool required) {
    for (const char* member : {"plural", "singular", "kind", "listKind"})
      if (required && names.text(member).empty()) problems_.required(at(path, member));
    for (const char* member : {"plural", "singular"})
      if (!names.text(member).empty()) label(names[member], at(path, member), false);
    for (const char* member : {"kind", "listKind"})
      if (!names.text(member).empty()) label(names[member], at(path, member), true);
    const json::Array& short_names = list_of(names["shortNames"]);
    for (std::size_t i = 0; i < short_names.size(); ++i) label(short_names[i], at(at(path, "shortNames"), i), false);
    if (!names.text("kind").empty() && names.text("kind") == names.text("listKind"))
      problems_.invalid(at(path, "listKind"), names["listKind"], "kind and listKind may not be the same");
    const json::Array& categories = list_of(names["categories"]);
    for (std::size_t i = 0; i < categories.size(); ++i) label(categories[i], at(at(path, "categories"), i), false);
  }

  void label(const json::Value& name, const std::string& path, bool mixed_case) {
    const std::string text = name.is_string() ? *name.as_string() : std::string();
    const auto complaints = api::check_dns1035_label(mixed_case ? lower(text) : text);
    if (complaints.empty()) return;
    problems_.invalid(path, name,
                      (mixed_case ? "may have mixed case, but should otherwise match: " : "") + joined(complaints));
  }

  void conversion() {
    const json::Value& conversion = spec_["conversion"];
    if (!conversion.is_object()) return;
    const std::string_view strategy = conversion.text("strategy");
    if (strategy.empty()) {
      problems_.required("spec.conversion.strategy");
    } else if (strategy != "None" && strategy != "Webhook") {
      problems_.not_supported("spec.conversion.strategy", strategy, {"None", "Webhook"});
    }
    const json::Value& webhook = conversion["webhook"];
    const json::Value& client = webhook["clientConfig"];
    const json::Array& review_versions = list_of(webhook["conversionReviewVersions"]);
    constexpr const char* kClient = "spec.conversion.webhookClientConfig";
    if (strategy != "Webhook") {
      constexpr const char* kWhy = "should not be set when strategy is not set to Webhook";
      if (!client.is_null()) problems_.forbidden(kClient, kWhy);
      if (!review_versions.empty()) problems_.forbidden("spec.conversion.conversionReviewVersions", kWhy);
      return;
    }
    if (client.is_null()) {
      problems_.required(kClient, "required when strategy is set to Webhook");
    } else if (client["url"].is_null() == client["service"].is_null()) {
      problems_.required(kClient, "exactly one of url or service is required");
    } else if (!client["url"].is_null()) {
      webhook_url(client.text("url"), at(kClient, "url"));
    } else {
      webhook_service(client["service"], at(kClient, "service"));
    }
    conversion_versions(review_versions);
  }

  void webhook_url(std::string_view url, const std::string& path) {
    constexpr std::string_view kForm = "; desired format: https://host[/path]";
    const std::size_t colon = url.find("://");
    const std::string_view scheme = colon != std::string_view::npos ? url.substr(0, colon) : std::string_view();
    std::string_view rest = colon != std::string_view::npos ? url.substr(colon + 3) : std::string_view();
    if (scheme != "https")
      problems_.invalid(path, scheme, fmt::format("'https' is the only allowed URL scheme{}", kForm));
    const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
    const std::string_view host = rest.substr(0, end);
    rest.remove_prefix(end);
    if (host.empty()) problems_.invalid(path, host, fmt::format("host must be specified{}", kForm));
    if (const std::size_t sign = host.rfind('@'); sign != std::string_view::npos)
      problems_.invalid(path, host.substr(0, sign), "user information is not permitted in the URL");
    if (const std::size_t hash = rest.find('#'); hash != std::string_view::npos && hash + 1 < rest.size())
      problems_.invalid(path, rest.substr(hash + 1), "fragments are not permitted in the URL");
    const std::string_view query = rest.substr(0, rest.find('#'));
    if (const std::size_t mark = query.find('?'); mark != std::string_view::npos && mark + 1 < query.size())
      problems_.invalid(path, query.substr(mark + 1), "query parameters are not permitted in the URL");
  }

  void webhook_service(const json::Value& service, const std::string& path) {
    // The server confuses the two: a missing name is told of as a missing namespace.
    if (service.text("namespace").empty()) problems_.required(at(path, "name"));
    if (service.text("name").empty()) problems_.required(at(path, "namespace"));
    const std::int64_t* port = service["port"].as_int();
    if (port != nullptr && (*port < 1 || *port > 65535))
      problems_.invalid(at(path, "port"), *port, "port is not valid: must be between 1 and 65535, inclusive");
    service_path(service.text("path"), at(path, "path"));
  }

  void service_path(std::string_view url_path, const std::string& where) {
    if (url_path.empty() || url_path == "/") return;
    if (url_path == "//") return problems_.invalid(where, url_path, "segment[0] may not be empty");
    if (!url_path.starts_with('/')) problems_.invalid(where, url_path, "must start with a '/'");
    std::string_view rest = url_path.substr(1);
    if (rest.ends_with('/')) rest.remove_suffix(1);
    for (std::size_t i = 0;; ++i) {
      const std::size_t slash = rest.find('/');
      const std::string_view segment = rest.substr(0, slash);
      if (segment.empty()) problems_.invalid(where, url_path, fmt::format("segment[{}] may not be empty", i));
      if (!segment.empty())
        for (const std::string& complaint : api::check_dns_subdomain(segment))
          problems_.invalid(where, url_path, fmt::format("segment[{}]: {}", i, complaint));
      if (slash == std::string_view::npos) return;
      rest.remove_prefix(slash + 1);
    }
  }

  void conversion_versions(const json::Array& versions) {
    constexpr const char* kPath = "spec.conversion.conversionReviewVersions";
    if (versions.empty()) return problems_.required(kPath);
    std::set<std::string, std::less<>> seen;
    bool known = false;
    for (std::size_t i = 0; i < versions.size(); ++i) {
      const std::string text = versions[i].is_string() ? *versions[i].as_string() : std::string();
      if (!seen.insert(text).second) {
        problems_.invalid(at(kPath, i), text, "duplicate version");
        continue;
      }
      for (const std::string& complaint : api::check_dns1035_label(text))
        problems_.invalid(at(kPath, i), text, complaint);
      known = known || text == "v1" || text == "v1beta1";
    }
    if (!known) problems_.invalid(kPath, versions, "must include at least one of v1, v1beta1");
  }

  void immutable() {
    const json::Value& before = (*old_)["spec"];
    const auto keep = [&](const json::Value& now, const json::Value& then, const char* path) {
      if (!(now == then)) problems_.invalid(path, now, "field is immutable");
    };
    if (is_established(*old_)) {
      keep(spec_["scope"], before["scope"], "spec.scope");
      keep(spec_["names"]["kind"], before["names"]["kind"], "spec.names.kind");
    }
    keep(spec_["group"], before["group"], "spec.group");
    keep(spec_["names"]["plural"], before["names"]["plural"], "spec.names.plural");
  }

  // The server adds the storage version to what was stored before it looks.
  void stored_versions() {
    constexpr const char* kPath = "status.storedVersions";
    json::Array stored;
    if (old_ != nullptr) stored = list_of((*old_)["status"]["storedVersions"]);
    const auto is_storage = [](const json::Value& v) { return is_true(v["storage"]); };
    const auto storage = std::ranges::find_if(versions_, is_storage);
    if (storage != versions_.end() && std::ranges::find(stored, (*storage)["name"]) == stored.end())
      stored.push_back((*storage)["name"]);
    if (stored.empty()) return problems_.invalid(kPath, nullptr, "must have at least one stored version");
    for (const json::Value& version : versions_)
      if (is_storage(version) && std::ranges::find(stored, version["name"]) == stored.end())
        problems_.invalid(kPath, stored, fmt::format("must have the storage version {}", version.text("name")));
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const auto known = std::ranges::find_if(versions_, [&](const json::Value& v) { return v["name"] == stored[i]; });
      if (known != versions_.end() || !stored[i].is_string()) continue;
      problems_.invalid(
          at(kPath, i), stored[i],
          fmt::format("missing from spec.versions; {0} was previously a storage version, and must remain in "
                      "spec.versions until a storage migration ensures no data remains persisted in {0} and "
                      "removes {0} from status.storedVersions",
                      *stored[i].as_string()));
    }
  }

  // Groups of the Kubernetes project itself.
  void approval() {
    constexpr const char* kAnnotation = "api-approved.kubernetes.io";
    const std::string_view group = spec_.text("group");
    const auto protects = [&](std::string_view domain) {
      return group == domain || group.ends_with(fmt::format(".{}", domain));
    };
    if (!protects("k8s.io") && !protects("kubernetes.io")) return;
    const auto annotation = [&](const json::Value& crd) { return crd["metadata"]["annotations"].text(kAnnotation); };
    const std::string_view now = annotation(crd_);
    if (old_ != nullptr && annotation(*old_) == now) return;
    const std::string where = at_key("metadata.annotations", kAnnotation);
    if (now.empty())
      return problems_.required(where, fmt::format("protected groups must have approval annotation \"{}\", see "
                                                   "https://github.com/kubernetes/enhancements/pull/1111",
                                                   kAnnotation));
    if (now.starts_with("unapproved") || now.find("://") != std::string_view::npos) return;
    problems_.invalid(
        where, now,
        fmt::format("protected groups must have approval annotation \"{}\" with either a URL or a reason "
                    "starting with \"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111",
                    kAnnotation));
  }

  const json::Value& crd_;
  const json::Value& spec_;
  const json::Array& versions_;
  BuiltinSchemas& builtins_;
  const json::Value* old_;
  Problems problems_;
};

}  // namespace

void default_crd(json::Value& crd) {
  json::Value& spec = crd["spec"];
  json::Value& names = spec["names"];
  const std::string kind(std::as_const(names).text("kind"));
  if (std::as_const(names).text("singular").empty()) names["singular"] = lower(kind);
  if (std::as_const(names).text("listKind").empty() && !kind.empty()) names["listKind"] = kind + "List";
  if (!std::as_const(spec)["conversion"].is_object()) {
    spec["conversion"] = json::Object{{"strategy", "None"}};
  } else if (std::as_const(spec)["conversion"]["webhook"]["clientConfig"]["service"].is_object()) {
    json::Value& service = spec["conversion"]["webhook"]["clientConfig"]["service"];
    if (std::as_const(service)["port"].is_null()) service["port"] = 443;
  }
}

Problems check_crd(const json::Value& crd, BuiltinSchemas& builtins, const json::Value* old) {
  return CrdCheck(crd, builtins, old).run();
}

}  // namespace kopper::plane
