#include "slots.h"

#include <array>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

namespace redis {

namespace {

// CRC-16/XMODEM.
constexpr auto kCrcTable = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned crc = i << 8U;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U;
    table.at(i) = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

std::uint16_t crc16(std::string_view bytes) {
  unsigned crc = 0;
  for (const char byte : bytes) {
    crc = (crc << 8U) ^ kCrcTable.at(((crc >> 8U) ^ static_cast<unsigned char>(byte)) & 0xffU);
  }
  return static_cast<std::uint16_t>(crc);
}

std::optional<std::size_t> number(std::string_view text) {
  std::size_t slot = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, slot);
  if (error != std::errc() || stop != end || slot >= kSlots) return std::nullopt;
  return slot;
}

}  // namespace

std::size_t slot_of(std::string_view key) {
  if (const auto open = key.find('{'); open != key.npos) {
    const auto close = key.find('}', open);
    if (close != key.npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
  }
  return crc16(key) % kSlots;
}

SlotSet SlotSet::of(const std::vector<std::size_t>& slots) {
  SlotSet out;
  for (const auto slot : slots) out.insert(slot);
  return out;
}

SlotSet SlotSet::range(std::size_t first, std::size_t last) {
  SlotSet out;
  for (auto slot = first; slot <= last; ++slot) out.insert(slot);
  return out;
}

std::optional<SlotSet> SlotSet::parse(std::string_view text) {
  SlotSet out;
  while (!text.empty()) {
    const auto end = text.find_first_of(" ,");
    const auto word = text.substr(0, end);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    if (word.empty()) continue;
    const auto dash = word.find('-');
    const auto first = number(word.substr(0, dash));
    const auto last = dash == word.npos ? first : number(word.substr(dash + 1));
    if (!first || !last || *first > *last) return std::nullopt;
    out |= range(*first, *last);
  }
  return out;
}

std::vector<std::size_t> SlotSet::slots() const {
  std::vector<std::size_t> out;
  out.reserve(size());
  // Extensions of libstdc++, many times faster than a look at each bit.
  for (auto slot = bits_._Find_first(); slot < kSlots; slot = bits_._Find_next(slot)) out.push_back(slot);
  return out;
}

std::vector<std::pair<std::size_t, std::size_t>> SlotSet::ranges() const {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  for (auto slot = bits_._Find_first(); slot < kSlots; slot = bits_._Find_next(slot)) {
    if (!out.empty() && out.back().second + 1 == slot) {
      out.back().second = slot;
    } else {
      out.emplace_back(slot, slot);
    }
  }
  return out;
}

SlotSet SlotSet::first(std::size_t count) const {
  SlotSet out;
  for (auto slot = bits_._Find_first(); slot < kSlots && count > 0; slot = bits_._Find_next(slot), --count) {
    out.insert(slot);
  }
  return out;
}

std::string SlotSet::str() const {
  std::string out;
  for (const auto& [first, last] : ranges()) {
    if (!out.empty()) out += ' ';
    out += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  return out;
}

SlotSet& SlotSet::operator|=(const SlotSet& other) {
  bits_ |= other.bits_;
  return *this;
}
SlotSet& SlotSet::operator&=(const SlotSet& other) {
  bits_ &= other.bits_;
  return *this;
}
SlotSet& SlotSet::operator-=(const SlotSet& other) {
  bits_ &= ~other.bits_;
  return *this;
}

}  // namespace redis
