#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kopper/json/splitter.h"
#include "kopper/json/value.h"

#include "require.h"

using namespace kopper;
using fuzz::require;

namespace {

struct Outcome {
  std::vector<std::string> items;
  DecodeError error;  // empty when it went well
  json::ListMeta meta;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// Chunk sizes come from the input's own bytes.
Outcome split(std::string_view body, std::string_view sizes, bool simd) {
  Outcome out;
  json::ListSplitter splitter({.simd = simd});
  const auto sink = [&out](std::string_view item) { out.items.emplace_back(item); };
  for (std::size_t i = 0; !body.empty(); ++i) {
    const std::size_t want = sizes.empty() ? body.size() : 1 + static_cast<unsigned char>(sizes[i % sizes.size()]);
    const std::string chunk(body.substr(0, want));  // a copy of its own: the sanitizer sees its ends
    if (const auto fed = splitter.feed(chunk, sink); !fed) {
      out.error = fed.error();
      return out;
    }
    body.remove_prefix(chunk.size());
  }
  if (auto meta = splitter.finish()) {
    out.meta = std::move(*meta);
  } else {
    out.error = meta.error();
  }
  return out;
}

// Whatever the parser takes as a list of objects, the splitter must cut into the same objects.
void compare_with_parser(std::string_view body, const Outcome& outcome) {
  const auto whole = json::parse(body);
  const json::Array* items = whole ? (*whole)["items"].as_array() : nullptr;
  if (items == nullptr || body.find("\\u") != std::string_view::npos) return;  // an escaped "items" is not looked for
  if (!std::all_of(items->begin(), items->end(), [](const auto& v) { return v.is_object(); })) return;
  require(outcome.error.what.empty(), "a list that parses can be split");
  require(outcome.items.size() == items->size(), "as many items as the parser finds");
  for (std::size_t i = 0; i < items->size(); ++i)
    require(json::parse(outcome.items[i]) == (*items)[i], "the same items");
}

}  // namespace

// The first byte says how many bytes of chunk sizes follow; the rest is the body.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.empty()) return 0;
  const std::size_t sizes = std::min<std::size_t>(data[0] % 8U, size - 1);
  const std::string_view body = text.substr(1 + sizes);
  const Outcome expected = split(body, "", false);
  require(split(body, text.substr(1, sizes), false) == expected, "chunks do not matter");
  require(split(body, text.substr(1, sizes), true) == expected, "scalar and SIMD agree");
  require(split(body, "", true) == expected, "scalar and SIMD agree on the whole");
  compare_with_parser(body, expected);
  return 0;
}
