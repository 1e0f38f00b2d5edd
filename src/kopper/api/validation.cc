#include "kopper/api/validation.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

namespace kopper::api {
namespace {

// The wording and the patterns are the server's: tools and people match on them.
constexpr std::string_view kLabelPattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kSubdomainPattern = R"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)";
constexpr std::string_view kKeyPattern = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr std::size_t kMaxLabel = 63;
constexpr std::size_t kMaxSubdomain = 253;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower_alnum(char c) { return is_lower(c) || is_digit(c); }
bool is_alnum(char c) { return is_lower_alnum(c) || (c >= 'A' && c <= 'Z'); }

bool is_label(std::string_view s) {
  return !s.empty() && is_lower_alnum(s.front()) && is_lower_alnum(s.back()) &&
         std::ranges::all_of(s, [](char c) { return is_lower_alnum(c) || c == '-'; });
}

bool is_subdomain(std::string_view s) {
  for (;;) {
    const auto dot = s.find('.');
    if (!is_label(s.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    s.remove_prefix(dot + 1);
  }
}

bool is_key_char(char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; }

bool is_key_name(std::string_view s) {
  return !s.empty() && is_alnum(s.front()) && is_alnum(s.back()) && std::ranges::all_of(s, is_key_char);
}

// The server counts labels in bytes and names in characters; only the words differ.
std::string too_long(std::size_t most, std::string_view unit) {
  return fmt::format("must be no more than {} {}", most, unit);
}

std::string mismatch(std::string_view rule, std::string_view pattern,
                     std::initializer_list<std::string_view> examples) {
  std::string out(rule);
  out += " (e.g. ";
  const char* separator = "";
  for (const auto example : examples) {
    out += fmt::format("{}'{}', ", separator, example);
    separator = " or ";
  }
  return out += fmt::format("regex used for validation is '{}')", pattern);
}

std::string bad_key() {
  return mismatch(
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
      kKeyPattern, {"MyName", "my.name", "123-abc"});
}

}  // namespace

Complaints check_dns_label(std::string_view value) {
  Complaints out;
  if (value.size() > kMaxLabel) out.push_back(too_long(kMaxLabel, "characters"));
  if (is_label(value)) return out;
  out.push_back(
      is_subdomain(value)
          ? "must not contain dots"
          : mismatch("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
                     "must start and end with an alphanumeric character",
                     kLabelPattern, {"my-name", "123-abc"}));
  return out;
}

Complaints check_dns_subdomain(std::string_view value) {
  Complaints out;
  if (value.size() > kMaxSubdomain) out.push_back(too_long(kMaxSubdomain, "characters"));
  if (!is_subdomain(value)) {
    out.push_back(
        mismatch("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
                 "'.', and must start and end with an alphanumeric character",
                 kSubdomainPattern, {"example.com"}));
  }
  return out;
}

Complaints check_dns1035_label(std::string_view value) {
  Complaints out;
  if (value.size() > kMaxLabel) out.push_back(too_long(kMaxLabel, "characters"));
  if (!is_label(value) || !is_lower(value.front())) {
    out.push_back(
        mismatch("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
                 "alphabetic character, and end with an alphanumeric character",
                 "[a-z]([-a-z0-9]*[a-z0-9])?", {"my-name", "abc-123"}));
  }
  return out;
}

Complaints check_label_key(std::string_view value) {
  Complaints out;
  auto name = value;
  if (const auto slash = value.find('/'); slash != std::string_view::npos) {
    const auto prefix = value.substr(0, slash);
    name = value.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) {
      return {fmt::format(
          "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')", bad_key())};
    }
    if (prefix.empty())
      out.emplace_back("prefix part must be non-empty");
    else
      for (const auto& complaint : check_dns_subdomain(prefix)) out.push_back("prefix part " + complaint);
  }
  if (name.empty()) out.emplace_back("name part must be non-empty");
  if (name.size() > kMaxLabel) out.push_back("name part " + too_long(kMaxLabel, "bytes"));
  if (!is_key_name(name)) out.push_back("name part " + bad_key());
  return out;
}

Complaints check_label_value(std::string_view value) {
  Complaints out;
  if (value.size() > kMaxLabel) out.push_back(too_long(kMaxLabel, "bytes"));
  if (!value.empty() && !is_key_name(value)) {
    out.push_back(
        mismatch("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
                 "and must start and end with an alphanumeric character",
                 fmt::format("({})?", kKeyPattern), {"MyValue", "my_value", "12345"}));
  }
  return out;
}

Complaints check_config_key(std::string_view value) {
  Complaints out;
  if (value.size() > kMaxSubdomain) out.push_back(too_long(kMaxSubdomain, "characters"));
  if (value.empty() || !std::ranges::all_of(value, is_key_char)) {
    out.push_back(mismatch("a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
                           "[-._a-zA-Z0-9]+", {"key.name", "KEY_NAME", "key-name"}));
  }
  if (value == ".")
    out.emplace_back("must not be '.'");
  else if (value == "..")
    out.emplace_back("must not be '..'");
  else if (value.starts_with(".."))
    out.emplace_back("must not start with '..'");
  return out;
}

}  // namespace kopper::api
