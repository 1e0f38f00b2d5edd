// Input: a line that is a schema, and a line that is an object. Any schema is checked and makes a tree; pruning and
// defaults are done after one pass; what was pruned has no unknown fields.
#include <cstdint>
#include <string_view>

#include "kopper/plane/crd/check_crd.h"
#include "kopper/plane/crd/columns.h"
#include "kopper/plane/crd/crd_schema.h"
#include "kopper/plane/crd/defaults.h"
#include "kopper/plane/crd/json_path.h"
#include "kopper/plane/crd/prune.h"
#include "kopper/plane/crd/validate.h"

#include "require.h"

using kopper::fuzz::require;
namespace json = kopper::json;
namespace plane = kopper::plane;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static plane::BuiltinSchemas builtins;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const auto schema = json::parse(text.substr(0, line), {.depth = 64});
  const auto object = json::parse(text.substr(std::min(line + 1, text.size())), {.depth = 64});
  if (const auto path = plane::JsonPath::parse(text.substr(0, line)); path && object) (void)path->find(*object);
  if (!schema) return 0;

  json::Value crd = json::Object{
      {"spec",
       json::Object{{"versions", json::Array{json::Object{{"name", "v1"},
                                                          {"schema", json::Object{{"openAPIV3Schema", *schema}}}}}}}}};
  plane::default_crd(crd);
  (void)plane::check_crd(crd, builtins);
  if (!object) return 0;

  const plane::CrdSchema made(*schema, builtins);
  json::Value pruned = *object;
  plane::prune(pruned, made.root());
  require(plane::unknown_fields(pruned, made.root()).empty(), "nothing unknown is left after pruning");
  json::Value filled = pruned;
  plane::set_defaults(filled, made.root());
  json::Value again = filled;
  plane::set_defaults(again, made.root());
  require(again == filled, "defaults are set in one pass");
  (void)plane::check_custom_resource(filled, made);
  (void)plane::check_custom_resource(filled, made, {.old = &*object});
  return 0;
}
