// Any bytes as a body in protobuf: an error within them, or an object whose JSON reads back the same and which the
// server's own decoding takes or refuses.
#include <cstdint>
#include <string_view>

#include "kopper/json/value.h"
#include "kopper/plane/builtin/conform.h"
#include "kopper/plane/proto/decode.h"
#include "kopper/plane/resource.h"

#include "require.h"

using namespace kopper;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto value = plane::proto::decode_protobuf(bytes);
  if (!value) {
    fuzz::require(!value.error().what.empty() && value.error().offset <= size, "an error is somewhere in the bytes");
    return 0;
  }
  const std::string text = json::dump(*value);
  const auto again = json::parse(text);
  fuzz::require(again && *again == *value && json::dump(*again) == text, "the JSON reads back the same");
  static const plane::Catalog catalog;
  const std::string_view version = value->text("apiVersion");
  const std::size_t slash = version.find('/');
  const auto resource =
      slash == std::string_view::npos
          ? catalog.find_kind("", version, value->text("kind"))
          : catalog.find_kind(version.substr(0, slash), version.substr(slash + 1), value->text("kind"));
  if (!resource) return 0;
  const auto findings = plane::builtin::conform(*value, *resource->schema);
  fuzz::require(findings.strict.empty(), "every member is known");
  return 0;
}
