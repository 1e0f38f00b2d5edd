#include "kopper/base/stable_hash.h"

namespace kopper {

std::uint64_t stable_hash(std::string_view text, std::uint64_t so_far) {
  for (const char c : text) so_far = (so_far ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return so_far;
}

std::string name_letters(std::uint64_t number, std::size_t count) {
  std::string out;
  for (; out.size() < count; number /= kNameLetters.size()) out += kNameLetters[number % kNameLetters.size()];
  return out;
}

}  // namespace kopper
