// Any bytes into a type of every shape: an error or a value, and a value comes back the same from its own JSON.
#include <algorithm>
#include <cstdlib>

#include "kopper/json/writer.h"
#include "kopper/meta/compare.h"
#include "kopper/meta/decode.h"
#include "kopper/meta/encode.h"
#include "kopper/meta/encode_over.h"

enum class Mode { Fast, Slow, default_ };

// A number, or "12m".
struct Length {
  double metres = 1;
  friend bool operator==(const Length&, const Length&) = default;
};
struct Either {
  kopper::json::Value value;
  friend bool operator==(const Either&, const Either&) = default;
};

template <>
struct kopper::meta::Codec<Length> {
  static bool read(Token token, Length& out) {
    const auto digits = token.text.find_first_not_of("0123456789");
    if (token.quoted && (digits == 0 || token.text.substr(std::min(digits, token.text.size())) != "m")) return false;
    out.metres = std::strtod(std::string(token.text).c_str(), nullptr);
    return out.metres < 1e300;
  }
  static void write(const Length& v, json::Writer& out) { out.value(v.metres); }
  static json::Value schema() { return {}; }
};
template <>
struct kopper::meta::Codec<Either> {
  static std::expected<Either, std::string> from_value(const json::Value& v) {
    if (v.is_number()) return std::unexpected("no number");
    return Either{v};
  }
  static json::Value to_value(const Either& v) { return v.value; }
  static json::Value schema() { return {}; }
};

struct Port {
  std::string name;
  int32_t number = 0;
};

struct Everything {
  static constexpr kopper::Kind kind{"example.com", "v1", "Everything"};
  bool flag = true;
  int32_t i32 = -1;
  int64_t i64 = 2;
  uint32_t u32 = 3;
  uint64_t u64 = 4;
  double real = 0.5;
  std::string text = "initial";
  kopper::Bytes bytes;
  Mode mode = Mode::Slow;
  Length length;
  Either either;
  kopper::json::Value any;
  std::optional<int32_t> maybe;
  std::optional<Port> port;
  std::vector<Port> ports;
  std::vector<std::vector<double>> matrix;
  std::map<std::string, std::string> labels;
  std::map<std::string, Port> named;
  kopper::Box<Everything> self;
  std::string template_;
  static constexpr auto rules = kopper::rules(kopper::field<&Everything::ports>.list_map({"name"}));
};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> unknown;
  const auto first = kopper::meta::decode<Everything>(bytes);
  const auto strict = kopper::meta::decode<Everything>(bytes, {.unknown = &unknown});
  if (first.has_value() != strict.has_value()) std::abort();
  if (!first) {
    if (first.error().offset > size || first.error().what.empty()) std::abort();
    return 0;
  }
  const std::string json = kopper::meta::encode(*first);
  const auto second = kopper::meta::decode<Everything>(json);
  if (!second || !kopper::meta::equal(*first, *second) || kopper::meta::encode(*second) != json) std::abort();
  if (!kopper::meta::covers(*second, *first)) std::abort();

  if (const auto kept = kopper::meta::encode_over(bytes, *first)) {
    const auto third = kopper::meta::decode<Everything>(*kept);
    if (!third || !kopper::meta::equal(*first, *third)) std::abort();
  }
  return 0;
}
