#pragma once

#include <chrono>
#include <optional>

#include "kopper/base/error.h"
#include "kopper/http/message.h"

namespace kopper::client {

// Exponential delays with jitter: initial, initial × factor, … at most `max`, each shortened by up to `jitter` of it.
struct Backoff {
  std::chrono::milliseconds initial{100};
  double factor = 2.0;
  std::chrono::milliseconds max{30'000};
  double jitter = 0.5;

  // The delay after `failures` failures in a row (1 and up). `random` is in [0, 1).
  std::chrono::milliseconds delay(int failures, double random) const;
};

// How long to wait before `request` may be sent again after `error`; nothing when it must not be.
// A GET is always safe to repeat. A write is only when the server said that it did not begin: 429, 503 with
// Retry-After, or a transport that knows that the request never got through. A Retry-After beyond `patience` is left to
// the caller.
std::optional<std::chrono::milliseconds> retry_delay(const http::Request& request, const Error& error, int failures,
                                                     double random,
                                                     std::chrono::milliseconds patience = std::chrono::seconds(30));

// A token bucket: `burst` calls at once, `per_second` in the long run. Time comes from outside.
class RateLimit {
 public:
  RateLimit(double per_second, double burst) : per_second_(per_second), burst_(burst), tokens_(burst) {}

  // Takes a token and returns how long to wait before using it.
  std::chrono::nanoseconds take(std::chrono::nanoseconds now);

 private:
  double per_second_;
  double burst_;
  double tokens_;  // below zero: promised to calls that wait
  std::chrono::nanoseconds last_{0};
};

}  // namespace kopper::client
