#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace kopper::json::detail {

// The bytes of a JSON string that stand for themselves: not a control character, '"' or '\'.
inline bool is_plain(char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\'; }

// Non-zero when one of the eight bytes is not plain; the lowest set byte is then the first such one. (A borrow between
// bytes can only mark a later one too many.)
inline std::uint64_t special_bytes(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kTops = 0x8080808080808080U;
  const auto zero = [](std::uint64_t x) { return (x - kOnes) & ~x; };
  const std::uint64_t control = (word - kOnes * 0x20U) & ~word;
  return (control | zero(word ^ kOnes * '"') | zero(word ^ kOnes * '\\')) & kTops;
}

// How many bytes from `begin` on are plain.
inline std::size_t plain_run(const char* begin, const char* end) {
  const char* at = begin;
  if constexpr (std::endian::native == std::endian::little) {
    for (std::uint64_t word = 0; end - at >= static_cast<std::ptrdiff_t>(sizeof word); at += sizeof word) {
      std::memcpy(&word, at, sizeof word);
      const std::uint64_t special = special_bytes(word);
      if (special != 0)
        return static_cast<std::size_t>(at - begin) + static_cast<std::size_t>(std::countr_zero(special)) / 8;
    }
  }
  while (at != end && is_plain(*at)) ++at;
  return static_cast<std::size_t>(at - begin);
}

#ifdef __SSE2__
// A bit for each byte that is not plain.
inline unsigned special_bytes(__m128i bytes) {
  const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
  const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(quote, backslash))));
}
#endif

// How many bytes from `begin` on are plain and ASCII.
inline std::size_t plain_ascii_run(const char* begin, const char* end) {
  const char* at = begin;
#ifdef __SSE2__
  for (; end - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    if (const unsigned special = special_bytes(bytes) | static_cast<unsigned>(_mm_movemask_epi8(bytes)))
      return static_cast<std::size_t>(at - begin) + static_cast<std::size_t>(std::countr_zero(special));
  }
#endif
  while (at != end && is_plain(*at) && static_cast<unsigned char>(*at) < 0x80) ++at;
  return static_cast<std::size_t>(at - begin);
}

}  // namespace kopper::json::detail
