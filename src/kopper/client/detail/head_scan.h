#pragma once

#include <string_view>

namespace kopper::client::detail {

// Where an object says who it is. Empty: not said.
struct HeadView {
  std::string_view name;
  std::string_view namespace_;
  std::string_view uid;
  std::string_view resource_version;
};

// Reads that from the front of the text and stops as soon as it knows, usually in the first 200 bytes: API servers
// write metadata first, and these four at its beginning. False when anything is not as they write it (escapes in a
// name, other types, text that breaks off): then only a parser knows. Does not look at the rest of the text.
bool scan_head(std::string_view object, HeadView& out);

}  // namespace kopper::client::detail
