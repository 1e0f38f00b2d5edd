#include "document.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "kopper/base/error.h"

namespace kopper::gen {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (;;) {
    const auto at = text.find(separator);
    out.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

GroupVersionKind to_gvk(const json::Value& v) {
  return {std::string(v.text("group")), std::string(v.text("version")), std::string(v.text("kind"))};
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(Code::Invalid, "cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

Document Document::load(const std::vector<std::filesystem::path>& inputs) {
  std::vector<std::filesystem::path> files;
  for (const auto& input : inputs) {
    if (!std::filesystem::is_directory(input)) {
      files.push_back(input);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(input)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);  // the same input gives the same output, whatever the folder's order
  Document out;
  for (const auto& file : files) {
    const auto value = json::parse(read_file(file));
    if (!value) throw_error(value.error(), file.string());
    if (!(*value)["components"]["schemas"].is_object()) {
      throw Error(Code::Invalid, file.string() + ": not an OpenAPI v3 document: no components.schemas");
    }
    out.add(*value);
  }
  return out;
}

void Document::add(const json::Value& document) {
  if (const auto* schemas = document["components"]["schemas"].as_object()) {
    for (const auto& [name, schema] : *schemas) schemas_.try_emplace(name, schema);
  }
  if (const auto* paths = document["paths"].as_object()) {
    for (const auto& [path, item] : *paths) add_path(path, item);
  }
}

// /api/v1/… or /apis/group/version/…, then [namespaces/{namespace}/]plural[/{name}]. Anything longer is a subresource.
void Document::add_path(std::string_view path, const json::Value& item) {
  auto parts = split(path, '/');
  std::erase(parts, std::string_view());
  const std::size_t prefix = !parts.empty() && parts[0] == "apis" ? 3 : 2;
  if (parts.size() <= prefix || !item.is_object()) return;
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(prefix));
  if (parts[0] == "watch") return;
  const bool namespaced = parts.size() > 2 && parts[0] == "namespaces" && parts[1] == "{namespace}";
  if (namespaced) parts.erase(parts.begin(), parts.begin() + 2);
  if (parts.size() > 2 || (parts.size() == 2 && parts[1] != "{name}")) return;
  for (const auto& [verb, operation] : *item.as_object()) {
    const auto& gvk = operation["x-kubernetes-group-version-kind"];
    if (!gvk.is_object()) continue;
    auto& endpoint = endpoints_[to_gvk(gvk)];
    endpoint.plural = parts[0];
    endpoint.namespaced = endpoint.namespaced || namespaced;
  }
}

const json::Value* Document::schema(std::string_view name) const {
  const auto it = schemas_.find(name);
  return it == schemas_.end() ? nullptr : &it->second;
}

SchemaName split_name(std::string_view schema) {
  auto parts = split(schema, '.');
  SchemaName out;
  out.type = parts.back();
  out.package = schema.substr(0, schema.size() - std::min(schema.size(), out.type.size() + 1));
  parts.pop_back();
  if (!parts.empty()) {
    out.version = parts.back();
    parts.pop_back();
  }
  if (!parts.empty()) out.group = parts.back();
  std::erase_if(out.group, [](char c) { return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')); });
  return out;
}

const json::Value* gvk_of(const json::Value& schema) {
  const auto* gvks = schema["x-kubernetes-group-version-kind"].as_array();
  return gvks != nullptr && gvks->size() == 1 ? &gvks->front() : nullptr;
}

bool is_list_kind(const json::Value& schema) {
  const auto& properties = schema["properties"];
  return gvk_of(schema) != nullptr && properties["items"].text("type") == "array" &&
         ref_of(properties["metadata"]).ends_with(".ListMeta");
}

std::string_view ref_of(const json::Value& schema) {
  const auto ref = schema["$ref"].is_string() ? schema.text("$ref") : schema["allOf"][std::size_t{0}].text("$ref");
  return ref.substr(ref.rfind('/') + 1);
}

}  // namespace kopper::gen
