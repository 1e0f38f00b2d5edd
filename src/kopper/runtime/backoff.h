#pragma once

#include <chrono>

#include "kopper/rt/loop.h"

namespace kopper::runtime {

// How long to wait after the n-th failure in a row: first * factor^n, at most `most`. By default 5 ms, 10 ms, … 655 s,
// 1000 s.
struct Backoff {
  rt::Duration first = std::chrono::milliseconds(5);
  rt::Duration most = std::chrono::seconds(1000);
  double factor = 2;
  double jitter = 0;  // 0.1: up to 10 % longer, at random, also at `most`

  // `failures` so far, without the present one; `random` in [0, 1).
  rt::Duration delay(unsigned failures, double random = 0) const;
};

}  // namespace kopper::runtime
