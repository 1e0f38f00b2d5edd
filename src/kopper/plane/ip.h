#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kopper::plane {

struct Ip {
  std::array<std::uint8_t, 16> bytes{};  // IPv4 in the first four
  bool v6 = false;

  // No zone, no leading zeros unless `sloppy`. An IPv4 address inside IPv6 ("::ffff:1.2.3.4") stays IPv6.
  static std::optional<Ip> parse(std::string_view text, bool sloppy = false);
  std::string str() const;
  bool is_mapped() const;  // IPv4 inside IPv6

  friend bool operator==(const Ip&, const Ip&) = default;
};

struct Cidr {
  Ip ip;
  int length = 0;

  static std::optional<Cidr> parse(std::string_view text, bool sloppy = false);
  bool contains(const Ip& other) const;
  Cidr masked() const;
  std::string str() const;

  friend bool operator==(const Cidr&, const Cidr&) = default;
};

}  // namespace kopper::plane
