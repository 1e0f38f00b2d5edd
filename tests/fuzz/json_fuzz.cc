#include <cstddef>
#include <cstdint>

#include "kopper/json/value.h"

#include "require.h"

using namespace kopper;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = json::parse(text);
  if (!value) {
    require(!value.error().what.empty() && value.error().offset <= size, "an error has a reason and a place");
    return 0;
  }
  const std::string once = json::dump(*value);
  const auto back = json::parse(once);
  require(back.has_value(), "what dump writes, parse reads");
  require(*back == *value, "parse(dump(v)) == v");
  require(json::dump(*back) == once, "dump is stable");
  require(json::parse(json::dump_pretty(*value)) == value, "parse(dump_pretty(v)) == v");
  return 0;
}
