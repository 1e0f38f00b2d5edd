#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/json/value.h"

namespace kopper::gen {

// Where objects of a kind are found, from the paths of a document.
struct Endpoint {
  std::string plural;
  bool namespaced = false;
};

struct GroupVersionKind {
  std::string group;
  std::string version;
  std::string kind;

  friend auto operator<=>(const GroupVersionKind&, const GroupVersionKind&) = default;
};

// The schemas of one or more OpenAPI v3 documents, as /openapi/v3/… serves them, put together.
class Document {
 public:
  // Files, or folders of *.json. Throws Error(Invalid) naming the file.
  static Document load(const std::vector<std::filesystem::path>& inputs);
  void add(const json::Value& document);

  const std::map<std::string, json::Value, std::less<>>& schemas() const { return schemas_; }
  const json::Value* schema(std::string_view name) const;
  const std::map<GroupVersionKind, Endpoint>& endpoints() const { return endpoints_; }

 private:
  void add_path(std::string_view path, const json::Value& item);

  std::map<std::string, json::Value, std::less<>> schemas_;
  std::map<GroupVersionKind, Endpoint> endpoints_;
};

// "io.k8s.api.core.v1.Pod" → {"core", "v1", "Pod"}; the package is everything before the type.
struct SchemaName {
  std::string package;
  std::string group;  // the last part of the package before the version, as in a C++ name
  std::string version;
  std::string type;

  // "core/v1"
  std::string key() const { return group + "/" + version; }
};
SchemaName split_name(std::string_view schema);

// The schema's GVK, if it is an object of its own with a single one.
const json::Value* gvk_of(const json::Value& schema);
// PodList and the like.
bool is_list_kind(const json::Value& schema);
// What a {"$ref": …} or {"allOf": [{"$ref": …}]} points to, or "".
std::string_view ref_of(const json::Value& schema);

std::string read_file(const std::filesystem::path& path);

}  // namespace kopper::gen
