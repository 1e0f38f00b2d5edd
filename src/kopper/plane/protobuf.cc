#include "kopper/plane/protobuf.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "kopper/api/definitions.h"
#include "kopper/api/time.h"
#include "kopper/meta/base64.h"
#include "kopper/plane/discovery/openapi_paths.h"

namespace kopper::plane {
namespace {

constexpr std::string_view kMagic("k8s\0", 4);
constexpr std::string_view kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.";
constexpr int kDepth = 64;

struct Broken {
  std::string what;
};

// One field of a message as it stands in the bytes.
struct Raw {
  std::uint64_t number = 0;
  unsigned type = 0;        // 0 varint, 1 fixed 64, 2 bytes
  std::uint64_t value = 0;  // of 0 and 1
  std::string_view bytes;   // of 2
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::optional<Raw> next() {
    if (bytes_.empty()) return std::nullopt;
    const std::uint64_t tag = varint();
    Raw out{.number = tag >> 3U, .type = static_cast<unsigned>(tag & 7U), .value = 0, .bytes = {}};
    switch (out.type) {
      case 0: out.value = varint(); break;
      case 1: out.value = fixed(8); break;
      case 2: out.bytes = take(varint()); break;
      case 5: out.value = fixed(4); break;
      default: throw Broken{fmt::format("proto: illegal wireType {}", out.type)};
    }
    return out;
  }
  std::uint64_t varint() {
    std::uint64_t out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      out |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return out;
    }
    throw Broken{"proto: integer overflow"};
  }
  bool done() const { return bytes_.empty(); }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size()) throw Broken{"unexpected EOF"};
    const std::string_view out = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return out;
  }
  std::uint64_t fixed(unsigned size) {
    std::uint64_t out = 0;
    const std::string_view bytes = take(size);
    for (unsigned i = 0; i < size; ++i) out |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return out;
  }

  std::string_view bytes_;
};

// The first field of that number, or an empty one.
Raw field(std::string_view message, std::uint64_t number) {
  Reader in(message);
  while (const auto raw = in.next())
    if (raw->number == number) return *raw;
  return {};
}

// What definitions.h says of a member.
struct Known {
  char kind = 0;
  char many = 0;  // '*', '%' or 0
  std::string_view name;
  std::string_view type;
};

std::optional<Known> find(std::string_view fields, std::uint64_t number) {
  while (!fields.empty()) {
    const std::string_view one = fields.substr(0, fields.find(' '));
    fields.remove_prefix(std::min(one.size() + 1, fields.size()));
    std::uint64_t its = 0;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), its);
    if (error != std::errc() || its != number) continue;
    std::string_view rest(end, static_cast<std::size_t>(one.data() + one.size() - end));
    Known out;
    out.kind = rest[0];
    if (rest[1] != ':') out.many = rest[1];
    rest.remove_prefix(rest.find(':') + 1);
    out.name = rest.substr(0, rest.find('='));
    if (out.name.size() < rest.size()) out.type = rest.substr(out.name.size() + 1);
    return out;
  }
  return std::nullopt;
}

const api::WireType* wire_type(std::string_view name) {
  const auto all = api::wire_types();
  const auto at = std::ranges::lower_bound(all, name, {}, &api::WireType::name);
  return at != all.end() && at->name == name ? &*at : nullptr;
}

void read_message(const api::WireType& type, std::string_view bytes, json::Object& out, int depth);

template <class Unit>
json::Value time_of(std::string_view message) {
  if (message.empty()) return nullptr;
  const auto seconds = static_cast<std::int64_t>(field(message, 1).value);
  const auto nanos = static_cast<std::int64_t>(field(message, 2).value);
  constexpr std::int64_t kYear10000 = 253402300800;
  if (seconds <= -kYear10000 || seconds >= kYear10000 || nanos < 0 || nanos > 999'999'999)
    throw Broken{"a time that no calendar has"};
  const auto at = std::chrono::sys_time<std::chrono::microseconds>(std::chrono::seconds(seconds)) +
                  std::chrono::floor<std::chrono::microseconds>(std::chrono::nanoseconds(nanos));
  return api::BasicTime<Unit>(at).str();
}

json::Value value_of(const Known& known, std::string_view package, const Raw& raw, int depth) {
  const bool number = known.kind == 'i' || known.kind == 'b';
  if (raw.type != (number ? 0U : known.kind == 'd' ? 1U : 2U))
    throw Broken{fmt::format("proto: wrong wireType = {} for field {}", raw.type, known.name)};
  switch (known.kind) {
    case 's': return raw.bytes;
    case 'y': {
      std::string text;
      meta::append_base64(text, raw.bytes);
      return text;
    }
    case 'i': return static_cast<std::int64_t>(raw.value);
    case 'b': return raw.value != 0;
    case 'd': return std::bit_cast<double>(raw.value);
    case 't': return time_of<std::chrono::seconds>(raw.bytes);
    case 'u': return time_of<std::chrono::microseconds>(raw.bytes);
    case 'q': return field(raw.bytes, 1).bytes;
    case 'o':
      if (field(raw.bytes, 1).value != 0) return field(raw.bytes, 3).bytes;
      return static_cast<std::int64_t>(field(raw.bytes, 2).value);
    case 'r': {
      const std::string_view text = field(raw.bytes, 1).bytes;
      if (text.empty()) return nullptr;
      auto value = json::parse(text, {.depth = 64, .bytes = text.size()});
      if (!value) throw Broken{value.error().str()};
      return std::move(*value);
    }
    case 'e': {
      json::Array all;
      Reader in(raw.bytes);
      while (const auto one = in.next())
        if (one->number == 1) all.emplace_back(one->bytes);
      return all;
    }
    default: break;
  }
  if (depth > kDepth) throw Broken{"messages inside each other without end"};
  json::Object out;
  const std::string name = known.type.find('.') == std::string_view::npos ? fmt::format("{}.{}", package, known.type)
                                                                          : std::string(known.type);
  if (const api::WireType* type = wire_type(name)) read_message(*type, raw.bytes, out, depth + 1);
  return out;
}

json::Value& as_array(json::Value& value) {
  if (!value.is_array()) value = json::Array();
  return value;
}

void read_message(const api::WireType& type, std::string_view bytes, json::Object& out, int depth) {
  const std::string_view package = type.name.substr(0, type.name.rfind('.'));
  Reader in(bytes);
  while (const auto raw = in.next()) {
    const auto known = find(type.fields, raw->number);
    if (!known) continue;  // of a newer client
    if (known->name.empty()) {
      const json::Value inner = value_of(*known, package, *raw, depth);
      for (const auto& [name, value] : *inner.as_object()) out[name] = value;
    } else if (known->many == '%') {
      json::Value& map = out[known->name];
      if (!map.is_object()) map = json::Object();
      Known value = *known;
      value.many = 0;
      Raw entry = field(raw->bytes, 2);
      if (entry.number == 0 && value.kind != 'i' && value.kind != 'b') entry.type = 2;  // left out when empty
      map[field(raw->bytes, 1).bytes] = value_of(value, package, entry, depth);
    } else if (known->many == '*' && raw->type == 2 && known->kind == 'i') {  // packed
      Reader packed(raw->bytes);
      json::Value& list = as_array(out[known->name]);
      while (!packed.done()) list.as_array()->emplace_back(static_cast<std::int64_t>(packed.varint()));
    } else if (known->many == '*') {
      json::Value value = value_of(*known, package, *raw, depth);
      as_array(out[known->name]).as_array()->push_back(std::move(value));
    } else {
      json::Value value = value_of(*known, package, *raw, depth);
      if (!value.is_null()) out[known->name] = std::move(value);
    }
  }
}

}  // namespace

std::expected<json::Value, std::string> from_protobuf(std::string_view bytes) {
  if (!bytes.starts_with(kMagic))
    return std::unexpected("provided data does not appear to be a protobuf message, expected prefix 6b 38 73 00");
  try {
    bytes.remove_prefix(kMagic.size());
    const std::string_view about = field(bytes, 1).bytes;
    const std::string_view raw = field(bytes, 2).bytes;
    const std::string_view api_version = field(about, 1).bytes;
    const std::string_view kind = field(about, 2).bytes;
    const std::size_t slash = api_version.find('/');
    const std::string_view group = slash == std::string_view::npos ? "" : api_version.substr(0, slash);
    const std::string_view version = api_version.substr(slash == std::string_view::npos ? 0 : slash + 1);
    const api::WireType* type = wire_type(openapi::builtin_definition_name(group, version, kind));
    if (type == nullptr) type = wire_type(fmt::format("{}{}", kMeta, kind));  // DeleteOptions: of every group
    if (type == nullptr)
      return std::unexpected(fmt::format("no kind \"{}\" is registered for version \"{}\"", kind, api_version));
    json::Object out{{"kind", kind}, {"apiVersion", api_version}};
    read_message(*type, raw, out, 0);
    // Once through JSON: what is not UTF-8 goes no further.
    auto checked = json::parse(json::dump(json::Value(std::move(out))));
    if (!checked) return std::unexpected(checked.error().str());
    return std::move(*checked);
  } catch (const Broken& broken) {
    return std::unexpected(broken.what);
  }
}

}  // namespace kopper::plane
