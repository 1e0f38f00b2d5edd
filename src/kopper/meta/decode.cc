#include "kopper/meta/decode.h"

#include <charconv>
#include <cstring>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <simdjson.h>

#include "kopper/meta/base64.h"

namespace kopper::meta {
namespace {

namespace ondemand = simdjson::ondemand;

// What a thread keeps between documents; larger buffers are given back.
constexpr std::size_t kKeepBytes = std::size_t{4} << 20U;
// Names are compared against the text in place, without looking for the end of the buffer first.
constexpr std::size_t kPadding = simdjson::SIMDJSON_PADDING + kMaxName;

struct Scratch {
  ondemand::parser parser;
  std::unique_ptr<char[]> bytes;
  std::size_t capacity = 0;
  bool busy = false;

  simdjson::padded_string_view copy(std::string_view before, std::string_view text, std::string_view after) {
    const std::size_t size = before.size() + text.size() + after.size();
    if (capacity < size + kPadding) {
      capacity = size + kPadding;
      bytes = std::make_unique_for_overwrite<char[]>(capacity);
    }
    char* end = bytes.get();
    for (const std::string_view part : {before, text, after}) {
      if (!part.empty()) std::memcpy(end, part.data(), part.size());
      end += part.size();
    }
    std::memset(end, 0, kPadding);
    return simdjson::padded_string_view(bytes.get(), size, capacity);
  }
};

// One step of the path to where we are; the steps above are on the stack of the callers.
struct Step {
  const Step* up = nullptr;
  std::size_t depth = 0;
  std::string_view name{};  // of a member
  std::size_t index = 0;    // of an item
  enum : unsigned char { None, Member, Key, Item } kind = None;
};

void append_path(std::string& out, const Step& step) {
  if (step.up != nullptr) append_path(out, *step.up);
  const bool plain = step.name.find_first_of("./[]") == std::string_view::npos;
  if (step.kind == Step::Item) out += fmt::format("[{}]", step.index);
  if (step.kind == Step::Key && !plain) out += fmt::format("[{}]", step.name);
  if (step.kind == Step::Member || (step.kind == Step::Key && plain)) {
    if (!out.empty()) out += '.';
    out += step.name;
  }
}

std::string path_of(const Step& step) {
  std::string out;
  append_path(out, step);
  return out;
}

template <class T>
T& as(void* p) {
  return *static_cast<T*>(p);
}

// As memcmp() == 0; most names are short, and a call would cost more than comparing them.
bool same_bytes(const char* a, const char* b, std::size_t size) {
  const auto differ = [&]<class Word>(Word, std::size_t at) {
    Word left;
    Word right;
    std::memcpy(&left, a + at, sizeof left);
    std::memcpy(&right, b + at, sizeof right);
    return left != right;
  };
  if (size >= 8) {
    for (std::size_t at = 0; at + 8 <= size; at += 8) {
      if (differ(std::uint64_t(), at)) return false;
    }
    return !differ(std::uint64_t(), size - 8);
  }
  if (size >= 4) return !differ(std::uint32_t(), 0) && !differ(std::uint32_t(), size - 4);
  for (std::size_t at = 0; at < size; ++at) {
    if (a[at] != b[at]) return false;
  }
  return true;
}

// Not for "nulx", where simdjson has an error instead of an answer.
bool is_null(ondemand::value& v) {
  bool null = false;
  return v.is_null().get(null) == simdjson::SUCCESS && null;
}

// By memcpy: an enum may not be written through its underlying type.
void set_enumerator(const Type& type, std::uint64_t value, void* out) {
  const auto write = [&](auto in) { std::memcpy(out, &in, sizeof in); };
  switch (type.size) {
    case 1: return write(static_cast<std::uint8_t>(value));
    case 2: return write(static_cast<std::uint16_t>(value));
    case 4: return write(static_cast<std::uint32_t>(value));
    default: return write(value);
  }
}

std::string_view name_of(ondemand::json_type type) {
  switch (type) {
    case ondemand::json_type::array: return "an array";
    case ondemand::json_type::object: return "an object";
    case ondemand::json_type::number: return "a number";
    case ondemand::json_type::string: return "a string";
    case ondemand::json_type::boolean: return "a boolean";
    case ondemand::json_type::null: return "null";
  }
  return "no value";
}

// Interprets a Type over the tokens of simdjson. Every function returns false after fail().
class Decoder {
 public:
  Decoder(ondemand::document& document, const char* begin, const DecodeOptions& options)
      : document_(document), begin_(begin), options_(options) {}

  bool value(ondemand::value& v, const Type& type, void* out, const Step& at) {
    switch (type.shape) {
      case Shape::Bool: {
        bool b = false;
        if (v.get_bool().get(b)) return null_or_fail(v, "a boolean", at);
        as<bool>(out) = b;
        return true;
      }
      case Shape::Int32: return integer<std::int32_t>(v, out, at);
      case Shape::Int64: return integer<std::int64_t>(v, out, at);
      case Shape::Uint32: return integer<std::uint32_t>(v, out, at);
      case Shape::Uint64: return integer<std::uint64_t>(v, out, at);
      case Shape::Double: {
        double d = 0;
        const std::string_view token = v.raw_json_token();
        if (v.get_double().get(d)) return null_or_fail(v, "a number", at);
        // simdjson 3.0.1 gives a neighbour of a float of more than 19 digits: read its text again.
        std::from_chars(token.data(), token.data() + token.size(), d);
        as<double>(out) = d;
        return true;
      }
      case Shape::String: {
        std::string_view s;
        if (v.get_string().get(s)) return null_or_fail(v, "a string", at);
        as<std::string>(out).assign(s.data(), s.size());
        return true;
      }
      case Shape::Bytes: return bytes(v, as<Bytes>(out), at);
      case Shape::Enum: return enumerator(v, type, out, at);
      case Shape::Scalar: return scalar(v, type, out, at);
      case Shape::Value: return any(v, as<json::Value>(out), at);
      case Shape::Custom: return custom(v, type, out, at);
      case Shape::Optional:
        if (is_null(v)) {
          type.clear(out);
          return true;
        }
        return value(v, *type.element, type.add(out, {}), at);
      case Shape::List: return list(v, type, out, at);
      case Shape::Map: return map(v, type, out, at);
      case Shape::Record: {
        ondemand::object object;
        if (v.get_object().get(object)) return null_or_fail(v, "an object", at);
        return record(object, type, static_cast<char*>(out), at);
      }
    }
    return fail("a type of no shape", at);
  }

  bool fail(std::string what, const Step& at) {
    const char* location = nullptr;
    error_.what = std::move(what);
    error_.path = path_of(at);
    if (document_.current_location().get(location) == simdjson::SUCCESS)
      error_.offset = static_cast<std::size_t>(location - begin_);
    else
      error_.offset = std::numeric_limits<std::size_t>::max();  // at the end
    return false;
  }

  // About a value that was read already.
  bool fail(ondemand::value& v, std::string what, const Step& at) {
    error_ = {std::move(what), path_of(at), static_cast<std::size_t>(v.raw_json_token().data() - begin_)};
    return false;
  }

  DecodeError error() && { return std::move(error_); }

 private:
  bool null_or_fail(ondemand::value& v, std::string_view expected, const Step& at) {
    ondemand::json_type type{};
    if (v.type().get(type)) return fail(fmt::format("expected {}", expected), at);
    if (type == ondemand::json_type::null && is_null(v)) return true;
    return fail(fmt::format("expected {}, found {}", expected, name_of(type)), at);
  }

  bool nested(const Step& at) {
    return at.depth < options_.depth || fail(fmt::format("nested deeper than {} levels", options_.depth), at);
  }

  template <class Int>
  bool integer(ondemand::value& v, void* out, const Step& at) {
    using Wide = std::conditional_t<std::is_signed_v<Int>, std::int64_t, std::uint64_t>;
    Wide wide = 0;
    if (v.get<Wide>().get(wide)) {
      double real = 0;
      if (v.get_double().get(real)) return null_or_fail(v, "an integer", at);
      return fail(v, fmt::format("expected {}, found {}", whole<Int>(), real), at);
    }
    if (!std::in_range<Int>(wide)) return fail(v, fmt::format("expected {}, found {}", whole<Int>(), wide), at);
    as<Int>(out) = static_cast<Int>(wide);
    return true;
  }
  template <class Int>
  static std::string whole() {
    using Limits = std::numeric_limits<Int>;
    return fmt::format("an integer from {} to {}", Limits::min(), Limits::max());
  }

  bool bytes(ondemand::value& v, Bytes& out, const Step& at) {
    std::string_view text;
    if (v.get_string().get(text)) return null_or_fail(v, "a string", at);
    auto decoded = from_base64(text);
    if (!decoded) return fail(v, "expected base64", at);
    out.data = std::move(*decoded);
    return true;
  }

  bool enumerator(ondemand::value& v, const Type& type, void* out, const Step& at) {
    std::string_view text;
    if (v.get_string().get(text)) return null_or_fail(v, "a string", at);
    for (std::size_t i = 0; i < type.names.size(); ++i) {
      if (type.names[i].empty() || type.names[i] != text) continue;
      set_enumerator(type, i, out);
      return true;
    }
    std::string names;
    for (const std::string_view name : type.names)
      if (!name.empty()) names.append(names.empty() ? "" : ", ").append(name);
    return fail(v, fmt::format("expected one of {}, found \"{}\"", names, text.substr(0, 64)), at);
  }

  bool scalar(ondemand::value& v, const Type& type, void* out, const Step& at) {
    Token token{{}, true};
    if (v.get_string().get(token.text)) {
      double ignored = 0;
      token = {v.raw_json_token(), false};
      if (v.get_double().get(ignored)) return null_or_fail(v, "a string or a number", at);
      token.text = token.text.substr(0, token.text.find_last_not_of(" \t\r\n") + 1);
    }
    return type.read(token, out) || fail(v, fmt::format("not valid: \"{}\"", token.text.substr(0, 64)), at);
  }

  bool raw(ondemand::value& v, std::string_view& out, const Step& at) {
    ondemand::json_type type{};
    ondemand::object object;
    ondemand::array array;
    if (v.type().get(type)) return fail("expected a value", at);
    if (type == ondemand::json_type::object)
      return (!v.get_object().get(object) && !object.raw_json().get(out)) || fail("not a whole object", at);
    if (type == ondemand::json_type::array)
      return (!v.get_array().get(array) && !array.raw_json().get(out)) || fail("not a whole array", at);
    out = v.raw_json_token();
    if (type != ondemand::json_type::string) return true;
    std::string_view ignored;  // moves past it
    return !v.get_string().get(ignored) || fail("expected a string", at);
  }

  bool any(ondemand::value& v, json::Value& out, const Step& at) {
    std::string_view text;
    if (!raw(v, text, at)) return false;
    auto parsed = json::parse(text, {.depth = options_.depth - at.depth});
    if (parsed) {
      out = std::move(*parsed);
      return true;
    }
    error_ = std::move(parsed.error());
    error_.offset += static_cast<std::size_t>(text.data() - begin_);
    std::string path = path_of(at);
    if (!error_.path.empty() && error_.path.front() != '[') path += '.';
    error_.path = path + error_.path;
    return false;
  }

  bool custom(ondemand::value& v, const Type& type, void* out, const Step& at) {
    json::Value parsed;
    if (!any(v, parsed, at)) return false;
    if (parsed.is_null()) return true;
    std::string wrong = type.from_value(parsed, out);
    return wrong.empty() || fail(v, std::move(wrong), at);
  }

  bool list(ondemand::value& v, const Type& type, void* out, const Step& at) {
    ondemand::array array;
    if (v.get_array().get(array)) return null_or_fail(v, "an array", at);
    if (!nested(at)) return false;
    type.clear(out);
    Step here{.up = &at, .depth = at.depth + 1, .kind = Step::Item};
    for (auto item : array) {
      if (item.error() != simdjson::SUCCESS) return fail("expected ',' or ']'", here);
      if (!value(item.value_unsafe(), *type.element, type.add(out, {}), here)) return false;
      ++here.index;
    }
    return true;
  }

  bool map(ondemand::value& v, const Type& type, void* out, const Step& at) {
    ondemand::object object;
    if (v.get_object().get(object)) return null_or_fail(v, "an object", at);
    if (!nested(at)) return false;
    type.clear(out);
    Step here{.up = &at, .depth = at.depth + 1, .kind = Step::Key};
    for (auto item : object) {
      if (item.error() != simdjson::SUCCESS) return fail("expected a member, ',' or '}'", at);
      ondemand::field& member = item.value_unsafe();
      if (member.unescaped_key().get(here.name)) return fail("not a valid key", at);
      if (!value(member.value(), *type.element, type.add(out, here.name), here)) return false;
    }
    return true;
  }

  // Servers write members in the order of the type, so the search for a name starts after the last one found: usually
  // one comparison. Keys are compared as written; one with an escape is looked up again below.
  bool record(ondemand::object object, const Type& type, char* out, const Step& at) {
    if (!nested(at)) return false;
    const Field* const fields = type.fields.data();
    const std::size_t count = type.fields.size();
    std::size_t next = 0;
    Step here{.up = &at, .depth = at.depth + 1, .kind = Step::Member};
    for (auto item : object) {
      if (item.error() != simdjson::SUCCESS) return fail("expected a member, ',' or '}'", at);
      ondemand::field& member = item.value_unsafe();
      const char* const key = member.key().raw();
      const Field* field = nullptr;
      for (std::size_t tried = 0, i = next; tried < count; ++tried) {
        const std::string_view name = fields[i].name;
        if (key[name.size()] == '"' && same_bytes(key, name.data(), name.size())) {
          field = &fields[i];
          break;
        }
        if (++i == count) i = 0;
      }
      if (field == nullptr && !other_member(member, key, type, at, field)) return false;
      if (field == nullptr) continue;
      next = static_cast<std::size_t>(field - fields) + 1;
      if (next == count) next = 0;
      here.name = field->name;
      if (!value(member.value(), *field->type, out + field->offset, here)) return false;
    }
    return true;
  }

  // A name with escapes, apiVersion and kind, or a member that the type does not know.
  bool other_member(ondemand::field& member, const char* key, const Type& type, const Step& at, const Field*& field) {
    const char* end = key;
    while (*end != '"' && *end != '\\') ++end;
    const bool escaped = *end == '\\';
    const bool is_version = type.kind != nullptr && std::string_view(key, end) == "apiVersion";
    const bool is_kind = type.kind != nullptr && std::string_view(key, end) == "kind";
    if (is_version || is_kind) return check_kind(member, *type.kind, is_version, at);
    if (!escaped && options_.unknown == nullptr) return true;

    std::string_view name;
    if (member.unescaped_key().get(name)) return fail("not a valid key", at);
    for (const Field& candidate : type.fields)
      if (candidate.name == name) field = &candidate;
    if (field == nullptr && options_.unknown != nullptr)
      options_.unknown->push_back(path_of({.up = &at, .name = name, .kind = Step::Key}));
    return true;
  }

  bool check_kind(ondemand::field& member, const Kind& kind, bool is_version, const Step& at) {
    const Step here{.up = &at, .name = is_version ? "apiVersion" : "kind", .kind = Step::Member};
    std::string_view found;
    ondemand::value v = member.value();
    if (v.get_string().get(found)) return null_or_fail(v, "a string", here);
    const std::string expected = is_version ? kind.api_version() : std::string(kind.kind);
    return found == expected || fail(v, fmt::format("expected {}, found \"{}\"", expected, found.substr(0, 64)), here);
  }

  ondemand::document& document_;
  const char* begin_;
  const DecodeOptions& options_;
  DecodeError error_;
};

std::expected<void, DecodeError> run(Scratch& scratch, std::string_view json, const Type& type, void* out,
                                     const DecodeOptions& options) {
  // simdjson hands out a value only for an array or object, so a lone scalar is put into an array.
  const auto first = json.find_first_not_of(" \t\r\n");
  const bool lone = first == std::string_view::npos || (json[first] != '{' && json[first] != '[');
  const auto padded = lone ? scratch.copy("[", json, "]") : scratch.copy({}, json, {});
  const auto fail = [&](DecodeError error) {
    if (lone && error.offset > 0) --error.offset;
    error.offset = std::min(error.offset, json.size());
    return std::unexpected(std::move(error));
  };

  ondemand::document document;
  ondemand::value root;
  if (first == std::string_view::npos) return fail({"empty document", "", 0});
  if (const auto error = scratch.parser.iterate(padded).get(document))
    return fail({simdjson::error_message(error), "", 0});

  Decoder decoder(document, padded.data(), options);
  const Step top;
  if (document.get_value().get(root)) {
    decoder.fail("brackets do not pair, or other text follows", top);
    return fail(std::move(decoder).error());
  }
  if (!lone) {
    if (!decoder.value(root, type, out, top)) return fail(std::move(decoder).error());
  } else {
    ondemand::array array;
    ondemand::value only;
    std::size_t count = 0;
    if (root.get_array().get(array)) return fail({"not a JSON value", "", 0});
    for (auto item : array) {
      if (std::move(item).get(only) || count++ > 0) return fail({"not one JSON value", "", 0});
      if (is_null(only) && type.shape == Shape::Record) return fail({"expected an object, found null", "", 0});
      if (!decoder.value(only, type, out, top)) return fail(std::move(decoder).error());
    }
  }
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
    decoder.fail("unexpected text after the document", top);
    return fail(std::move(decoder).error());
  }
  return {};
}

}  // namespace

std::expected<void, DecodeError> decode_into(std::string_view json, const Type& type, void* out,
                                             DecodeOptions options) {
  thread_local Scratch kept;
  // A Codec may decode while it is called from a decode.
  if (kept.busy) {
    Scratch own;
    return run(own, json, type, out, options);
  }
  struct Lease {
    Lease() { kept.busy = true; }
    ~Lease() {
      if (kept.capacity > kKeepBytes) kept = Scratch();
      kept.busy = false;
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
  } lease;
  return run(kept, json, type, out, options);
}

}  // namespace kopper::meta
