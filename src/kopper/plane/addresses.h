#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "kopper/plane/core.h"

namespace kopper::plane {

// The addresses that services may have: "10.96.0.0/16".
class ServiceRange {
 public:
  // Throws Error{Invalid}: not an IPv4 network of 8 to 2^20 addresses.
  explicit ServiceRange(std::string_view cidr);

  std::uint32_t size() const { return size_; }
  std::string at(std::uint32_t host) const;
  // Without the first and the last one.
  bool holds(std::string_view address) const;

 private:
  std::uint32_t network_ = 0;
  std::uint32_t size_ = 0;
};

// Gives services their cluster addresses and node ports, and refuses those that others have.
class Addresses {
 public:
  static constexpr std::uint16_t kFirstPort = 30000;
  static constexpr std::uint16_t kLastPort = 32767;

  // `core` outlives this; call it before State::load(), which brings what is taken.
  Addresses(Core& core, ServiceRange range);

  // Fills in what a service leaves to the server. `old`: null when it is created. Throws Refusal (422).
  void complete(const Call& call, json::Value& service, const json::Value* old);
  // Reads what a storage brought back.
  void resume();

 private:
  void note(const Stored& service, bool taken);

  Core& core_;
  const ServiceRange range_;
  std::map<std::string, std::string, std::less<>> addresses_;  // whose uid
  std::map<std::int64_t, std::string> ports_;
  std::uint32_t next_address_ = 10;  // the first ones are for those who ask for them
  std::uint16_t next_port_ = kFirstPort;
};

}  // namespace kopper::plane
