#include "kopper/plane/auth/jwt.h"

#include "kopper/meta/base64.h"

namespace kopper::plane {
namespace {

constexpr json::Limits kLimits{.depth = 16, .bytes = std::size_t{64} << 10U};

std::expected<json::Value, DecodeError> part(std::string_view text, const char* name) {
  const auto bytes = from_base64url(text);
  if (!bytes) return std::unexpected(DecodeError{.what = "not base64url", .path = name, .offset = 0});
  auto value = json::parse(*bytes, kLimits);
  if (!value) return std::unexpected(DecodeError{.what = value.error().what, .path = name, .offset = 0});
  if (!value->is_object()) return std::unexpected(DecodeError{.what = "not an object", .path = name, .offset = 0});
  return value;
}

}  // namespace

std::string to_base64url(std::string_view bytes) {
  std::string out;
  meta::append_base64(out, bytes);
  while (out.ends_with('=')) out.pop_back();
  for (char& c : out) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return out;
}

std::optional<std::string> from_base64url(std::string_view text) {
  std::string standard(text);
  for (char& c : standard) {
    if (c == '+' || c == '/' || c == '=' || c == '\n' || c == '\r') return std::nullopt;
    c = c == '-' ? '+' : c == '_' ? '/' : c;
  }
  while (standard.size() % 4 != 0) standard += '=';
  return meta::from_base64(standard);
}

std::expected<Jwt, DecodeError> decode_jwt(std::string_view text) {
  const std::size_t first = text.find('.');
  const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos || text.find('.', second + 1) != std::string_view::npos)
    return std::unexpected(DecodeError{.what = "not three parts", .path = "", .offset = 0});
  Jwt out;
  out.signed_text = text.substr(0, second);
  auto header = part(text.substr(0, first), "header");
  if (!header) return std::unexpected(header.error());
  auto claims = part(text.substr(first + 1, second - first - 1), "claims");
  if (!claims) return std::unexpected(claims.error());
  auto signature = from_base64url(text.substr(second + 1));
  if (!signature) return std::unexpected(DecodeError{.what = "not base64url", .path = "signature", .offset = 0});
  out.header = std::move(*header);
  out.claims = std::move(*claims);
  out.signature = std::move(*signature);
  return out;
}

std::string jwt_text(const json::Value& header, const json::Value& claims) {
  return to_base64url(json::dump(header)) + "." + to_base64url(json::dump(claims));
}

}  // namespace kopper::plane
