#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "kopper/base/error.h"
#include "kopper/json/value.h"

// Signed tokens in their compact form (RFC 7515): header.claims.signature.
namespace kopper::plane {

std::string to_base64url(std::string_view bytes);
// Without padding, and nothing but its alphabet.
std::optional<std::string> from_base64url(std::string_view text);

struct Jwt {
  json::Value header;
  json::Value claims;
  std::string_view signed_text;  // of the text that was decoded
  std::string signature;
};

// Takes a token apart; who reads the claims verifies the signature first. `text` outlives the result.
std::expected<Jwt, DecodeError> decode_jwt(std::string_view text);

// What there is to sign: header.claims.
std::string jwt_text(const json::Value& header, const json::Value& claims);

}  // namespace kopper::plane
