#include "free_lists.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

// Sanitizers have an allocator of their own.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KOPPER_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(KOPPER_SANITIZED)
namespace kopper::cmd {
void keep_freed_blocks() {}
}  // namespace kopper::cmd
#else

namespace {

// Blocks of 24, 40, 56 … bytes: what the C library gives without waste.
constexpr std::size_t kStep = 16;
constexpr std::size_t kOverhead = 8;
constexpr std::size_t kLargest = 2048;
constexpr std::size_t kBytesKept = std::size_t{32} << 10U;  // of one size

struct Block {
  Block* next;
};

struct FreeList {
  Block* first = nullptr;
  std::size_t bytes = 0;
};

constexpr std::size_t list_of(std::size_t size) { return (size + kStep - kOverhead - 1) / kStep; }
constexpr std::size_t size_of(std::size_t list) { return list * kStep + kOverhead; }

using FreeLists = std::array<FreeList, list_of(kLargest) + 1>;
constinit thread_local FreeLists* lists = nullptr;

void* take(std::size_t size) noexcept {
  if (size > kLargest) return std::malloc(size);
  const std::size_t number = list_of(size);
  if (lists != nullptr) {
    FreeList& list = (*lists)[number];
    if (list.first != nullptr) {
      list.bytes -= size_of(number);
      return std::exchange(list.first, list.first->next);
    }
  }
  return std::malloc(size_of(number));
}

void give(void* block, std::size_t size) noexcept {
  if (block == nullptr) return;
  if (lists != nullptr && size <= kLargest) {
    const std::size_t number = list_of(size);
    FreeList& list = (*lists)[number];
    if (list.bytes < kBytesKept) {
      list.bytes += size_of(number);
      list.first = new (block) Block{list.first};
      return;
    }
  }
  std::free(block);
}

}  // namespace

// Every block is one of malloc: whoever frees it without saying its size, or in another thread, gives it back there.
void* operator new(std::size_t size) {
  for (;;) {
    if (void* block = take(size)) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t size) noexcept { give(block, size); }

namespace kopper::cmd {

void keep_freed_blocks() {
  static constinit FreeLists all;
  lists = &all;
}

}  // namespace kopper::cmd

#endif
