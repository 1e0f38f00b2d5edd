#pragma once

#include <bitset>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redis {

// The parts that the keys of a cluster are divided into.
inline constexpr std::size_t kSlots = 16384;

// Of a key, or of its part between the first '{' and the next '}' when there is something between them.
std::size_t slot_of(std::string_view key);

class SlotSet {
 public:
  SlotSet() = default;
  static SlotSet of(const std::vector<std::size_t>& slots);
  // First and last included.
  static SlotSet range(std::size_t first, std::size_t last);
  static SlotSet all() { return range(0, kSlots - 1); }
  // "0-5460 5462 16383", also with commas. Nothing when it is something else. "" is none.
  static std::optional<SlotSet> parse(std::string_view text);

  bool contains(std::size_t slot) const { return bits_[slot]; }
  void insert(std::size_t slot) { bits_.set(slot); }
  void erase(std::size_t slot) { bits_.reset(slot); }
  std::size_t size() const { return bits_.count(); }
  bool empty() const { return bits_.none(); }

  // In order.
  std::vector<std::size_t> slots() const;
  std::vector<std::pair<std::size_t, std::size_t>> ranges() const;
  // Those with the lowest numbers.
  SlotSet first(std::size_t count) const;
  // As Redis writes it: "0-5460 5462".
  std::string str() const;

  SlotSet& operator|=(const SlotSet& other);
  SlotSet& operator&=(const SlotSet& other);
  SlotSet& operator-=(const SlotSet& other);
  friend SlotSet operator|(SlotSet a, const SlotSet& b) { return a |= b; }
  friend SlotSet operator&(SlotSet a, const SlotSet& b) { return a &= b; }
  friend SlotSet operator-(SlotSet a, const SlotSet& b) { return a -= b; }
  friend bool operator==(const SlotSet&, const SlotSet&) = default;

 private:
  std::bitset<kSlots> bits_;
};

}  // namespace redis
