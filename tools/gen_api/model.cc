#include "model.h"

#include <algorithm>
#include <array>
#include <functional>
#include <sstream>

#include <fmt/format.h>

#include "kopper/base/error.h"

namespace kopper::gen {
namespace {

// The groups that the library itself carries: a document of somebody's own resources refers to them.
constexpr auto kBuiltIn = std::to_array<std::string_view>(
    {"admission/v1", "admissionregistration/v1", "apiextensions/v1", "apiregistration/v1", "apps/v1",
     "authentication/v1", "authorization/v1", "autoscaling/v1", "autoscaling/v2", "batch/v1", "coordination/v1",
     "core/v1", "discovery/v1", "events/v1", "meta/v1", "networking/v1", "policy/v1", "rbac/v1", "storage/v1"});

// Schemas that hold any JSON, recursively or because Kubernetes does not say. Matched by the end of the name.
constexpr auto kAnyJson = std::to_array<std::string_view>(
    {".JSONSchemaProps", ".JSONSchemaPropsOrArray", ".JSONSchemaPropsOrBool", ".JSONSchemaPropsOrStringArray",
     ".runtime.RawExtension", ".meta.v1.FieldsV1", ".meta.v1.WatchEvent"});

// Optional where the rules below say plain: 0, false or "" differ from nothing there.
constexpr auto kOptional = std::to_array<std::string_view>(
    {"ContainerStatus.started", "DaemonSetStatus.collisionCount", "DeploymentStatus.collisionCount",
     "DeploymentStatus.terminatingReplicas", "HostPathVolumeSource.type", "JobStatus.ready", "JobStatus.terminating",
     "MetricValueStatus.averageUtilization", "NodeSwapStatus.capacity", "PersistentVolumeClaimSpec.storageClassName",
     "PersistentVolumeClaimSpec.volumeAttributesClassName",
     "PersistentVolumeClaimStatus.currentVolumeAttributesClassName", "ReplicaSetStatus.terminatingReplicas",
     "StatefulSetStatus.collisionCount"});

// Plain and not written when 0, although not in a type that reports state.
constexpr auto kPlain = std::to_array<std::string_view>({"ObjectMeta.generation"});

constexpr auto kReserved = std::to_array<std::string_view>(
    {"alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
     "char8_t", "char16_t", "char32_t", "class", "compl", "concept", "const", "consteval", "constexpr", "constinit",
     "const_cast", "continue", "co_await", "co_return", "co_yield", "decltype", "default", "delete", "do", "double",
     "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
     "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
     "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short", "signed",
     "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local",
     "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void",
     "volatile", "wchar_t", "while", "xor", "xor_eq",
     // macros of the C library
     "stdin", "stdout", "stderr", "errno", "linux"});

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

bool is_any_json(std::string_view schema) {
  return std::ranges::any_of(kAnyJson, [&](std::string_view end) { return schema.ends_with(end); });
}

// Types that say how things are. Their numbers are read far more often than written, so they are plain: `status.ready`.
bool reports_state(std::string_view type) {
  return type.ends_with("Status") || type.ends_with("Condition") || type == "StatusDetails";
}

// How a schema looks in C++, without regard to whether it must be there.
struct Mapped {
  enum class Class : std::uint8_t { Number, Text, Time, Scalar, Any, Record, Container };
  Class shape;
  std::string type;
  bool atomic = false;
};

std::string with_c_letters(std::string_view json) {
  std::string out;
  for (const char c : json) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    out += fine ? c : '_';
  }
  return out;
}

// The part of a struct's name that a property gives: storage → Storage.
std::string pascal(std::string_view json) {
  auto out = with_c_letters(json);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

class Builder {
 public:
  Builder(const Document& document, const Order& order, const Options& options)
      : document_(document), order_(order), options_(options) {}

  std::vector<Group> run() {
    const auto wanted = groups();
    for (const auto& [name, schema] : document_.schemas()) {
      const auto parts = split_name(name);
      if (wanted.contains(parts.key()) && is_struct(name, schema)) structs_.emplace(name, parts.key());
    }
    std::vector<Group> out;
    for (const auto& key : wanted) out.push_back(group(key));
    return out;
  }

 private:
  std::set<std::string> groups() const {
    if (!options_.groups.empty()) return options_.groups;
    std::set<std::string> out;
    for (const auto& [name, schema] : document_.schemas()) {
      const auto key = split_name(name).key();
      if (gvk_of(schema) != nullptr && !contains(kBuiltIn, key)) out.insert(key);
    }
    return out;
  }

  static bool is_struct(std::string_view name, const json::Value& schema) {
    return schema["properties"].is_object() && !is_any_json(name) && !is_list_kind(schema);
  }

  Group group(const std::string& key) {
    const auto slash = key.find('/');
    Group out{.file = key.substr(0, slash) + "_" + key.substr(slash + 1),
              .namespace_ = key.substr(0, slash) + key.substr(slash + 1)};
    group_ = &out;
    key_ = key;
    done_.clear();
    for (const auto& [name, of] : structs_)
      if (of == key) add(name);
    if (out.structs.empty()) throw Error(Code::Invalid, fmt::format("group {}: no type in the documents", key));
    return out;
  }

  // Adds a schema's struct after everything that it holds.
  void add(const std::string& name) {
    if (!done_.insert(name).second) return;
    open_.insert(name);
    add_struct(split_name(name).type, name, *document_.schema(name));
    open_.erase(name);
  }

  void add_struct(const std::string& type, std::string_view schema_name, const json::Value& schema) {
    Struct out{.name = type};
    if (const auto* gvk = gvk_of(schema)) out.kind = kind(*gvk);
    const auto& properties = *schema["properties"].as_object();
    for (const auto& property : ordered(schema_name, properties)) {
      if (out.kind && (property == "apiVersion" || property == "kind")) continue;
      out.members.push_back(member(out, property, *properties.find(property), is_required(schema, property)));
    }
    group_->structs.push_back(std::move(out));
  }

  static bool is_required(const json::Value& schema, std::string_view property) {
    const auto* required = schema["required"].as_array();
    return required != nullptr && std::ranges::any_of(*required, [&](const json::Value& name) {
             return name.as_string() != nullptr && *name.as_string() == property;
           });
  }

  Kind kind(const json::Value& gvk) const {
    Kind out{.gvk = {std::string(gvk.text("group")), std::string(gvk.text("version")), std::string(gvk.text("kind"))},
             .plural = {}};
    if (const auto it = document_.endpoints().find(out.gvk); it != document_.endpoints().end()) {
      out.plural = it->second.plural;
      out.namespaced = it->second.namespaced;
    }
    return out;
  }

  // The names in the order table first, then the rest as the document has them.
  std::vector<std::string> ordered(std::string_view schema_name, const json::Object& properties) const {
    std::vector<std::string> out;
    if (const auto it = order_.find(schema_name); it != order_.end()) {
      std::ranges::copy_if(it->second, std::back_inserter(out), [&](const auto& n) { return properties.contains(n); });
    } else if (properties.contains("metadata")) {
      for (const auto* first : {"metadata", "spec", "status"})
        if (properties.contains(first)) out.emplace_back(first);
    }
    for (const auto& [name, schema] : properties)
      if (std::ranges::find(out, name) == out.end()) out.push_back(name);
    return out;
  }

  Member member(const Struct& owner, const std::string& json, const json::Value& schema, bool required) {
    const auto mapped = map(schema, owner.name + pascal(json));
    Member out{.name = identifier(json), .json = json, .type = mapped.type, .required = required};
    const auto id = owner.name + "." + json;
    const bool has_default = schema.is_object() && schema.as_object()->contains("default");
    switch (mapped.shape) {
      case Mapped::Class::Number:
        if (contains(kOptional, id))
          out.type = optional(mapped.type);
        else if (required || has_default)
          break;
        else if (reports_state(owner.name) || contains(kPlain, id))
          out.omit_zero = true;
        else
          out.type = optional(mapped.type);
        break;
      case Mapped::Class::Text:
        if (contains(kOptional, id)) out.type = optional(mapped.type);
        break;
      case Mapped::Class::Scalar:
        if (!required) out.type = optional(mapped.type);
        break;
      case Mapped::Class::Record: {
        // {} as default: a Go struct that is always there. Nothing in it is as good as no object at all.
        const bool part = owner.kind && (json == "metadata" || json == "spec" || json == "status");
        if (has_default) {
          out.omit_zero = true;
        } else if (!required && !part) {
          out.type = fmt::format("::kopper::Box<{}>", mapped.type);
          group_->includes.insert("kopper/meta/box.h");
        }
        break;
      }
      case Mapped::Class::Time:
      case Mapped::Class::Any:
      case Mapped::Class::Container: break;
    }
    merging(out, schema, mapped);
    if (const auto& d = schema["default"]; has_default && !d.is_null() && d != json::Value("") && d != json::Value(0) &&
                                           d != json::Value(false) && d != json::Value(json::Object{})) {
      out.default_json = json::dump(d);
      if (mapped.shape == Mapped::Class::Number && out.type == mapped.type) out.initial = out.default_json;
    }
    return out;
  }

  static std::string optional(const std::string& type) { return fmt::format("std::optional<{}>", type); }

  static void merging(Member& out, const json::Value& schema, const Mapped& mapped) {
    const auto list = schema.text("x-kubernetes-list-type");
    const auto map = schema.text("x-kubernetes-map-type");
    if (list == "atomic" || map == "atomic" || mapped.atomic)
      out.topology = "Atomic";
    else if (list == "set")
      out.topology = "Set";
    else if (list == "map")
      out.topology = "Map";
    else if (map == "granular")
      out.topology = "Granular";
    if (const auto* keys = schema["x-kubernetes-list-map-keys"].as_array()) {
      for (const auto& key : *keys) out.map_keys.push_back(*key.as_string());
    }
    const auto strategy = schema.text("x-kubernetes-patch-strategy");
    out.patch_merge = strategy.find("merge") != std::string_view::npos;
    out.patch_retain_keys = strategy.find("retainKeys") != std::string_view::npos;
    out.patch_merge_key = schema.text("x-kubernetes-patch-merge-key");
  }

  // `name` is what a struct is called that the schema describes in place.
  Mapped map(const json::Value& schema, const std::string& name) {
    using enum Mapped::Class;
    if (const auto ref = ref_of(schema); !ref.empty()) return map_ref(ref);
    const auto type = schema.text("type");
    const auto format = schema.text("format");
    const auto* any = schema["x-kubernetes-preserve-unknown-fields"].as_bool();
    const auto* mixed = schema["x-kubernetes-int-or-string"].as_bool();
    if (format == "int-or-string" || (mixed != nullptr && *mixed)) return scalar("IntOrString", "int_or_string.h");
    if (type == "string") {
      if (format == "byte") return {Text, "::kopper::Bytes"};
      if (format == "date-time") return time("Time");
      return {Text, "std::string"};
    }
    if (type == "boolean") return {Number, "bool"};
    if (type == "number") return {Number, "double"};
    if (type == "integer") return {Number, format == "int32" ? "std::int32_t" : "std::int64_t"};
    if (type == "array") return {Container, fmt::format("std::vector<{}>", element(schema["items"], name).type)};
    if (type == "object" && schema["additionalProperties"].is_object()) {
      return {Container, fmt::format("std::map<std::string, {}>", element(schema["additionalProperties"], name).type)};
    }
    const auto* properties = schema["properties"].as_object();
    if (properties != nullptr && !properties->empty() && (any == nullptr || !*any)) {
      add_struct(name, {}, schema);
      return {Record, name, schema.text("x-kubernetes-map-type") == "atomic"};
    }
    return {Any, "::kopper::json::Value"};
  }

  // std::vector<bool> has no elements to point to; nobody has needed one yet.
  Mapped element(const json::Value& schema, const std::string& name) {
    auto out = map(schema, name);
    if (out.type == "bool") out = {Mapped::Class::Any, "::kopper::json::Value"};
    return out;
  }

  Mapped scalar(std::string_view type, std::string_view header) {
    group_->includes.insert(fmt::format("kopper/api/{}", header));
    return {Mapped::Class::Scalar, fmt::format("::kopper::api::{}", type)};
  }

  Mapped time(std::string_view type) {
    group_->includes.insert("kopper/api/time.h");
    return {Mapped::Class::Time, fmt::format("::kopper::api::{}", type)};
  }

  Mapped map_ref(std::string_view ref) {
    if (ref.ends_with(".api.resource.Quantity")) return scalar("Quantity", "quantity.h");
    if (ref.ends_with(".intstr.IntOrString")) return scalar("IntOrString", "int_or_string.h");
    if (ref.ends_with(".meta.v1.Time")) return time("Time");
    if (ref.ends_with(".meta.v1.MicroTime")) return time("MicroTime");
    if (is_any_json(ref)) return {Mapped::Class::Any, "::kopper::json::Value"};
    const auto parts = split_name(ref);
    const auto* schema = document_.schema(ref);
    const bool atomic = schema != nullptr && schema->text("x-kubernetes-map-type") == "atomic";
    if (const auto it = structs_.find(std::string(ref)); it != structs_.end()) {
      if (it->second != key_) return other_group(options_.namespace_, options_.include, parts, atomic);
      if (open_.contains(it->first)) return {Mapped::Class::Any, "::kopper::json::Value"};  // it holds itself
      add(it->first);
      return {Mapped::Class::Record, parts.type, atomic};
    }
    const bool in_library = ref.starts_with("io.k8s.") && contains(kBuiltIn, parts.key());
    if (!options_.groups.contains(parts.key()) && in_library) {
      return other_group("kopper::api", "kopper/api/gen", parts, atomic);
    }
    if (schema != nullptr && !schema->as_object()->contains("properties") && !schema->text("type").empty() &&
        schema->text("type") != "object") {
      return map(*schema, parts.type);  // a named string or number
    }
    return {Mapped::Class::Any, "::kopper::json::Value"};
  }

  Mapped other_group(std::string_view ns, std::string_view include, const SchemaName& parts, bool atomic) {
    group_->includes.insert(fmt::format("{}/{}_{}.h", include, parts.group, parts.version));
    return {Mapped::Class::Record, fmt::format("::{}::{}{}::{}", ns, parts.group, parts.version, parts.type), atomic};
  }

  const Document& document_;
  const Order& order_;
  const Options& options_;
  std::map<std::string, std::string> structs_;  // schema → group, of what is generated
  Group* group_ = nullptr;                      // being built
  std::string key_;
  std::set<std::string> done_;
  std::set<std::string> open_;
};

}  // namespace

std::string identifier(std::string_view json) {
  auto out = with_c_letters(json);
  if (out.empty() || (out[0] >= '0' && out[0] <= '9')) out.insert(0, "_");
  if (contains(kReserved, out)) out += '_';
  return out;
}

Order read_order(const std::filesystem::path& file) {
  Order out;
  std::istringstream lines(read_file(file));
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    if (line.starts_with('#') || colon == std::string::npos) continue;
    std::istringstream names(line.substr(colon + 1));
    auto& order = out[line.substr(0, colon)];
    for (std::string name; names >> name;) order.push_back(name);
  }
  return out;
}

std::vector<Group> build_model(const Document& document, const Order& order, const Options& options) {
  return Builder(document, order, options).run();
}

}  // namespace kopper::gen
