#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "kopper/base/error.h"

namespace kopper::runtime {

// When a reconcile wants to be called again.
class Next {
 public:
  // When something changes that the controller watches.
  static Next wait() { return Next(std::nullopt); }
  // Also after this time, when nothing changed before.
  static Next in(std::chrono::nanoseconds delay) { return Next(delay); }

  const std::optional<std::chrono::nanoseconds>& delay() const { return delay_; }
  friend bool operator==(const Next&, const Next&) = default;

 private:
  explicit Next(std::optional<std::chrono::nanoseconds> delay) : delay_(delay) {}
  std::optional<std::chrono::nanoseconds> delay_;
};

// Throw this when trying again cannot help before somebody changes something: it is reported, and not retried.
class Terminal : public Error {
 public:
  explicit Terminal(std::string what, Code why = Code::Invalid) : Error(why, std::move(what)) {}
};

}  // namespace kopper::runtime
