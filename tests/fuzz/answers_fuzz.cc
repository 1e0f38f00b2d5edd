#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kopper/client/discovery.h"
#include "kopper/client/status.h"
#include "kopper/client/watch.h"

#include "require.h"

using namespace kopper;
using fuzz::require;

// Whatever a server sends in place of an object: the events of a watch, errors, warnings, discovery documents.
// The first byte says which.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 4U) {
    case 0: {
      std::string scratch;
      const auto event = client::parse_event(text, scratch);
      require((event.type == client::WatchType::Failed) == event.error.has_value(), "a failed event has an error");
      break;
    }
    case 1: {
      const auto error = client::error_from(100 + data[0] * 3, {{"retry-after", text}}, text);
      require(!std::string_view(error.what()).empty(), "an error says something");
      for (const auto& cause : error.causes) static_cast<void>(client::manager_of(cause));
      break;
    }
    case 2: static_cast<void>(client::warnings({{"warning", text}})); break;
    default: {
      const auto aggregated = client::parse_aggregated(text);
      const auto legacy = client::parse_legacy_resources(text);
      if (aggregated) static_cast<void>(aggregated->find("deployments.v1.apps"));
      if (legacy) static_cast<void>(legacy->find("po"));
    }
  }
  return 0;
}
