#include "kopper/runtime/backoff.h"

#include <algorithm>
#include <cmath>

namespace kopper::runtime {

rt::Duration Backoff::delay(unsigned failures, double random) const {
  // In floating point, so that no number of failures overflows.
  const double wanted = static_cast<double>(first.count()) * std::pow(factor, failures);
  const double capped = std::min(wanted, static_cast<double>(most.count()));
  return rt::Duration(static_cast<rt::Duration::rep>(capped * (1 + jitter * random)));
}

}  // namespace kopper::runtime
