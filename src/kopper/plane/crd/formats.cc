#include "kopper/plane/crd/formats.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "kopper/api/validation.h"
#include "kopper/plane/crd/go_text.h"
#include "kopper/plane/crd/pattern.h"
#include "kopper/plane/ip.h"

namespace kopper::plane {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool hex(char c) { return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::string only(std::string_view text, bool (*keep)(char)) {
  std::string out;
  std::ranges::copy_if(text, std::back_inserter(out), keep);
  return out;
}

bool is_uuid(std::string_view text, char version) {
  constexpr std::array<std::size_t, 5> kGroups{8, 4, 4, 4, 12};
  std::string all;
  for (std::size_t group = 0; group < kGroups.size(); ++group) {
    if (group > 0 && text.starts_with('-')) text.remove_prefix(1);
    if (text.size() < kGroups[group] || !std::ranges::all_of(text.substr(0, kGroups[group]), hex)) return false;
    all += text.substr(0, kGroups[group]);
    text.remove_prefix(kGroups[group]);
  }
  if (!text.empty()) return false;
  if (version == 0) return true;
  const bool variant = version == '3' || std::string_view("89abAB").find(all[16]) != std::string_view::npos;
  return all[12] == version && variant;
}

bool is_hostname(std::string_view text) {
  static const auto kLabel = Pattern::compile(R"(^[\p{L}\p{S}0-9]([\p{L}\p{S}0-9-]{0,61}[\p{L}\p{S}0-9])?$)");
  static const auto kTop = Pattern::compile(R"(^[\p{L}]{2,63}$)");
  if (text.empty() || text.size() > 255 || text.ends_with('.')) return false;
  const bool dotted = text.find('.') != std::string_view::npos;
  while (true) {
    const std::size_t dot = text.find('.');
    const std::string_view label = text.substr(0, dot);
    if (label.size() > 63 || !kLabel->matches(label)) return false;
    if (dot == std::string_view::npos) return !dotted || kTop->matches(label);
    text.remove_prefix(dot + 1);
  }
}

bool is_mac(std::string_view text) {
  const bool dots = text.size() > 4 && text[4] == '.';
  const std::size_t group = dots ? 4 : 2;
  const char separator = dots ? '.' : text.size() > 2 ? text[2] : 0;
  if (!dots && separator != ':' && separator != '-') return false;
  std::size_t bytes = 0;
  while (true) {
    if (text.size() < group || !std::ranges::all_of(text.substr(0, group), hex)) return false;
    bytes += group / 2;
    text.remove_prefix(group);
    if (text.empty()) return bytes == 6 || bytes == 8 || bytes == 20;
    if (text[0] != separator) return false;
    text.remove_prefix(1);
  }
}

bool is_isbn10(std::string_view text) {
  const std::string all = only(text, [](char c) { return c != '-' && c != ' ' && c != '\t'; });
  if (all.size() != 10 || !std::ranges::all_of(all.substr(0, 9), digit) || (!digit(all[9]) && all[9] != 'X'))
    return false;
  int sum = 0;
  for (int i = 0; i < 10; ++i)
    sum += (i + 1) * (all[static_cast<std::size_t>(i)] == 'X' ? 10 : all[static_cast<std::size_t>(i)] - '0');
  return sum % 11 == 0;
}

bool is_isbn13(std::string_view text) {
  const std::string all = only(text, [](char c) { return c != '-' && c != ' ' && c != '\t'; });
  if (all.size() != 13 || !std::ranges::all_of(all, digit)) return false;
  int sum = 0;
  for (std::size_t i = 0; i < 13; ++i) sum += (i % 2 == 0 ? 1 : 3) * (all[i] - '0');
  return sum % 10 == 0;
}

bool is_credit_card(std::string_view text) {
  const std::string all = only(text, digit);
  if (all.size() < 12 || all.size() > 19) return false;
  int sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    int value = all[all.size() - 1 - i] - '0';
    if (i % 2 == 1) value = value > 4 ? value * 2 - 9 : value * 2;
    sum += value;
  }
  return sum % 10 == 0;
}

bool is_ssn(std::string_view text) {
  static const auto kForm = Pattern::compile(R"(^\d{3}[- ]?\d{2}[- ]?\d{4}$)");
  return text.size() == 11 && kForm->matches(text);
}

bool is_rgb(std::string_view text) {
  static const auto kForm = Pattern::compile(R"(^rgb\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)$)");
  if (!kForm->matches(text)) return false;
  static const auto kNumber = Pattern::compile(R"(\d+)");
  return std::ranges::all_of(kNumber->find_all(text, 3), [](const std::string& n) {
    return n.size() <= 3 && std::stoi(n) <= 255 && (n.size() == 1 || n[0] != '0');
  });
}

bool is_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return false;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  return std::ranges::all_of(text.substr(0, text.size() - padding), [](char c) {
    return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '/';
  });
}

bool is_datetime(std::string_view text) {
  static const auto kClock = Pattern::compile(R"((?i)^(\d{2}):(\d{2}):(\d{2})(.\d+)?(z|([+-]\d{2}:\d{2}))$)");
  if (text.size() < 11 || (text[10] != 'T' && text[10] != 't') || !parse_full_date(text.substr(0, 10))) return false;
  const std::string_view clock = text.substr(11);
  return kClock->matches(clock) && clock.substr(0, 2) <= "23" && clock.substr(3, 2) <= "59" &&
         clock.substr(6, 2) <= "59";
}

// Go's durations, and "3 days", "2 weeks": any number with a unit, anywhere in the text.
bool is_duration(std::string_view text) {
  static const auto kAny = Pattern::compile(
      R"((?i)\d+\s*(ns\b|nano|us\b|µs\b|micro|ms\b|milli|s\b|sec|m\b|min|h\b|hr\b|hour|d\b|day|w\b|wk\b|week))");
  return parse_go_duration(text).has_value() || kAny->matches(text);
}

bool is_uri(std::string_view text) {
  static const auto kBad = Pattern::compile(R"([\x00-\x1f\x7f ]|%([^0-9A-Fa-f]|.[^0-9A-Fa-f]|.?$))");
  if (text.empty() || kBad->matches(text)) return false;
  if (text[0] == '/' || text == "*") return true;
  static const auto kScheme = Pattern::compile(R"(^[a-zA-Z][a-zA-Z0-9+.-]*:)");
  return kScheme->matches(text);
}

bool is_email(std::string_view text) {
  static const auto kForm = Pattern::compile(
      R"(^([^<>@]*<[^<>@\s]+@[^<>@\s]+>|[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]+@[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]+)$)");
  return kForm->matches(text);
}

struct Format {
  std::string_view name;  // without dashes
  bool (*check)(std::string_view);
};
constexpr std::array kFormats{
    Format{"bsonobjectid", [](std::string_view) { return true; }},
    Format{"byte", is_base64},
    Format{"cidr", [](std::string_view t) { return Cidr::parse(t, true).has_value(); }},
    Format{"creditcard", is_credit_card},
    Format{"date", [](std::string_view t) { return parse_full_date(t).has_value(); }},
    Format{"datetime", is_datetime},
    Format{"duration", is_duration},
    Format{"email", is_email},
    Format{"hexcolor",
           [](std::string_view t) {
             if (t.starts_with('#')) t.remove_prefix(1);
             return (t.size() == 3 || t.size() == 6) && std::ranges::all_of(t, hex);
           }},
    Format{"hostname", is_hostname},
    Format{"ipv4", [](std::string_view t) { return t.find('.') != t.npos && Ip::parse(t, true).has_value(); }},
    Format{"ipv6", [](std::string_view t) { return t.find(':') != t.npos && Ip::parse(t).has_value(); }},
    Format{"isbn", [](std::string_view t) { return is_isbn10(t) || is_isbn13(t); }},
    Format{"isbn10", is_isbn10},
    Format{"isbn13", is_isbn13},
    Format{"k8slongname", [](std::string_view t) { return api::check_dns_subdomain(t).empty(); }},
    Format{"k8sshortname", [](std::string_view t) { return api::check_dns_label(t).empty(); }},
    Format{"mac", is_mac},
    Format{"password", [](std::string_view) { return true; }},
    Format{"rgbcolor", is_rgb},
    Format{"ssn", is_ssn},
    Format{"uri", is_uri},
    Format{"uuid", [](std::string_view t) { return is_uuid(t, 0); }},
    Format{"uuid3", [](std::string_view t) { return is_uuid(t, '3'); }},
    Format{"uuid4", [](std::string_view t) { return is_uuid(t, '4'); }},
    Format{"uuid5", [](std::string_view t) { return is_uuid(t, '5'); }},
};

const Format* find_format(std::string_view format) {
  const std::string name = only(format, [](char c) { return c != '-'; });
  const auto at = std::ranges::lower_bound(kFormats, name, {}, &Format::name);
  return at != kFormats.end() && at->name == name ? &*at : nullptr;
}

}  // namespace

bool known_format(std::string_view type, std::string_view format) {
  if (type.empty() || type == "string") return find_format(format) != nullptr;
  if (type == "integer") return format == "int32" || format == "int64";
  return type == "number" && (format == "float" || format == "double");
}

bool has_format(std::string_view format, std::string_view text) {
  const Format* known = find_format(format);
  return known == nullptr || known->check(text);
}

}  // namespace kopper::plane
