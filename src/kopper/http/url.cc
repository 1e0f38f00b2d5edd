#include "kopper/http/url.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace kopper::http {
namespace {

constexpr std::size_t kMaxUrl = std::size_t{64} << 10U;
constexpr std::size_t kMaxParameters = 1000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_unreserved(char c) { return is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::uint16_t default_port(std::string_view scheme) {
  if (scheme == "http" || scheme == "ws") return 80;
  if (scheme == "https" || scheme == "wss") return 443;
  if (scheme == "socks5" || scheme == "socks5h") return 1080;
  return 0;
}

// The brackets keep the colons of an IPv6 address apart from the one before the port.
std::string bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
}

bool is_scheme(std::string_view text) {
  return !text.empty() && is_alpha(text[0]) && std::ranges::all_of(text, [](char c) {
    return is_alpha(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
  });
}

bool is_host(std::string_view text) {
  return !text.empty() && std::ranges::none_of(text, [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == 0x7f || std::string_view("/?#@:[]<>\"\\^`{|}%").contains(c);
  });
}

bool is_ipv6(std::string_view text) {
  return text.contains(':') && std::ranges::all_of(text, [](char c) {
           return hex_digit(c) >= 0 || c == ':' || c == '.' || c == '%' || is_unreserved(c);
         });
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

}  // namespace

std::string Url::authority() const { return port == default_port(scheme) ? bracketed(host) : host_port(); }
std::string Url::host_port() const { return fmt::format("{}:{}", bracketed(host), port); }

std::string Url::target() const {
  std::string out = path.empty() ? "/" : path;
  if (!query.empty()) out.append("?").append(query);
  return out;
}

std::string Url::str() const {
  return fmt::format("{}://{}{}{}{}", scheme, authority(), path, query.empty() ? "" : "?", query);
}

std::expected<Url, DecodeError> parse_url(std::string_view text) {
  const auto fail = [text](std::string_view what, std::string_view at) {
    return std::unexpected(DecodeError{std::string(what), {}, static_cast<std::size_t>(at.data() - text.data())});
  };
  if (text.size() > kMaxUrl) return fail("the URL is too long", text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) <= ' ' || text[i] == 0x7f) {
      return fail("a URL has no spaces or control characters", text.substr(i));
    }
  }

  Url url;
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos || !is_scheme(text.substr(0, colon))) {
    return fail("expected scheme://host", text);
  }
  url.scheme = lower(text.substr(0, colon));
  std::string_view rest = text.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));

  std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  rest.remove_prefix(authority.size());

  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    const std::string_view info = authority.substr(0, at);
    const std::size_t split = info.find(':');
    auto user = unescape(info.substr(0, split));
    auto password = unescape(split == std::string_view::npos ? std::string_view() : info.substr(split + 1));
    if (!user || !password) return fail("bad escape in user or password", authority);
    url.user = std::move(*user);
    url.password = std::move(*password);
    authority.remove_prefix(at + 1);
  }

  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos || !is_ipv6(authority.substr(1, close - 1))) {
      return fail("bad IPv6 address", authority);
    }
    url.host = lower(authority.substr(1, close - 1));
    port = authority.substr(close + 1);
    if (!port.empty() && port[0] != ':') return fail("expected a port after the IPv6 address", port);
  } else {
    const std::size_t split = authority.find(':');
    const std::string_view host = authority.substr(0, split);
    if (!is_host(host)) return fail("expected a host", authority);
    url.host = lower(host);
    if (split != std::string_view::npos) port = authority.substr(split);
  }
  url.port = default_port(url.scheme);
  if (port.size() > 1) {  // "host:" is the same as "host"
    const auto number = parse_port(port.substr(1));
    if (!number) return fail("expected a port from 1 to 65535", port.substr(1));
    url.port = *number;
  }

  const std::size_t question = rest.find('?');
  const std::string_view path = rest.substr(0, question);
  if (!unescape(path)) return fail("bad escape in the path", path);
  url.path = path;
  if (question != std::string_view::npos) url.query = rest.substr(question + 1);
  return url;
}

std::string escape(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.append({'%', kHex[byte >> 4U], kHex[byte & 15U]});
    }
  }
  return out;
}

std::optional<std::string> unescape(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::optional<std::vector<std::string>> split_path(std::string_view path) {
  if (!path.starts_with('/')) return std::nullopt;
  std::vector<std::string> out;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view segment = path.substr(0, path.find('/'));
    auto plain = unescape(segment);
    if (!plain) return std::nullopt;
    out.push_back(std::move(*plain));
    path.remove_prefix(segment.size());
  }
  return out;
}

std::expected<Query, DecodeError> Query::parse(std::string_view text) {
  Query query;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view part = text.substr(at, text.find('&', at) - at);
    const std::size_t equals = part.find('=');
    auto name = unescape(part.substr(0, equals), true);
    auto value = unescape(equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1), true);
    if (!name || !value) return std::unexpected(DecodeError{"bad escape in the query", {}, at});
    if (query.entries_.size() == kMaxParameters) return std::unexpected(DecodeError{"too many parameters", {}, at});
    if (!part.empty()) query.entries_.emplace_back(std::move(*name), std::move(*value));
    at += part.size() + 1;
  }
  return query;
}

Query& Query::add(std::string_view name, std::string_view value) & {
  entries_.emplace_back(name, value);
  return *this;
}

std::optional<std::string_view> Query::get(std::string_view name) const {
  for (const auto& [key, value] : entries_) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::string Query::str() const {
  std::string out;
  for (const auto& [name, value] : entries_) {
    if (!out.empty()) out += '&';
    out.append(escape(name)).append("=").append(escape(value));
  }
  return out;
}

std::string Query::on(std::string_view path) const {
  return entries_.empty() ? std::string(path) : fmt::format("{}?{}", path, str());
}

}  // namespace kopper::http
