#include <cstddef>
#include <cstdint>

#include "kopper/workloads/grpc_health.h"

#include "require.h"

using namespace kopper::workloads;
using kopper::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto status = health_status(text)) {
    require(*status >= 0 && *status < 256, "a status is a small number");
    require(!health_status_name(*status).empty(), "every status has a name");
  }
  const auto request = health_request(text);
  require(request.size() >= 5 && request.ends_with(text), "a request names its service");
  return 0;
}
