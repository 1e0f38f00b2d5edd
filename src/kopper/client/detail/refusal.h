#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kopper/base/error.h"

namespace kopper::client::detail {

// What is wrong with a kubeconfig: the field and a reason that never shows a secret. Stays inside kubeconfig*.cc.
struct Bad {
  std::string path;
  std::string what;
};

inline std::string member(std::string_view path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

inline std::string element(std::string_view path, std::size_t index) { return fmt::format("{}[{}]", path, index); }

inline Error refuse(std::string_view file, std::string_view path, std::string_view what) {
  Error error(Code::Invalid, path.empty() ? std::string(what) : fmt::format("{}: {}", path, what));
  error.with(fmt::format("kubeconfig {}", file));
  return error;
}

}  // namespace kopper::client::detail
