#include "kopper/plane/ip.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

namespace kopper::plane {
namespace {

bool parse_v4(std::string_view text, std::uint8_t* out, bool sloppy) {
  for (int i = 0; i < 4; ++i) {
    const std::size_t dot = text.find('.');
    if ((dot == std::string_view::npos) != (i == 3)) return false;
    const std::string_view part = text.substr(0, dot);
    if (part.empty() || (part.size() > 1 && part[0] == '0' && !sloppy)) return false;
    unsigned value = 0;
    for (const char c : part) {
      if (c < '0' || c > '9') return false;
      value = value * 10 + static_cast<unsigned>(c - '0');
      if (value > 255) return false;
    }
    out[i] = static_cast<std::uint8_t>(value);
    if (i < 3) text.remove_prefix(dot + 1);
  }
  return true;
}

bool parse_v6(std::string_view text, std::array<std::uint8_t, 16>& out, bool sloppy) {
  std::size_t at = 0;
  std::optional<std::size_t> gap;
  if (text.starts_with("::")) {
    gap = 0;
    text.remove_prefix(2);
  } else if (text.starts_with(":")) {
    return false;
  }
  while (!text.empty()) {
    if (at >= 16) return false;
    const std::size_t colon = text.find(':');
    const std::string_view part = text.substr(0, colon);
    if (part.find('.') != std::string_view::npos) {
      if (colon != std::string_view::npos || at > 12 || !parse_v4(part, &out[at], sloppy)) return false;
      at += 4;
      text = {};
      break;
    }
    unsigned value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value, 16);
    if (part.empty() || part.size() > 4 || error != std::errc() || end != part.data() + part.size()) return false;
    out[at] = static_cast<std::uint8_t>(value >> 8U);
    out[at + 1] = static_cast<std::uint8_t>(value & 0xFFU);
    at += 2;
    if (colon == std::string_view::npos) {
      text = {};
      break;
    }
    text.remove_prefix(colon + 1);
    if (text.empty()) return false;  // ends with one colon
    if (text[0] == ':') {
      if (gap) return false;
      gap = at;
      text.remove_prefix(1);
    }
  }
  if (!gap) return at == 16;
  if (at >= 16) return false;
  std::move_backward(out.begin() + static_cast<std::ptrdiff_t>(*gap), out.begin() + static_cast<std::ptrdiff_t>(at),
                     out.end());
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(*gap), out.end() - static_cast<std::ptrdiff_t>(at - *gap), 0);
  return true;
}

std::string str_v6(const std::array<std::uint8_t, 16>& bytes) {
  const auto group = [&](int i) { return static_cast<unsigned>(bytes[2 * i] << 8U | bytes[2 * i + 1]); };
  int best = -1;
  int best_size = 1;  // a single group of zeros is written out
  for (int i = 0; i < 8;) {
    int end = i;
    while (end < 8 && group(end) == 0) ++end;
    if (end - i > best_size) {
      best = i;
      best_size = end - i;
    }
    i = end == i ? i + 1 : end;
  }
  std::string out;
  for (int i = 0; i < 8; ++i) {
    if (i == best) {
      out += "::";
      i += best_size - 1;
      continue;
    }
    if (!out.empty() && out.back() != ':') out += ':';
    out += fmt::format("{:x}", group(i));
  }
  return out;
}

}  // namespace

std::optional<Ip> Ip::parse(std::string_view text, bool sloppy) {
  Ip out;
  if (text.find(':') != std::string_view::npos) {
    out.v6 = true;
    if (!parse_v6(text, out.bytes, sloppy)) return std::nullopt;
  } else if (!parse_v4(text, out.bytes.data(), sloppy)) {
    return std::nullopt;
  }
  return out;
}

std::string Ip::str() const {
  if (v6) return str_v6(bytes);
  return fmt::format("{}.{}.{}.{}", bytes[0], bytes[1], bytes[2], bytes[3]);
}

bool Ip::is_mapped() const {
  return v6 && std::all_of(bytes.begin(), bytes.begin() + 10, [](std::uint8_t b) { return b == 0; }) &&
         bytes[10] == 0xFF && bytes[11] == 0xFF;
}

std::optional<Cidr> Cidr::parse(std::string_view text, bool sloppy) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto ip = Ip::parse(text.substr(0, slash), sloppy);
  const std::string_view digits = text.substr(slash + 1);
  if (!ip || digits.empty() || digits.size() > 3 || (digits.size() > 1 && digits[0] == '0' && !sloppy))
    return std::nullopt;
  Cidr out{.ip = *ip};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.length);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (digits[0] == '-' || out.length < 0 || out.length > (ip->v6 ? 128 : 32)) return std::nullopt;
  return out;
}

Cidr Cidr::masked() const {
  Cidr out = *this;
  for (int bit = length; bit < (ip.v6 ? 128 : 32); ++bit)
    out.ip.bytes[static_cast<std::size_t>(bit / 8)] &= static_cast<std::uint8_t>(~(0x80U >> (bit % 8)));
  return out;
}

bool Cidr::contains(const Ip& other) const {
  if (other.v6 != ip.v6) return false;
  return Cidr{.ip = other, .length = length}.masked().ip == masked().ip;
}

std::string Cidr::str() const { return fmt::format("{}/{}", ip.str(), length); }

}  // namespace kopper::plane
