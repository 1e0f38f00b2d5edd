#include "kopper/meta/base64.h"

#include <array>
#include <cstdint>

namespace kopper::meta {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNone = 0xFF;

constexpr auto kDigits = [] {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(kNone);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i)
    digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  return digits;
}();

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  const auto at = [&](std::size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U; };
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const unsigned group = at(i) << 16U | at(i + 1) << 8U | at(i + 2);
    out.push_back(kAlphabet[group >> 18U]);
    out.push_back(kAlphabet[group >> 12U & 63U]);
    out.push_back(i + 1 < bytes.size() ? kAlphabet[group >> 6U & 63U] : '=');
    out.push_back(i + 2 < bytes.size() ? kAlphabet[group & 63U] : '=');
  }
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  unsigned group = 0;
  int digits = 0, padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const unsigned digit = kDigits[static_cast<unsigned char>(c)];
    const bool pad = c == '=' && digits >= 2;
    if ((digit == kNone && !pad) || (padding > 0 && !pad)) return std::nullopt;
    padding += pad ? 1 : 0;
    group = group << 6U | (pad ? 0U : digit);
    if (++digits < 4) continue;
    for (int i = 0; i < 3 - padding; ++i)
      out.push_back(static_cast<char>(group >> (16U - 8U * static_cast<unsigned>(i)) & 0xFFU));
    group = 0, digits = 0;
    if (padding > 0) digits = 4;  // nothing may follow: the next digit makes 5
  }
  return digits == 0 || (digits == 4 && padding > 0) ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace kopper::meta
