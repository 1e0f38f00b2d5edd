// Any text is a rule that does not compile, or one that ends within its budget, twice with the same answer.
#include <cstdint>
#include <string_view>

#include "kopper/plane/crd/cel/program.h"
#include "kopper/plane/crd/crd_schema.h"

#include "require.h"

using kopper::fuzz::require;
namespace json = kopper::json;
namespace plane = kopper::plane;

namespace {

constexpr std::uint64_t kLimit = 10'000;

struct Fixture {
  plane::BuiltinSchemas builtins;
  plane::CrdSchema schema{*json::parse(R"({"type": "object", "properties": {
          "n": {"type": "integer"}, "d": {"type": "number"}, "s": {"type": "string"}, "b": {"type": "boolean"},
          "t": {"type": "string", "format": "date-time"}, "span": {"type": "string", "format": "duration"},
          "list": {"type": "array", "items": {"type": "integer"}},
          "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
          "labels": {"type": "object", "additionalProperties": {"type": "string"}},
          "port": {"x-kubernetes-int-or-string": true},
          "inner": {"type": "object", "properties": {"x": {"type": "integer"}}}}})"),
                          builtins};
  json::Value self = *json::parse(R"({"n": 3, "d": 1.5, "s": "hello", "b": true, "t": "2026-01-31T10:00:00Z",
      "span": "1h", "list": [1, 2, 3], "set": ["a", "b"], "labels": {"app": "web"}, "port": "80%", "inner": {"x": 1}})");
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Fixture fixture;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const plane::cel::Environment environment{.self = &fixture.schema.root(), .optional_old_self = size % 2 == 1};
  for (const auto result : {plane::cel::Result::Bool, plane::cel::Result::String}) {
    const auto program = plane::cel::Program::compile(text, environment, result);
    if (!program) {
      require(!program.error().empty(), "what does not compile says why");
      continue;
    }
    const plane::cel::Inputs inputs{.self = &fixture.self, .old_self = &fixture.self, .schema = &fixture.schema.root()};
    const auto answer = program->run(inputs, kLimit);
    require(answer.too_costly == (answer.cost > kLimit), "what exceeds its budget stops");
    const auto again = program->run(inputs, kLimit);
    require(answer.value == again.value && answer.text == again.text && answer.error == again.error,
            "a rule has one answer");
  }
  return 0;
}
