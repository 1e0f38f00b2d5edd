#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kopper/plane/apply/managers.h"

#include "require.h"

using namespace kopper;
using fuzz::require;
using plane::FieldSet;

namespace {

// A type that holds itself in every way there is: o merges, m is one value, l is a list by key, s a set, a an atomic
// list, d a map.
const plane::Schema& self_schema() {
  static plane::SchemaPool pool;
  static const plane::Schema& root = [] -> const plane::Schema& {
    using enum plane::Schema::Type;
    plane::Schema& self = pool.add({.type = Object});
    const plane::Schema& number = pool.add({.type = Integer});
    const plane::Schema& text = pool.add({.type = String});
    const auto list = [&](plane::Schema::List kind, const plane::Schema& items) {
      plane::Schema& out = pool.add({.type = List, .list = kind, .items = &items});
      if (kind == plane::Schema::List::Map) out.keys = {"k", "p"};
      return &out;
    };
    plane::Schema atomic{.type = Object, .atomic = true, .values = &self};
    self.members = pool.add(std::vector<plane::Member>{
        {.name = "apiVersion", .schema = &text},
        {.name = "kind", .schema = &text},
        {.name = "metadata", .schema = &pool.add({.type = Object, .preserve_unknown = true})},
        {.name = "k", .schema = &number},
        {.name = "p", .schema = &text, .default_value = "TCP"},
        {.name = "o", .schema = &self},
        {.name = "m", .schema = &pool.add(atomic)},
        {.name = "l", .schema = list(plane::Schema::List::Map, self)},
        {.name = "s", .schema = list(plane::Schema::List::Set, number)},
        {.name = "a", .schema = list(plane::Schema::List::Atomic, self)},
        {.name = "d", .schema = &pool.add({.type = Object, .values = &self})},
        {.name = "x", .schema = &pool.add({.type = Any, .preserve_unknown = true})}});
    return self;
  }();
  return root;
}

void algebra(const FieldSet& a, const FieldSet& b) {
  require(FieldSet::decode(a.encode()) == a, "what is written reads back");
  require((a | b) == (b | a), "a union has no order");
  require((a & b) == (b & a), "an intersection has no order");
  require(((a - b) | (a & b)) == a, "a set is what it shares and what it does not");
  require(((a - b) & b).empty(), "what was taken away is gone");
  require((a | b).size() == a.size() + b.size() - (a & b).size(), "sizes add up");
}

void apply_twice(json::Value live, json::Value config) {
  config["apiVersion"] = "v1";
  if (!config["metadata"].is_object()) config["metadata"] = json::Object();
  const plane::FieldWrite write{.schema = self_schema(), .manager = "fuzz", .api_version = "v1"};
  live["metadata"] = json::Object{{"labels", json::Object{{"a", "b"}}}};  // so that somebody owns something
  plane::update_managers({}, live, {.schema = self_schema(), .manager = "creator", .api_version = "v1"});
  try {
    const plane::Applied once = plane::apply_config(live, config, write, true);
    require(once.conflicts.empty(), "a forced apply has no conflicts");
    const plane::Applied again = plane::apply_config(once.object, config, write, false);
    require(again.conflicts.empty(), "what was applied is not in conflict with itself");
    require(again.object == once.object, "the second apply changes nothing");
  } catch (const plane::Refusal&) {
  }
}

}  // namespace

// Two JSON documents with a newline between: what is there and what is applied; each read as FieldsV1 as well.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t middle = text.find('\n');
  if (middle == std::string_view::npos) return 0;
  const json::Limits limits{.depth = 64};
  const auto live = json::parse(text.substr(0, middle), limits);
  const auto config = json::parse(text.substr(middle + 1), limits);
  if (!live || !config) return 0;
  const auto a = FieldSet::decode(*live);
  const auto b = FieldSet::decode(*config);
  if (a && b) algebra(*a, *b);
  if (live->is_object() && config->is_object()) apply_twice(*live, *config);
  return 0;
}
