#include <cstddef>
#include <cstdint>

#include "kopper/http/url.h"

#include "require.h"

using namespace kopper;
using namespace kopper::http;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto url = parse_url(text)) {
    require(!url->scheme.empty() && !url->host.empty(), "a URL has a scheme and a host");
    const auto again = parse_url(url->str());
    require(again.has_value(), "what str() writes, parse_url() reads");
    require(again->str() == url->str() && again->host == url->host && again->port == url->port, "str() keeps the URL");
    require(url->target().starts_with('/'), "a target begins with a slash");
    if (!url->path.empty()) require(split_path(url->path).has_value(), "a path can be split");
  } else {
    require(!url.error().what.empty() && url.error().offset <= size, "an error has a reason and a place");
  }
  require(unescape(escape(text)) == text, "unescape(escape(t)) == t");
  if (const auto query = Query::parse(text)) {
    const auto again = Query::parse(query->str());
    require(again.has_value() && again->str() == query->str(), "a query survives its own text");
  }
  return 0;
}
