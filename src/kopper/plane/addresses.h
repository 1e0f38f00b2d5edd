#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kopper/plane/core.h"

namespace kopper::plane {

// Gives services their cluster addresses and node ports, and refuses those that others have.
class Addresses {
 public:
  static constexpr std::uint32_t kNetwork = (10U << 24U) | (96U << 16U);  // 10.96.0.0/16
  static constexpr std::uint32_t kHosts = 1U << 16U;
  static constexpr std::uint16_t kFirstPort = 30000;
  static constexpr std::uint16_t kLastPort = 32767;

  // `core` outlives this; call it before State::load(), which brings what is taken.
  explicit Addresses(Core& core);

  // Fills in what a service leaves to the server. `old`: null when it is created. Throws Refusal (422).
  void complete(const Call& call, json::Value& service, const json::Value* old);
  // Reads what a storage brought back.
  void resume();

 private:
  void note(const Stored& service, bool taken);

  Core& core_;
  std::map<std::string, std::string, std::less<>> addresses_;  // whose uid
  std::map<std::int64_t, std::string> ports_;
  std::uint32_t next_address_ = 10;
  std::uint16_t next_port_ = kFirstPort;
};

}  // namespace kopper::plane
