#include "image.h"

#include <algorithm>

namespace redis {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_word(char c) { return is_digit(c) || is_lower(c) || (c >= 'A' && c <= 'Z') || c == '_'; }

// A first part with a dot or a port, or localhost.
bool names_registry(std::string_view image) {
  const auto slash = image.find('/');
  if (slash == image.npos) return false;
  const auto host = image.substr(0, slash);
  return host == "localhost" || host.find_first_of(".:") != host.npos;
}

// Where the tag starts: a colon in the last part.
std::size_t tag_at(std::string_view image) {
  const auto slash = image.rfind('/');
  return image.find(':', slash == image.npos ? 0 : slash);
}

bool is_host(std::string_view host) {
  const auto colon = host.find(':');
  const auto name = host.substr(0, colon);
  const auto port = colon == host.npos ? std::string_view("0") : host.substr(colon + 1);
  return !name.empty() && name.front() != '-' && name.back() != '-' && !port.empty() &&
         std::ranges::all_of(name, [](char c) { return (is_word(c) && c != '_') || c == '.' || c == '-'; }) &&
         std::ranges::all_of(port, is_digit);
}

// Words of small letters and digits, with '.', '_', "__" or dashes between them.
bool is_path_part(std::string_view part) {
  const auto plain = [](char c) { return is_lower(c) || is_digit(c); };
  if (part.empty() || !plain(part.front()) || !plain(part.back())) return false;
  for (std::size_t i = 0; i < part.size();) {
    const auto end = std::find_if(part.begin() + static_cast<std::ptrdiff_t>(i), part.end(), plain);
    const auto between = part.substr(i, static_cast<std::size_t>(end - part.begin()) - i);
    if (!between.empty() && between != "." && between != "_" && between != "__" &&
        between.find_first_not_of('-') != between.npos) {
      return false;
    }
    i += between.size() + 1;
  }
  return true;
}

bool is_tag(std::string_view tag) {
  return !tag.empty() && tag.size() <= 128 && is_word(tag.front()) &&
         std::ranges::all_of(tag, [](char c) { return is_word(c) || c == '.' || c == '-'; });
}

bool is_digest(std::string_view digest) {
  const auto colon = digest.find(':');
  if (colon == digest.npos || colon == 0) return false;
  const auto hash = digest.substr(colon + 1);
  return hash.size() >= 32 && std::ranges::all_of(digest.substr(0, colon), is_word) &&
         std::ranges::all_of(hash, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::string image_of(std::string_view repository, std::string_view image, std::string_view version) {
  while (repository.ends_with('/')) repository.remove_suffix(1);
  std::string out;
  if (image.empty()) {
    out = repository;
  } else if (repository.empty() || names_registry(image)) {
    out = image;
  } else {
    out = repository;
    out += '/';
    out += image;
  }
  if (out.empty() || version.empty() || out.find('@') != out.npos || tag_at(out) != out.npos) return out;
  out += version.find(':') == version.npos ? ':' : '@';
  out += version;
  return out;
}

bool is_image(std::string_view reference) {
  if (const auto at = reference.find('@'); at != reference.npos) {
    if (!is_digest(reference.substr(at + 1))) return false;
    reference = reference.substr(0, at);
  }
  if (const auto tag = tag_at(reference); tag != reference.npos) {
    if (!is_tag(reference.substr(tag + 1))) return false;
    reference = reference.substr(0, tag);
  }
  if (names_registry(reference)) {
    const auto slash = reference.find('/');
    if (!is_host(reference.substr(0, slash))) return false;
    reference.remove_prefix(slash + 1);
  }
  if (reference.size() > 255) return false;
  for (std::size_t start = 0;;) {
    const auto slash = reference.find('/', start);
    if (!is_path_part(reference.substr(start, slash - start))) return false;
    if (slash == reference.npos) return true;
    start = slash + 1;
  }
}

}  // namespace redis
