#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kopper {

inline constexpr std::uint64_t kHashOfNothing = 14695981039346656037U;
// The same in every process and on every machine (FNV-1a), and not hard to forge. `so_far` goes on with an earlier one.
std::uint64_t stable_hash(std::string_view text, std::uint64_t so_far = kHashOfNothing);

// What names that programs make up end with: without vowels, so that no words come out.
inline constexpr std::string_view kNameLetters = "bcdfghjklmnpqrstvwxz2456789";
// So many of them, which follow from the number.
std::string name_letters(std::uint64_t number, std::size_t count);

}  // namespace kopper
