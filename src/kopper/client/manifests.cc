#include "kopper/client/manifests.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/client/api.h"
#include "kopper/client/discovery.h"
#include "kopper/json/yaml.h"
#include "kopper/rt/loop.h"

namespace kopper::client {

namespace {

constexpr auto kPause = std::chrono::milliseconds(20);
constexpr int kTries = 1500;  // half a minute

bool is_established(const json::Value& definition) {
  const auto* conditions = definition["status"]["conditions"].as_array();
  return conditions != nullptr && std::ranges::any_of(*conditions, [](const json::Value& one) {
           return one.text("type") == "Established" && one.text("status") == "True";
         });
}

Task<> apply_one(Client client, json::Value object, std::string namespace_) {
  const auto& read = std::as_const(object);
  const std::string api_version(read.text("apiVersion"));
  const std::string kind(read.text("kind"));
  const auto slash = api_version.find('/');
  const auto group = slash == std::string::npos ? std::string() : api_version.substr(0, slash);
  const auto version = slash == std::string::npos ? api_version : api_version.substr(slash + 1);
  RestMapper mapper(client);
  const auto found = co_await mapper.find(group, version, kind);
  if (found.resource.namespaced && read["metadata"].text("namespace").empty()) {
    object["metadata"]["namespace"] = namespace_;
  }
  ApplyOptions options;
  options.force = true;
  const auto api = client.of(found.resource);
  auto live = co_await api.apply(std::move(object), options);
  if (kind != "CustomResourceDefinition") co_return;
  const Key key("", std::string(std::as_const(live)["metadata"].text("name")));
  for (int tries = 0; !is_established(live); ++tries) {
    if (tries == kTries) throw Error(Code::Timeout, fmt::format("{} is not served", key.name));
    co_await rt::sleep(kPause);
    live = co_await api.get(key);
  }
}

}  // namespace

Task<> apply_manifests(Client client, std::string yaml, std::string namespace_) {
  auto documents = json::parse_yaml(yaml);
  if (!documents) throw_error(documents.error(), "manifests");
  for (auto& document : *documents) {
    try {
      co_await apply_one(client, std::move(document.value), namespace_);
    } catch (Error& error) {
      error.with(fmt::format("line {}", document.line));
      throw;
    }
  }
}

}  // namespace kopper::client
