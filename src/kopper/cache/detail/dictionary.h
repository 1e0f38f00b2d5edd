#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kopper::cache {

// What the objects of a kind have in common, so that each compresses to what is its own. Shared by the records that
// were compressed with it; safe to use from any thread.
class Dictionary {
 public:
  // Takes some milliseconds. Null when the samples are too few or too small.
  static const Dictionary* make(const std::vector<std::string>& samples);

  // Appended to `out`.
  bool compress(std::string_view text, std::string& out) const;
  // `size` is that of the text. False when the bytes are damaged.
  bool decompress(std::string_view bytes, char* out, std::size_t size) const;
  // What it occupies.
  std::size_t bytes() const { return bytes_; }

  void retain() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const;

 private:
  Dictionary() = default;
  ~Dictionary();

  mutable std::atomic<std::uint32_t> refs_{1};
  std::size_t bytes_ = 0;
  void* compressing_ = nullptr;    // ZSTD_CDict
  void* decompressing_ = nullptr;  // ZSTD_DDict
};

}  // namespace kopper::cache
