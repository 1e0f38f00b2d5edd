#include <cstddef>
#include <cstdint>

#include "kopper/plane/auth/account_tokens.h"
#include "kopper/plane/auth/jwt.h"
#include "kopper/plane/auth/token_file.h"

#include "require.h"

using namespace kopper;
using namespace kopper::plane;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto token = decode_jwt(text)) {
    require(token->header.is_object() && token->claims.is_object(), "both parts are objects");
    require(text.starts_with(token->signed_text), "what is signed is the beginning of the token");
    const AccountClaims claims = AccountClaims::of(token->claims);
    const AccountClaims again = AccountClaims::of(claims.to_json());
    require(again.subject == claims.subject && again.expires == claims.expires && again.audiences == claims.audiences &&
                again.account.uid == claims.account.uid,
            "claims survive being written");
    const auto copy = decode_jwt(jwt_text(token->header, token->claims) + "." + to_base64url(token->signature));
    require(copy.has_value() && copy->claims == token->claims && copy->signature == token->signature,
            "what is written can be read");
  } else {
    require(!token.error().what.empty(), "an error has a reason");
  }
  if (const auto bytes = from_base64url(text)) require(from_base64url(to_base64url(*bytes)) == *bytes, "base64url");
  require(from_base64url(to_base64url(text)) == text, "any bytes survive base64url");
  if (const auto users = parse_token_file(text)) {
    for (const auto& [token, user] : *users) require(!token.empty(), "nobody logs in with an empty token");
  } else {
    require(!users.error().what.empty() && users.error().offset <= size, "an error has a reason and a place");
  }
  return 0;
}
