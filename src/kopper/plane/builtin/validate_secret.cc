#include "kopper/plane/builtin/validate_secret.h"

#include "kopper/meta/base64.h"
#include "kopper/plane/go_syntax.h"

namespace kopper::plane::builtin {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr std::string_view kFixed = "field is immutable when `immutable` is set";

std::size_t decoded_size(const std::string& base64) {
  const auto bytes = meta::from_base64(base64);
  return bytes ? bytes->size() : base64.size();
}

void check_fixed(Check& check, const Value& object, const Value* old, std::initializer_list<const char*> names) {
  if (old == nullptr || (*old)["immutable"] != Value(true)) return;
  if (object["immutable"] != Value(true)) check.forbidden(Path("immutable"), kFixed);
  for (const char* member : names)
    if (object[member] != (*old)[member]) check.forbidden(Path(member), kFixed);
}

}  // namespace

void check_config_map(Check& check, const Value& object, const Value* old) {
  check_fixed(check, object, old, {"data", "binaryData"});
  std::size_t bytes = 0;
  const Path data("data");
  for (const auto& [key, value] : members(object["data"])) {
    check.names(data.key(key), key, api::check_config_key(key));
    if (!object["binaryData"][key].is_null())
      check.invalid(data.key(key), key, "duplicate of key present in binaryData");
    if (const std::string* text = value.as_string()) bytes += text->size();
  }
  const Path binary("binaryData");
  for (const auto& [key, value] : members(object["binaryData"])) {
    check.names(binary.key(key), key, api::check_config_key(key));
    if (const std::string* text = value.as_string()) bytes += decoded_size(*text);
  }
  if (bytes > kMiB) check.too_long(Path("[]"), kMiB);
}

void check_secret(Check& check, const Value& object, const Value* old) {
  if (old != nullptr) check.immutable(Path("type"), object["type"], (*old)["type"]);
  check_fixed(check, object, old, {"data"});
  const Path data("data");
  std::size_t bytes = 0;
  for (const auto& [key, value] : members(object["data"])) {
    check.names(data.key(key), key, api::check_config_key(key));
    if (const std::string* text = value.as_string()) bytes += decoded_size(*text);
  }
  if (bytes > kMiB) check.too_long(data, kMiB);
  const std::string_view type = object.text("type");
  const auto has = [&](std::string_view key) { return !object["data"][key].is_null(); };
  const auto needs = [&](std::string_view key) {
    if (!has(key)) check.required(data.key(key));
  };
  const auto is_json = [&](std::string_view key) {
    const auto content = meta::from_base64(object["data"].text(key));
    if (!has(key) || !content) return;
    if (const std::string error = go_json_error(*content); !error.empty())
      check.invalid(data.key(key), "<secret contents redacted>", error);
  };
  if (type == "kubernetes.io/service-account-token") {
    constexpr std::string_view kAccount = "kubernetes.io/service-account.name";
    const Path metadata("metadata");
    const Path annotations = metadata / "annotations";
    if (object["metadata"]["annotations"].text(kAccount).empty()) check.required(annotations.key(kAccount));
  } else if (type == "kubernetes.io/dockercfg") {
    needs(".dockercfg");
    is_json(".dockercfg");
  } else if (type == "kubernetes.io/dockerconfigjson") {
    needs(".dockerconfigjson");
    is_json(".dockerconfigjson");
  } else if (type == "kubernetes.io/basic-auth") {
    if (has("username") || has("password")) return;
    needs("username");
    needs("password");
  } else if (type == "kubernetes.io/ssh-auth") {
    needs("ssh-privatekey");
  } else if (type == "kubernetes.io/tls") {
    needs("tls.crt");
    needs("tls.key");
  }
}

}  // namespace kopper::plane::builtin
