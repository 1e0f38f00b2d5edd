#include "kopper/json/detail/object_end.h"

#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kopper::json::detail {

std::size_t object_end_scalar(std::string_view text, ObjectScan& scan) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool escaped = scan.escaped;
    scan.escaped = c == '\\' && !escaped;
    if (c == '"' && !escaped) {
      scan.in_string = !scan.in_string;
    } else if (c == '{' && !scan.in_string) {
      ++scan.depth;
    } else if (c == '}' && !scan.in_string && --scan.depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

#if defined(__x86_64__)

#define KOPPER_AVX2 __attribute__((target("avx2,pclmul,bmi,popcnt")))

namespace {

constexpr std::size_t kBlock = 64;

struct Block {
  __m256i low;
  __m256i high;
};

// One bit a byte: where the block has `c`.
KOPPER_AVX2 inline std::uint64_t matches(const Block& block, char c) {
  const __m256i wanted = _mm256_set1_epi8(c);
  const auto low = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(block.low, wanted)));
  const auto high = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(block.high, wanted)));
  return low | static_cast<std::uint64_t>(high) << 32U;
}

// The bytes that follow an odd run of backslashes. Adding the runs that start at odd positions carries each of them to
// its end, where the parity of start and end tells odd runs from even ones.
KOPPER_AVX2 inline std::uint64_t escaped_bytes(std::uint64_t backslashes, bool& carry) {
  if (backslashes == 0) return std::exchange(carry, false) ? 1U : 0U;
  constexpr std::uint64_t kEven = 0x5555555555555555U;
  const std::uint64_t first = carry ? 1U : 0U;
  backslashes &= ~first;
  const std::uint64_t follows = backslashes << 1U | first;
  const std::uint64_t odd_starts = backslashes & ~kEven & ~follows;
  unsigned long long ends = 0;  // NOLINT(google-runtime-int): the builtin's type
  carry = __builtin_uaddll_overflow(odd_starts, backslashes, &ends);
  return (kEven ^ ends << 1U) & follows;
}

// Bit i is the xor of bits 0 … i: set from each opening quote up to its closing one.
KOPPER_AVX2 inline std::uint64_t prefix_xor(std::uint64_t bits) {
  const __m128i product =
      _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<std::int64_t>(bits)), _mm_set1_epi8(-1), 0);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
}

KOPPER_AVX2 std::size_t object_end_avx2(std::string_view text, ObjectScan& scan) {
  std::size_t at = 0;
  for (; at + kBlock <= text.size(); at += kBlock) {
    const auto* bytes = reinterpret_cast<const __m256i*>(text.data() + at);
    const Block block{_mm256_loadu_si256(bytes), _mm256_loadu_si256(bytes + 1)};
    const std::uint64_t escaped = escaped_bytes(matches(block, '\\'), scan.escaped);
    const std::uint64_t quotes = matches(block, '"') & ~escaped;
    const std::uint64_t strings = prefix_xor(quotes) ^ (scan.in_string ? ~std::uint64_t{0} : 0);
    scan.in_string = (strings >> 63U) != 0;
    const std::uint64_t open = matches(block, '{') & ~strings;
    const std::uint64_t close = matches(block, '}') & ~strings;
    const auto opened = static_cast<std::uint64_t>(__builtin_popcountll(open));
    const auto closed = static_cast<std::uint64_t>(__builtin_popcountll(close));
    if (scan.depth > closed) {  // cannot come to an end in here
      scan.depth += opened - closed;
      continue;
    }
    for (std::uint64_t braces = open | close; braces != 0; braces &= braces - 1) {
      const auto bit = static_cast<unsigned>(__builtin_ctzll(braces));
      if ((open >> bit & 1U) != 0) {
        ++scan.depth;
      } else if (--scan.depth == 0) {
        scan = ObjectScan();
        return at + bit + 1;
      }
    }
  }
  const std::size_t end = object_end_scalar(text.substr(at), scan);
  return end == std::string_view::npos ? end : at + end;
}

}  // namespace

ObjectEnd object_end_best() {
  static const bool fast = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("pclmul") != 0 &&
                           __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("popcnt") != 0;
  return fast ? object_end_avx2 : object_end_scalar;
}

#else

ObjectEnd object_end_best() { return object_end_scalar; }

#endif

}  // namespace kopper::json::detail
