#include "kopper/plane/continue_token.h"

#include <fmt/format.h>

#include "kopper/json/value.h"
#include "kopper/meta/base64.h"
#include "kopper/plane/go_syntax.h"
#include "kopper/plane/status.h"

namespace kopper::plane {

std::string to_string(const ContinueToken& token) {
  const json::Object content{
      {"v", "meta.k8s.io/v1"}, {"rv", token.revision}, {"ns", token.after.first}, {"name", token.after.second}};
  std::string out;
  meta::append_base64(out, json::dump(content));
  return out;
}

ContinueToken parse_continue(std::string_view text) {
  const Refusal bad = bad_request("invalid continue token: continue key is not valid");
  if (text.size() > 4096) throw bad;
  const auto bytes = meta::from_base64(text);
  if (!bytes) throw bad;
  const auto value = json::parse(*bytes);
  if (!value)
    throw bad_request(fmt::format("invalid continue token: continue key is not valid: {}", go_json_error(*bytes)));
  if (!value->is_object()) throw bad;
  const std::int64_t* revision = (*value)["rv"].as_int();
  if (value->text("v") != "meta.k8s.io/v1" || revision == nullptr || *revision < 0) throw bad;
  return {.revision = static_cast<std::uint64_t>(*revision),
          .after = {std::string(value->text("ns")), std::string(value->text("name"))}};
}

}  // namespace kopper::plane
