#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "kopper/base/error.h"
#include "kopper/json/detail/object_end.h"

namespace kopper::json {

// What a list says of itself, beside its items.
struct ListMeta {
  std::string api_version;
  std::string kind;
  std::string resource_version;
  std::string continue_token;  // "" on the last page
  std::optional<std::int64_t> remaining_items;

  friend bool operator==(const ListMeta&, const ListMeta&) = default;
};

struct SplitLimits {
  std::size_t item_bytes = std::size_t{16} << 20U;
  std::size_t envelope_bytes = std::size_t{1} << 20U;  // everything but the items
  bool simd = true;                                    // off: only to compare the two ways
};

// Cuts a LIST body into its items while it is being downloaded, without a tree of the whole: memory is one item at
// most.
//
//   ListSplitter list;
//   while (chunk…) if (auto fed = list.feed(chunk, [&](std::string_view item) { … }); !fed) …fed.error()…
//   auto meta = list.finish();
//
// Only elements of the top-level "items" array are items, wherever that key comes. They must be objects, and are not
// looked into: the parser of an item says whether it is JSON. Everything around them is checked by finish().
// After an error only destruction makes sense.
class ListSplitter {
 public:
  // The item's bytes are valid during the call.
  using Sink = std::function<void(std::string_view item)>;

  explicit ListSplitter(SplitLimits limits = {});

  std::expected<void, DecodeError> feed(std::string_view chunk, const Sink& sink);
  // The body is complete. An error when it is not: cut short, not one JSON object, without "items".
  std::expected<ListMeta, DecodeError> finish();

  std::size_t items() const { return items_; }

 private:
  enum class State : std::uint8_t {
    Envelope,      // outside the items array
    FirstItem,     // after its '['
    NextItem,      // after a ','
    BetweenItems,  // after an item
    InItem,
  };
  enum class ItemsKey : std::uint8_t { No, Key, Colon };  // how much of `"items": [` came

  bool envelope(std::string_view& rest);
  bool envelope_byte(char c);
  bool between(std::string_view& rest);
  bool item(std::string_view& rest, const Sink& sink);
  bool fail(std::string what, std::string_view rest, std::string path);
  std::string item_path() const;

  // Constant after construction.
  SplitLimits limits_;
  detail::ObjectEnd object_end_;
  // The place in the stream.
  State state_ = State::Envelope;
  std::size_t fed_ = 0;  // bytes, the current chunk included
  std::size_t items_ = 0;
  DecodeError error_;
  // The item that is cut by the end of a chunk.
  detail::ObjectScan scan_;
  std::string partial_;
  // The body without its items, and the place in it.
  std::string envelope_;
  std::size_t depth_ = 0;
  std::size_t string_start_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool expects_key_ = false;  // at the top level
  ItemsKey items_key_ = ItemsKey::No;
  bool had_items_ = false;
};

}  // namespace kopper::json
