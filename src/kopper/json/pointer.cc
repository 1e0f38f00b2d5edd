#include "kopper/json/pointer.h"

#include <charconv>

namespace kopper::json {

std::expected<Pointer, DecodeError> Pointer::parse(std::string_view text) {
  std::vector<std::string> tokens;
  if (!text.empty() && text.front() != '/')
    return std::unexpected(DecodeError{"a JSON pointer starts with '/'", "", 0});
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '/') {
      tokens.emplace_back();
    } else if (text[at] != '~') {
      tokens.back() += text[at];
    } else if (++at < text.size() && (text[at] == '0' || text[at] == '1')) {
      tokens.back() += text[at] == '0' ? '~' : '/';
    } else {
      return std::unexpected(DecodeError{"'~' in a JSON pointer must be followed by 0 or 1", "", at - 1});
    }
  }
  return Pointer(std::move(tokens));
}

std::string Pointer::str() const {
  std::string out;
  for (const auto& token : tokens_) {
    out += '/';
    for (const char c : token) {
      if (c == '~') {
        out += "~0";
      } else if (c == '/') {
        out += "~1";
      } else {
        out += c;
      }
    }
  }
  return out;
}

const Value* Pointer::find(const Value& root) const {
  const Value* at = &root;
  for (const auto& token : tokens_) {
    if (const Object* object = at->as_object()) {
      at = object->find(token);
    } else if (const Array* array = at->as_array()) {
      const auto index = pointer_index(token);
      at = index && *index < array->size() ? &(*array)[*index] : nullptr;
    } else {
      at = nullptr;
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

Value* Pointer::find(Value& root) const { return const_cast<Value*>(find(std::as_const(root))); }

std::optional<std::size_t> pointer_index(std::string_view token) {
  std::size_t index = 0;
  if (token.size() > 1 && token.front() == '0') return std::nullopt;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (token.empty() || error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return index;
}

}  // namespace kopper::json
