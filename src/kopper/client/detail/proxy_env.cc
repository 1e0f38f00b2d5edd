#include "kopper/client/detail/proxy_env.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "kopper/client/detail/text.h"
#include "kopper/http/url.h"

namespace kopper::client::detail {
namespace {

using Address = std::array<unsigned char, 16>;  // IPv4 as ::ffff:a.b.c.d

// The whole of `text` as a number in `base`, at most `max`.
std::optional<unsigned> parse_number(std::string_view text, int base, unsigned max) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || value > max) return std::nullopt;
  return value;
}

std::optional<Address> parse_ipv4(std::string_view text) {
  Address address{};
  address[10] = address[11] = 0xff;
  for (std::size_t i = 12; i < 16; ++i) {
    const auto dot = i < 15 ? text.find('.') : text.size();
    if (dot == text.npos) return std::nullopt;
    const auto byte = parse_number(text.substr(0, dot), 10, 255);
    if (!byte) return std::nullopt;
    address[i] = static_cast<unsigned char>(*byte);
    text.remove_prefix(std::min(dot + 1, text.size()));
  }
  return address;
}

// The bytes of "a:b:c"; nothing when one group is wrong.
std::optional<std::vector<unsigned char>> parse_groups(std::string_view text) {
  std::vector<unsigned char> bytes;
  while (!text.empty()) {
    const auto colon = std::min(text.find(':'), text.size());
    const auto group = parse_number(text.substr(0, colon), 16, 0xffff);
    if (!group || colon + 1 == text.size()) return std::nullopt;
    bytes.push_back(static_cast<unsigned char>(*group >> 8U));
    bytes.push_back(static_cast<unsigned char>(*group));
    text.remove_prefix(std::min(colon + 1, text.size()));
  }
  return bytes;
}

std::optional<Address> parse_address(std::string_view text) {
  if (text.find(':') == text.npos) return parse_ipv4(text);
  const auto gap = text.find("::");
  const auto head = parse_groups(text.substr(0, gap));
  const auto tail = parse_groups(gap == text.npos ? std::string_view() : text.substr(gap + 2));
  Address address{};
  if (!head || !tail || head->size() + tail->size() > address.size()) return std::nullopt;
  if (gap == text.npos && head->size() != address.size()) return std::nullopt;
  std::ranges::copy(*head, address.begin());
  std::ranges::copy(*tail, address.end() - static_cast<std::ptrdiff_t>(tail->size()));
  return address;
}

bool is_loopback(const Address& address) {
  constexpr Address kV6{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  constexpr Address kV4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};
  return address == kV6 || std::equal(kV4.begin(), kV4.begin() + 13, address.begin());
}

bool in_network(const Address& address, std::string_view network) {
  const auto slash = network.find('/');
  const auto base = parse_address(network.substr(0, slash));
  const bool ipv4 = network.find(':') == network.npos;
  const auto length = parse_number(network.substr(slash + 1), 10, ipv4 ? 32 : 128);
  if (!base || !length) return false;
  const auto bits = *length + (ipv4 ? 96 : 0);
  for (unsigned i = 0; i < bits; ++i) {
    const auto mask = 0x80U >> (i % 8);
    if (((address[i / 8] ^ (*base)[i / 8]) & mask) != 0) return false;
  }
  return true;
}

// One entry of NO_PROXY.
bool covers(std::string_view entry, const http::Url& url, const std::optional<Address>& address) {
  if (entry == "*") return true;
  if (entry.find('/') != std::string_view::npos) return address && in_network(*address, entry);
  const bool bare_ipv6 = std::ranges::count(entry, ':') > 1 && !entry.starts_with('[');
  if (const auto colon = entry.rfind(':'); colon != entry.npos && !bare_ipv6 && !entry.ends_with(']')) {
    if (entry.substr(colon + 1) != std::to_string(url.port)) return false;
    entry = entry.substr(0, colon);
  }
  if (entry.starts_with('[') && entry.ends_with(']')) entry = entry.substr(1, entry.size() - 2);
  if (const auto exact = parse_address(entry)) return exact == address;
  if (entry.starts_with("*.")) entry.remove_prefix(1);
  const bool subdomains_only = entry.starts_with('.');
  if (subdomains_only) entry.remove_prefix(1);
  if (entry.empty()) return false;
  const std::string_view host = url.host;
  if (host == entry) return !subdomains_only;
  return host.ends_with(entry) && host[host.size() - entry.size() - 1] == '.';
}

std::string lowered(std::string text) {
  for (auto& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace

std::string proxy_from_env(std::string_view server, const std::function<std::string(const char*)>& env) {
  const auto url = http::parse_url(server);
  if (!url || url->host == "localhost") return {};
  const auto address = parse_address(url->host);
  if (address && is_loopback(*address)) return {};

  const auto either = [&env](const char* upper, const char* lower) {
    auto value = env(upper);
    return value.empty() ? env(lower) : value;
  };
  auto proxy = url->scheme == "https" ? either("HTTPS_PROXY", "https_proxy") : either("HTTP_PROXY", "http_proxy");
  if (proxy.empty()) return {};
  const auto exceptions = lowered(either("NO_PROXY", "no_proxy"));
  for (std::size_t begin = 0; begin <= exceptions.size();) {
    const auto end = std::min(exceptions.find(',', begin), exceptions.size());
    const auto entry = trimmed(std::string_view(exceptions).substr(begin, end - begin));
    if (covers(entry, *url, address)) return {};
    begin = end + 1;
  }
  return proxy.find("://") == std::string::npos ? "http://" + proxy : proxy;
}

}  // namespace kopper::client::detail
