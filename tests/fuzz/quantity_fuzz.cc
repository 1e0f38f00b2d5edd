// The canonical form means the same amount, and small amounts agree with plain integer arithmetic done another way.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "kopper/api/quantity.h"

using kopper::api::Quantity;

namespace {

void check(bool ok) {
  if (!ok) std::abort();
}

// "12Mi" and the like, by multiplication: what a reader would do by hand. Nothing for what is not of that form.
std::optional<std::int64_t> whole_units(std::string_view text) {
  std::int64_t value = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && digits < 9 && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    value = value * 10 + (text[digits] - '0');
  }
  if (digits == 0) return std::nullopt;
  const auto suffix = text.substr(digits);
  if (suffix.empty()) return value;
  if (suffix == "k") return value * 1000;
  if (suffix == "M") return value * 1000'000;
  if (suffix == "G") return value * 1000'000'000;
  if (suffix == "Ki") return value << 10U;
  if (suffix == "Mi") return value << 20U;
  if (suffix == "Gi") return value << 30U;
  return std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto q = Quantity::parse(text);
  if (const auto expected = whole_units(text)) check(q.has_value() && q->as_int64() == *expected);
  if (!q) return 0;
  const auto again = Quantity::parse(q->str());
  check(again.has_value() && *again == *q);
  // 62.5Ki prints as 64000, as Kubernetes does, and that is 64k when it is read: the second time it is stable.
  const auto third = Quantity::parse(again->str());
  check(third.has_value() && *third == *q && third->str() == again->str());
  check((*q - *q).is_zero());
  check(-(-*q) == *q);
  if (const auto whole = q->as_int64()) check(Quantity(*whole) == *q && q->value() == *whole);
  check((*q + Quantity(1) > *q) || q->str().starts_with("170141183460"));
  return 0;
}
