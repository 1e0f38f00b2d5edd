#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/base/error.h"
#include "kopper/json/value.h"

namespace kopper::json {

struct YamlLimits {
  std::size_t depth = 256;
  std::size_t bytes = std::size_t{64} << 20U;
  std::size_t alias_bytes = std::size_t{16} << 20U;  // memory that all anchors and aliases together may add
};

struct YamlDocument {
  Value value;
  std::size_t line = 1;  // where its content starts
};

// Every document of a stream; empty ones (nothing between two "---") are left out. YAML 1.1 as Kubernetes reads it:
//  - plain y/yes/on/true and n/no/off/false are booleans; ~, null and nothing are null; 0x, 0o, 0b and a leading 0 give
//    another base; underscores in numbers are dropped; timestamps and base-60 numbers stay strings
//  - keys that are numbers or booleans become their text: `on: 1` is {"true": 1}; null, list and map keys are refused
//  - anchors, aliases, and `<<` merges, where a key written out wins over a merged one and the first of several merges
//  wins
//  - !!str, !!int, !!float, !!bool, !!null, !!binary (decoded); other tags are ignored
//  - duplicate keys, .inf and .nan are refused
// A stream that is one JSON object is read as JSON. Errors read "line 3, column 7: …" and carry the path and byte
// offset.
std::expected<std::vector<YamlDocument>, DecodeError> parse_yaml(std::string_view text, YamlLimits limits = {});

// One document in block style, members in their order, as kubectl -o yaml prints it: a string that would be read as
// something else is quoted, one of several lines is a literal block. Bytes that are not UTF-8 become U+FFFD.
std::string to_yaml(const Value& value);

}  // namespace kopper::json
