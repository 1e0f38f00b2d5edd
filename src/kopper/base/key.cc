#include "kopper/base/key.h"

namespace kopper {

std::string Key::str() const { return namespace_.empty() ? name : namespace_ + "/" + name; }

Key Key::parse(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return {"", std::string(text)};
  return {std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

}  // namespace kopper

std::size_t std::hash<kopper::Key>::operator()(const kopper::Key& key) const noexcept {
  const std::hash<std::string_view> text;
  return text(key.namespace_) * 1099511628211U ^ text(key.name);
}
