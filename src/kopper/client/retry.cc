#include "kopper/client/retry.h"

#include <algorithm>
#include <cmath>

#include "kopper/http/h2_session.h"

namespace kopper::client {
namespace {

bool safe_to_repeat(const http::Request& request, const Error& error) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  switch (error.code) {
    case Code::TooMany:
      // A disruption budget waits for pods to become healthy, not for load to pass: the caller decides.
      return std::ranges::none_of(error.causes, [](const Cause& cause) { return cause.reason == "DisruptionBudget"; });
    case Code::Unavailable:
      return reads || (error.http_status == 503 && error.retry_after) || http::not_processed(error);
    case Code::Timeout: return reads && error.http_status != 0;  // our own deadline has passed: no more time
    default: return false;
  }
}

}  // namespace

std::chrono::milliseconds Backoff::delay(int failures, double random) const {
  const double exponent = std::min(failures - 1, 60);
  const double full =
      std::min(static_cast<double>(initial.count()) * std::pow(factor, exponent), static_cast<double>(max.count()));
  return std::chrono::milliseconds(static_cast<std::int64_t>(full * (1.0 - jitter * random)));
}

std::optional<std::chrono::milliseconds> retry_delay(const http::Request& request, const Error& error, int failures,
                                                     double random, std::chrono::milliseconds patience) {
  if (!safe_to_repeat(request, error)) return std::nullopt;
  const auto own = Backoff{}.delay(failures, random);
  if (!error.retry_after) return own;
  if (*error.retry_after > patience) return std::nullopt;
  // Not earlier than asked, and not all at the same moment.
  return *error.retry_after + own;
}

std::chrono::nanoseconds RateLimit::take(std::chrono::nanoseconds now) {
  const std::chrono::duration<double> passed = now - last_;
  last_ = now;
  tokens_ = std::min(burst_, tokens_ + passed.count() * per_second_) - 1.0;
  if (tokens_ >= 0) return {};
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(-tokens_ / per_second_));
}

}  // namespace kopper::client
