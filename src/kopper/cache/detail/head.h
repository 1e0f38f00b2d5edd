#pragma once

#include <cstdint>
#include <expected>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/base/error.h"

namespace kopper::cache::detail {

// What a record says of an object without its text being read again. Views point into the text that was scanned, or
// into buffers of this thread: valid until the next scan.
struct Head {
  std::string_view kind;  // when it stands before metadata, as servers write it
  std::string_view namespace_;
  std::string_view name;
  std::string_view uid;
  std::uint64_t resource_version = 0;
  std::int64_t generation = 0;
  bool deleting = false;
  bool owned = false;  // by a controller: the four strings
  std::string_view owner[4];
  std::vector<std::pair<std::string_view, std::string_view>> labels;
  std::uint64_t annotations_hash = 0;
  // The text around metadata.managedFields.
  std::string_view before_cut;
  std::string_view after_cut;
};

// One pass, up to the end of metadata; what follows is not looked at. Any bytes are safe to pass.
std::expected<void, DecodeError> scan(std::string_view json, Head& out);

// 0 when it is no decimal number that fits.
std::uint64_t parse_version(std::string_view text);

}  // namespace kopper::cache::detail
