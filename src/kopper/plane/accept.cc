#include "kopper/plane/accept.h"

#include <algorithm>
#include <charconv>
#include <functional>

namespace kopper::plane {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Cuts the part before `mark` off.
std::string_view next(std::string_view& text, char mark) {
  const std::size_t end = text.find(mark);
  const std::string_view part = trim(text.substr(0, end));
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

double weight(const MediaRange& range) {
  const std::string_view q = range.parameter("q");
  double out = 1;
  if (!q.empty()) std::from_chars(q.data(), q.data() + q.size(), out);
  return out;
}

}  // namespace

std::string_view MediaRange::parameter(std::string_view name) const {
  std::string_view rest = parameters;
  while (!rest.empty()) {
    std::string_view one = next(rest, ';');
    if (next(one, '=') == name) return trim(one);
  }
  return "";
}

std::vector<MediaRange> parse_accept(std::string_view accept) {
  std::vector<MediaRange> out;
  while (!accept.empty()) {
    std::string_view text = next(accept, ',');
    MediaRange range;
    range.type = next(text, ';');
    range.parameters = text;
    if (range.type.empty()) continue;
    out.insert(std::ranges::upper_bound(out, weight(range), std::ranges::greater(), weight), range);
  }
  return out;
}

}  // namespace kopper::plane
