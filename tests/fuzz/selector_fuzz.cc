// Whatever parses prints to something that parses to the same selector.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kopper/api/selector.h"

using kopper::api::FieldSelector;
using kopper::api::Labels;
using kopper::api::Selector;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto selector = Selector::parse(text)) {
    const auto again = Selector::parse(selector->str());
    if (!again || *again != *selector) std::abort();
    const Labels labels{{"a", "1"}, {"app", "web"}};
    if (selector->matches(labels) != again->matches(labels)) std::abort();
  }
  if (const auto selector = FieldSelector::parse(text)) {
    const auto again = FieldSelector::parse(selector->str());
    if (!again || *again != *selector) std::abort();
  }
  return 0;
}
