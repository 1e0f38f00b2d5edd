#include "kopper/plane/proto/decode.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kopper/api/time.h"
#include "kopper/json/utf8.h"
#include "kopper/meta/base64.h"
#include "kopper/plane/proto/table.h"
#include "kopper/plane/reading.h"

namespace kopper::plane::proto {
namespace {

using json::Object;
using json::Value;

constexpr std::string_view kMagic("k8s\0", 4);
constexpr std::size_t kMaxDepth = 128;

enum Wire : std::uint8_t { Varint = 0, Fixed64 = 1, Delimited = 2, StartGroup = 3, EndGroup = 4, Fixed32 = 5 };

struct Tag {
  std::uint32_t number;
  std::uint8_t wire;
};

const Message* find_message(std::string_view package, std::string_view name) {
  const std::string full = fmt::format("{}::{}", package, name);
  const auto at = std::ranges::lower_bound(messages(), full, {}, &Message::name);
  return at != messages().end() && at->name == full && at->role == Role::Kind ? &*at : nullptr;
}

const Message* message_of(std::string_view api_version, std::string_view kind) {
  const auto package = std::ranges::lower_bound(packages(), api_version, {}, &Package::api_version);
  if (package != packages().end() && package->api_version == api_version)
    if (const Message* found = find_message(package->name, kind)) return found;
  return find_message("metav1", kind);  // DeleteOptions are of every group
}

std::span<const Field> fields_of(const Message& message) { return fields().subspan(message.first, message.count); }

const Field* find_field(const Message& message, std::uint32_t number) {
  const auto own = fields_of(message);
  const auto at = std::ranges::lower_bound(own, number, {}, &Field::number);
  return at != own.end() && at->number == number ? &*at : nullptr;
}

// The name that errors know a message by.
std::string_view short_name(const Message& message) { return message.name.substr(message.name.rfind(':') + 1); }

Value text(std::string_view bytes) {
  return json::valid_utf8(bytes) ? Value(bytes) : Value(json::repaired_utf8(bytes));
}

// Every method takes what it reads off the front of `in`, and is false when that is not possible; error() then says
// why.
class Decoder {
 public:
  explicit Decoder(std::string_view whole) : begin_(whole.data()) {}

  DecodeError error() && { return std::move(error_); }

  bool envelope(std::string_view in, Envelope& out) {
    return each(in, "Unknown", [&](Tag tag, std::string_view& rest) {
      std::string_view bytes;
      switch (tag.number) {
        case 1: return expect(rest, tag, Delimited, "TypeMeta") && delimited(rest, bytes) && type_meta(bytes, out);
        case 2: return expect(rest, tag, Delimited, "Raw") && delimited(rest, out.raw);
        default: return skip(rest, tag);
      }
    });
  }

  // `depth`: of the object in the whole.
  bool message(std::string_view in, const Message& which, Object& out, std::size_t depth) {
    if (depth > kMaxDepth) return fail(in, "exceeded max depth");
    Maps maps;
    const bool ok = each(in, short_name(which), [&](Tag tag, std::string_view& rest) {
      const Field* field = find_field(which, tag.number);
      return field == nullptr ? skip(rest, tag) : member(rest, tag, *field, out, maps, depth);
    });
    if (!ok) return false;
    for (auto& [field, entries] : maps) out[field->name] = sorted(std::move(entries));
    return true;
  }

 private:
  using Entries = std::vector<Object::Member>;
  using Maps = std::vector<std::pair<const Field*, Entries>>;

  bool fail(std::string_view at, std::string what) {
    error_.what = std::move(what);
    error_.offset = static_cast<std::size_t>(at.data() - begin_);
    return false;
  }

  bool varint(std::string_view& in, std::uint64_t& out) {
    out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (in.empty()) return fail(in, "unexpected EOF");
      const auto byte = static_cast<std::uint8_t>(in.front());
      in.remove_prefix(1);
      out |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return true;
    }
    return fail(in, "proto: integer overflow");
  }

  bool take(std::string_view& in, std::size_t size, std::string_view& out) {
    if (size > in.size()) return fail(in, "unexpected EOF");
    out = in.substr(0, size);
    in.remove_prefix(size);
    return true;
  }

  bool delimited(std::string_view& in, std::string_view& out) {
    std::uint64_t size = 0;
    if (!varint(in, size)) return false;
    if (size > std::numeric_limits<std::int64_t>::max())
      return fail(in, "proto: negative length found during unmarshaling");
    return take(in, size, out);
  }

  bool fixed64(std::string_view& in, std::uint64_t& out) {
    std::string_view bytes;
    if (!take(in, 8, bytes)) return false;
    out = 0;
    for (std::size_t i = 8; i-- > 0;) out = out << 8U | static_cast<std::uint8_t>(bytes[i]);
    return true;
  }

  bool expect(std::string_view in, Tag tag, Wire wire, std::string_view field) {
    if (tag.wire == wire) return true;
    std::string name(field);
    if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
    return fail(in, fmt::format("proto: wrong wireType = {} for field {}", tag.wire, name));
  }

  // Calls visit(tag, rest) for every field; it takes the field's value off `rest`.
  template <class Visit>
  bool each(std::string_view in, std::string_view name, Visit visit) {
    while (!in.empty()) {
      const std::string_view at = in;
      std::uint64_t key = 0;
      if (!varint(in, key)) return false;
      const Tag tag{.number = static_cast<std::uint32_t>(key >> 3U), .wire = static_cast<std::uint8_t>(key & 7U)};
      if (tag.wire == EndGroup) return fail(at, fmt::format("proto: {}: wiretype end group for non-group", name));
      if (static_cast<std::int32_t>(tag.number) <= 0)
        return fail(at, fmt::format("proto: {}: illegal tag {} (wire type {})", name,
                                    static_cast<std::int32_t>(tag.number), key));
      if (!visit(tag, in)) return false;
    }
    return true;
  }

  bool skip(std::string_view& in, Tag tag) {
    std::size_t open = 0;  // groups
    for (;;) {
      std::uint64_t number = 0;
      std::string_view bytes;
      bool ok = true;
      switch (tag.wire) {
        case Varint: ok = varint(in, number); break;
        case Fixed64: ok = take(in, 8, bytes); break;
        case Delimited: ok = delimited(in, bytes); break;
        case StartGroup: ++open; break;
        case EndGroup: --open; break;
        case Fixed32: ok = take(in, 4, bytes); break;
        default: return fail(in, fmt::format("proto: illegal wireType {}", tag.wire));
      }
      if (!ok) return false;
      if (open == 0) return true;
      if (!varint(in, number)) return false;
      tag.wire = static_cast<std::uint8_t>(number & 7U);
    }
  }

  bool type_meta(std::string_view in, Envelope& out) {
    return each(in, "TypeMeta", [&](Tag tag, std::string_view& rest) {
      if (tag.number > 2) return skip(rest, tag);
      std::string_view bytes;
      const bool version = tag.number == 1;
      if (!expect(rest, tag, Delimited, version ? "APIVersion" : "Kind") || !delimited(rest, bytes)) return false;
      (version ? out.api_version : out.kind) = *text(bytes).as_string();
      return true;
    });
  }

  bool member(std::string_view& in, Tag tag, const Field& field, Object& out, Maps& maps, std::size_t depth) {
    switch (field.form) {
      case Form::Map: {
        auto at = std::ranges::find(maps, &field, &Maps::value_type::first);
        if (at == maps.end()) {
          out[field.name] = nullptr;  // its place among the members
          at = maps.insert(at, {&field, {}});
        }
        return entry(in, tag, field, at->second, depth);
      }
      case Form::Repeated: {
        Value& list = out[field.name];
        if (!list.is_array()) list = json::Array();
        return items(in, tag, field, *list.as_array(), depth);
      }
      case Form::Inline: {
        Value inner;
        if (!value(in, tag, field, inner, depth - 1)) return false;
        for (auto& [name, item] : *inner.as_object()) out[name] = std::move(item);
        return true;
      }
      case Form::Plain:
      case Form::NotBlank: {
        Value item;
        if (!value(in, tag, field, item, depth)) return false;
        if (item.is_null() || (field.form == Form::NotBlank && is_blank(item))) {
          out.erase(field.name);
        } else {
          out[field.name] = std::move(item);
        }
        return true;
      }
    }
    std::unreachable();
  }

  bool items(std::string_view& in, Tag tag, const Field& field, json::Array& out, std::size_t depth) {
    const bool number = field.type <= Type::Double;
    if (!number || tag.wire != Delimited) return value(in, tag, field, out.emplace_back(), depth + 1);
    std::string_view packed;
    if (!delimited(in, packed)) return false;
    tag.wire = field.type == Type::Double ? Fixed64 : Varint;
    while (!packed.empty())
      if (!value(packed, tag, field, out.emplace_back(), depth + 1)) return false;
    return true;
  }

  bool entry(std::string_view& in, Tag tag, const Field& field, Entries& out, std::size_t depth) {
    std::string_view bytes;
    if (!expect(in, tag, Delimited, field.name) || !delimited(in, bytes)) return false;
    std::string_view key;
    Value item;
    if (!delimited_value(bytes.substr(bytes.size()), field, item, depth + 1)) return false;  // when there is none
    const bool ok = each(bytes, field.name, [&](Tag part, std::string_view& rest) {
      if (part.number == 1) return expect(rest, part, Delimited, field.name) && delimited(rest, key);
      if (part.number != 2) return skip(rest, part);
      return value(rest, part, field, item, depth + 1);
    });
    if (!ok) return false;
    out.emplace_back(std::move(*text(key).as_string()), std::move(item));
    return true;
  }

  // Of entries with the same key, the last.
  static Object sorted(Entries entries) {
    std::ranges::stable_sort(entries, {}, &Object::Member::first);
    Entries out;
    out.reserve(entries.size());
    for (auto& one : entries) {
      if (!out.empty() && out.back().first == one.first) {
        out.back().second = std::move(one.second);
      } else {
        out.push_back(std::move(one));
      }
    }
    return Object(std::move(out));
  }

  // `depth`: of the object or list that holds the value.
  bool value(std::string_view& in, Tag tag, const Field& field, Value& out, std::size_t depth) {
    std::uint64_t number = 0;
    switch (field.type) {
      case Type::Bool:
        if (!expect(in, tag, Varint, field.name) || !varint(in, number)) return false;
        out = number != 0;
        return true;
      case Type::Int32:
        if (!expect(in, tag, Varint, field.name) || !varint(in, number)) return false;
        out = static_cast<std::int32_t>(number);
        return true;
      case Type::Int64:
        if (!expect(in, tag, Varint, field.name) || !varint(in, number)) return false;
        out = static_cast<std::int64_t>(number);
        return true;
      case Type::Double:
        if (!expect(in, tag, Fixed64, field.name) || !fixed64(in, number)) return false;
        return real(in, std::bit_cast<double>(number), out);
      default: break;
    }
    std::string_view bytes;
    return expect(in, tag, Delimited, field.name) && delimited(in, bytes) && delimited_value(bytes, field, out, depth);
  }

  bool delimited_value(std::string_view bytes, const Field& field, Value& out, std::size_t depth) {
    switch (field.type) {
      case Type::String: out = text(bytes); return true;
      case Type::Bytes: {
        std::string base64;
        meta::append_base64(base64, bytes);
        out = std::move(base64);
        return true;
      }
      case Type::Time:
      case Type::MicroTime: return time(bytes, field.type == Type::MicroTime, out);
      case Type::Quantity: return quantity(bytes, out);
      case Type::IntOrString: return int_or_string(bytes, out);
      case Type::Json: return raw(bytes, out, depth);
      default: break;
    }
    const Message& which = messages()[field.message];
    if (which.role == Role::Either) return either(bytes, which, out, depth);
    out = Object();
    return message(bytes, which, *out.as_object(), depth + 1);
  }

  // JSON has no infinities, and writes a whole number as one.
  bool real(std::string_view at, double number, Value& out) {
    if (!std::isfinite(number)) return fail(at, fmt::format("json: unsupported value: {}", number));
    if (number == std::trunc(number) && std::abs(number) < 1e15) {
      out = static_cast<std::int64_t>(number);
    } else {
      out = number;
    }
    return true;
  }

  bool either(std::string_view in, const Message& which, Value& out, std::size_t depth) {
    std::vector<Value> found(which.count);
    const bool ok = each(in, short_name(which), [&](Tag tag, std::string_view& rest) {
      const Field* field = find_field(which, tag.number);
      if (field == nullptr) return skip(rest, tag);
      Value& slot = found[static_cast<std::size_t>(field - fields_of(which).data())];
      if (field->form != Form::Repeated) return value(rest, tag, *field, slot, depth);
      if (!slot.is_array()) slot = json::Array();
      return items(rest, tag, *field, *slot.as_array(), depth);
    });
    for (Value& one : found)
      if (!one.is_null()) out = std::move(one);
    return ok;
  }

  bool time(std::string_view in, bool micro, Value& out) {
    if (in.empty()) {
      out = nullptr;  // no time
      return true;
    }
    std::uint64_t seconds = 0;
    std::uint64_t nanos = 0;
    const bool ok = each(in, "Timestamp", [&](Tag tag, std::string_view& rest) {
      if (tag.number > 2) return skip(rest, tag);
      return expect(rest, tag, Varint, tag.number == 1 ? "Seconds" : "Nanos") &&
             varint(rest, tag.number == 1 ? seconds : nanos);
    });
    if (!ok) return false;
    using namespace std::chrono;
    constexpr auto kFirst = sys_seconds(sys_days(year(0) / 1 / 1)).time_since_epoch().count();
    constexpr auto kZero = sys_seconds(sys_days(year(1) / 1 / 1)).time_since_epoch().count();  // Go's "unset"
    constexpr auto kEnd = sys_seconds(sys_days(year(10000) / 1 / 1)).time_since_epoch().count();
    const auto since = static_cast<std::int64_t>(seconds);
    const auto micros = microseconds(micro ? static_cast<std::int32_t>(nanos) / 1000 : 0);
    // A fraction may be several seconds, either way: keep off the ends.
    if (since < kFirst + 3 || since >= kEnd - 3) return fail(in, "Time: year outside of range [0,9999]");
    const sys_time<microseconds> at = sys_seconds(std::chrono::seconds(since)) + micros;
    if (at == sys_seconds(std::chrono::seconds(kZero))) {
      out = nullptr;
    } else {
      out = micro ? api::MicroTime(at).str() : api::Time(at).str();
    }
    return true;
  }

  // Left as it is written: conform() puts it in its canonical form, or refuses it.
  bool quantity(std::string_view in, Value& out) {
    out = "";
    return each(in, "Quantity", [&](Tag tag, std::string_view& rest) {
      if (tag.number != 1) return skip(rest, tag);
      std::string_view bytes;
      if (!expect(rest, tag, Delimited, "String_") || !delimited(rest, bytes)) return false;
      out = text(bytes);
      return true;
    });
  }

  bool int_or_string(std::string_view in, Value& out) {
    std::uint64_t type = 0;
    std::uint64_t number = 0;
    std::string_view bytes;
    const bool ok = each(in, "IntOrString", [&](Tag tag, std::string_view& rest) {
      switch (tag.number) {
        case 1: return expect(rest, tag, Varint, "Type") && varint(rest, type);
        case 2: return expect(rest, tag, Varint, "IntVal") && varint(rest, number);
        case 3: return expect(rest, tag, Delimited, "StrVal") && delimited(rest, bytes);
        default: return skip(rest, tag);
      }
    });
    if (!ok) return false;
    if (type > 1) return fail(in, "impossible IntOrString.Type");
    out = type == 0 ? Value(static_cast<std::int32_t>(number)) : text(bytes);
    return true;
  }

  bool raw(std::string_view in, Value& out, std::size_t depth) {
    std::string_view bytes;
    const bool ok = each(in, "RawExtension", [&](Tag tag, std::string_view& rest) {
      return tag.number == 1 ? expect(rest, tag, Delimited, "Raw") && delimited(rest, bytes) : skip(rest, tag);
    });
    if (!ok || bytes.empty()) return ok;
    json::Limits limits;
    limits.depth = kMaxDepth - std::min(depth, kMaxDepth - 1);
    auto parsed = json::parse(bytes, limits);
    if (!parsed) return fail(bytes, "json parse error: " + parsed.error().what);
    out = std::move(*parsed);
    return true;
  }

  const char* begin_;
  DecodeError error_;
};

std::unexpected<DecodeError> refuse(std::string what) { return std::unexpected(DecodeError{std::move(what), "", 0}); }

}  // namespace

std::expected<Envelope, DecodeError> open(std::string_view bytes) {
  if (bytes.empty()) return refuse("empty data");
  if (!bytes.starts_with(kMagic))
    return refuse("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  if (bytes.size() == kMagic.size()) return refuse("empty body");
  Envelope out;
  Decoder decoder(bytes);
  if (!decoder.envelope(bytes.substr(kMagic.size()), out)) return std::unexpected(std::move(decoder).error());
  return out;
}

std::expected<Value, DecodeError> decode(const Envelope& envelope) {
  if (envelope.kind.empty()) return refuse("Object 'Kind' is missing");
  if (envelope.api_version.empty()) return refuse("Object 'apiVersion' is missing");
  const Message* which = message_of(envelope.api_version, envelope.kind);
  if (which == nullptr)
    return refuse(fmt::format("no kind \"{}\" is registered for version \"{}\"", envelope.kind, envelope.api_version));
  Object out{{"kind", envelope.kind}, {"apiVersion", envelope.api_version}};
  Decoder decoder(envelope.raw);
  if (!decoder.message(envelope.raw, *which, out, 1)) return std::unexpected(std::move(decoder).error());
  return out;
}

std::expected<Value, DecodeError> decode_protobuf(std::string_view bytes) {
  const auto envelope = open(bytes);
  if (!envelope) return std::unexpected(envelope.error());
  return decode(*envelope);
}

}  // namespace kopper::plane::proto
