#include <cstddef>
#include <cstdint>

#include "kopper/json/yaml.h"

#include "require.h"

using namespace kopper;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const json::YamlLimits limits{.depth = 64, .alias_bytes = std::size_t{64} << 10U};
  const auto documents = json::parse_yaml(text, limits);
  if (!documents) {
    require(!documents.error().what.empty() && documents.error().offset <= size, "an error has a reason and a place");
    return 0;
  }
  for (const auto& document : *documents) {
    const auto back = json::parse_yaml(json::to_yaml(document.value), limits);
    require(back.has_value() && back->size() == 1, "what to_yaml writes is one document");
    require(back->front().value == document.value, "parse_yaml(to_yaml(v)) == v");
  }
  return 0;
}
