#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kopper::json::detail {

// One step of a path as Kubernetes writes field paths, put in front of what is known already while an error climbs out
// of a recursion: "image" → "[0].image" → "containers[0].image". A key that is no plain name is bracketed:
// "metadata.annotations[example.com/a]".
void prepend_key(std::string& path, std::string_view key);
void prepend_index(std::string& path, std::size_t index);

}  // namespace kopper::json::detail
