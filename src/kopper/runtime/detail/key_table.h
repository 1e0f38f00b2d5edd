#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "kopper/base/key.h"

namespace kopper::runtime::detail {

// Finds items that somebody else owns by their key: a hash table with open addressing, because with a million keys a
// look-up costs what it misses in the processor's cache, and here that is one slot and the item. Shrinks as it empties.
// Item has `const Key key` and `const std::size_t hash`, that of hash_of(key).
template <class Item>
class KeyTable {
 public:
  static std::size_t hash_of(const Key& key) { return std::hash<Key>()(key); }

  // Null when there is none.
  Item* find(const Key& key, std::size_t hash) const {
    if (size_ == 0) return nullptr;
    for (std::size_t at = home(hash); slots_[at].item != nullptr; at = after(at)) {
      if (slots_[at].hash == hash && slots_[at].item->key == key) return slots_[at].item;
    }
    return nullptr;
  }

  // The key is not in the table.
  void insert(Item& item) {
    if ((size_ + 1) * 3 > slots_.size() * 2) resize(slots_.empty() ? kSmallest : slots_.size() * 2);
    put({item.hash, &item});
    ++size_;
  }

  void erase(const Item& item) {
    std::size_t at = home(item.hash);
    while (slots_[at].item != &item) at = after(at);
    // Moves up what stands after it and would not be found behind a gap.
    std::size_t gap = at;
    for (at = after(at); slots_[at].item != nullptr; at = after(at)) {
      const std::size_t way = (at - home(slots_[at].hash)) & mask();
      if (way >= ((at - gap) & mask())) slots_[std::exchange(gap, at)] = slots_[at];
    }
    slots_[gap] = {};
    --size_;
    if (slots_.size() > kSmallest && size_ * 8 < slots_.size()) resize(slots_.size() / 2);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t capacity() const { return slots_.size(); }
  template <class Visit>
  void each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.item != nullptr) visit(*slot.item);
    }
  }

 private:
  struct Slot {
    std::size_t hash = 0;
    Item* item = nullptr;
  };
  static constexpr std::size_t kSmallest = 16;  // a power of two, as all sizes

  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t home(std::size_t hash) const { return hash & mask(); }
  std::size_t after(std::size_t at) const { return (at + 1) & mask(); }

  void put(Slot slot) {
    std::size_t at = home(slot.hash);
    while (slots_[at].item != nullptr) at = after(at);
    slots_[at] = slot;
  }
  void resize(std::size_t capacity) {
    for (const Slot& slot : std::exchange(slots_, std::vector<Slot>(capacity))) {
      if (slot.item != nullptr) put(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace kopper::runtime::detail
