#include <cstddef>
#include <cstdint>

#include "kopper/runtime/trace_context.h"

#include "require.h"

using kopper::fuzz::require;
using kopper::runtime::TraceContext;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto context = TraceContext::parse(text)) {
    require(static_cast<bool>(*context), "a context has a trace");
    require(TraceContext::parse(context->str()) == context, "a context survives its own text");
  }
  return 0;
}
