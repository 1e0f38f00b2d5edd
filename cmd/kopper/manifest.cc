#include "manifest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/json/yaml.h"

namespace kopper::cmd {
namespace {

void require_text(const json::Value& object, std::string_view field, std::string_view value, std::string_view source) {
  if (!value.empty()) return;
  throw Error(Code::Invalid, object.is_object() ? fmt::format("{} is missing", field) : "expected an object")
      .with(source);
}

void add_object(std::vector<Manifest>& out, Manifest manifest) {
  const auto& object = manifest.object;
  require_text(object, "apiVersion", manifest.api_version(), manifest.source);
  require_text(object, "kind", manifest.kind(), manifest.source);
  if (const auto* items = object["items"].as_array(); items != nullptr && manifest.kind().ends_with("List")) {
    for (std::size_t i = 0; i < items->size(); ++i) {
      add_object(out, {fmt::format("{}: items[{}]", manifest.source, i), (*items)[i]});
    }
    return;
  }
  require_text(object, "metadata.name", manifest.name(), manifest.source);
  out.push_back(std::move(manifest));
}

std::string read_stream(std::istream& in) {
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::string> files_of(const std::filesystem::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto extension = entry.path().extension();
    if (entry.is_regular_file() && (extension == ".yaml" || extension == ".yml" || extension == ".json")) {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) throw Error(Code::Invalid, "no .yaml, .yml or .json file in this folder").with(folder.string());
  return files;
}

void add_file(std::vector<Manifest>& out, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(Code::Invalid, "cannot be read").with(path);
  auto manifests = parse_manifests(read_stream(file), path);
  std::move(manifests.begin(), manifests.end(), std::back_inserter(out));
}

}  // namespace

std::vector<Manifest> parse_manifests(std::string_view text, std::string_view source) {
  const auto documents = json::parse_yaml(text);
  if (!documents) throw_error(documents.error(), source);
  std::vector<Manifest> manifests;
  for (const auto& document : *documents) {
    if (document.value.is_null()) continue;
    add_object(manifests, {fmt::format("{}:{}", source, document.line), document.value});
  }
  return manifests;
}

std::vector<Manifest> read_manifests(const std::vector<std::string>& paths) {
  std::vector<Manifest> manifests;
  for (const auto& path : paths) {
    if (path == "-") {
      auto more = parse_manifests(read_stream(std::cin), "standard input");
      std::move(more.begin(), more.end(), std::back_inserter(manifests));
    } else if (std::filesystem::is_directory(path)) {
      for (const auto& file : files_of(path)) add_file(manifests, file);
    } else {
      add_file(manifests, path);
    }
  }
  if (manifests.empty()) throw Error(Code::Invalid, "there is no object in what was given");
  return manifests;
}

}  // namespace kopper::cmd
