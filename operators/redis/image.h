#pragma once

#include <string>
#include <string_view>

namespace redis {

// The reference of an image that a spec names in parts:
//   ("library/redis", "", "7.2")            library/redis:7.2
//   ("hub.example.com/mw/", "redis", "7.2") hub.example.com/mw/redis:7.2
//   ("hub.example.com", "other.io/redis:6") other.io/redis:6       an image with a registry of its own
// `version` is a tag, or a digest ("sha256:…"), for images that have neither.
std::string image_of(std::string_view repository, std::string_view image, std::string_view version);

// Whether it is a reference that a runtime would try to pull.
bool is_image(std::string_view reference);

}  // namespace redis
