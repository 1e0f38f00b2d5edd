#include "kopper/workloads/grpc_health.h"

#include <array>
#include <cstdint>

namespace kopper::workloads {

namespace {

// In front of each message: not compressed, and its length in four bytes.
constexpr std::size_t kPrefix = 5;

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>(value | 0x80U);
  out += static_cast<char>(value);
}

std::optional<std::uint64_t> take_varint(std::string_view& text) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !text.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

}  // namespace

std::string health_request(std::string_view service) {
  std::string message;
  if (!service.empty()) {
    message += '\x0a';  // field 1, a text
    append_varint(message, service.size());
    message += service;
  }
  const auto size = message.size();
  std::string out(1, '\0');
  for (const unsigned shift : {24U, 16U, 8U, 0U}) out += static_cast<char>(size >> shift & 0xffU);
  return out + message;
}

std::optional<int> health_status(std::string_view body) {
  if (body.size() < kPrefix || body[0] != '\0') return std::nullopt;
  std::size_t size = 0;
  for (std::size_t i = 1; i < kPrefix; ++i) size = size << 8U | static_cast<unsigned char>(body[i]);
  body.remove_prefix(kPrefix);
  if (body.size() != size) return std::nullopt;
  int status = 0;  // UNKNOWN is what is not written
  while (!body.empty()) {
    const auto tag = take_varint(body);
    const auto value = tag == 0x08U ? take_varint(body) : std::nullopt;
    if (!value || *value > 0xffU) return std::nullopt;
    status = static_cast<int>(*value);
  }
  return status;
}

std::string health_status_name(int status) {
  constexpr std::array kNames{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
  return status >= 0 && static_cast<std::size_t>(status) < kNames.size() ? kNames[static_cast<std::size_t>(status)]
                                                                         : std::to_string(status);
}

}  // namespace kopper::workloads
