#include "kopper/meta/encode.h"

#include <charconv>

#include "kopper/json/writer.h"
#include "kopper/meta/base64.h"
#include "kopper/meta/detail/walk.h"

namespace kopper::meta {
namespace {

using detail::as;

template <class Int>
void append_integer(std::string& out, Int value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

void append(std::string& out, const Type& type, const void* value, const void* sample);

void append_map(std::string& out, const Type& type, const void* value) {
  struct Context {
    std::string& out;
    const Type& element;
    char separator = '{';
  } context{out, *type.element};
  type.each(
      value,
      [](void* p, const std::string& key, const void* element) {
        auto& c = *static_cast<Context*>(p);
        c.out.push_back(std::exchange(c.separator, ','));
        json::append_quoted(c.out, key);
        c.out.push_back(':');
        append(c.out, c.element, element, detail::sample_of(c.element));
      },
      &context);
  if (context.separator == '{') out.push_back('{');
  out.push_back('}');
}

void append_record(std::string& out, const Type& type, const void* value, const void* sample) {
  char separator = '{';
  if (type.kind != nullptr) {
    out.append("{\"apiVersion\":");
    json::append_quoted(out, type.kind->api_version());
    out.append(",\"kind\":");
    json::append_quoted(out, type.kind->kind);
    separator = ',';
  }
  for (const Field& field : type.fields) {
    const void* at = detail::member(value, field);
    const void* absent = detail::sample_of(field, sample);
    // Most members are text: these need no call to find out.
    const bool text = field.type->shape == Shape::String && !as<std::string>(at).empty();
    if (!text && detail::omitted(field, at, absent)) continue;
    out.push_back(std::exchange(separator, ','));
    out.push_back('"');
    out.append(field.name);
    out.append("\":", 2);
    if (text)
      json::append_quoted(out, as<std::string>(at));
    else
      append(out, *field.type, at, absent);
  }
  if (separator == '{') out.push_back('{');
  out.push_back('}');
}

void append(std::string& out, const Type& type, const void* value, const void* sample) {
  switch (type.shape) {
    case Shape::Bool: out.append(as<bool>(value) ? "true" : "false"); break;
    case Shape::Int32: append_integer(out, as<std::int32_t>(value)); break;
    case Shape::Int64: append_integer(out, as<std::int64_t>(value)); break;
    case Shape::Uint32: append_integer(out, as<std::uint32_t>(value)); break;
    case Shape::Uint64: append_integer(out, as<std::uint64_t>(value)); break;
    case Shape::Double: json::Writer(out).value(as<double>(value)); break;
    case Shape::String: json::append_quoted(out, as<std::string>(value)); break;
    case Shape::Bytes:
      out.push_back('"');
      append_base64(out, as<Bytes>(value).data);
      out.push_back('"');
      break;
    case Shape::Enum: {
      const std::uint64_t index = detail::enumerator(type, value);
      json::append_quoted(out, index < type.names.size() ? type.names[index] : std::string_view{});
      break;
    }
    case Shape::Scalar: {
      json::Writer writer(out);
      type.write(value, writer);
      break;
    }
    case Shape::Value: json::Writer(out).value(as<json::Value>(value)); break;
    case Shape::Custom: json::Writer(out).value(type.to_value(value)); break;
    case Shape::Optional: {
      const auto [element, count] = type.items(value);
      if (count == 0)
        out.append("null");
      else
        append(out, *type.element, element, detail::sample_of(*type.element));
      break;
    }
    case Shape::List: {
      const auto [items, count] = type.items(value);
      const void* absent = detail::sample_of(*type.element);
      out.push_back('[');
      for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) out.push_back(',');
        append(out, *type.element, detail::item(type, items, i), absent);
      }
      out.push_back(']');
      break;
    }
    case Shape::Map: append_map(out, type, value); break;
    case Shape::Record: append_record(out, type, value, sample); break;
  }
}

}  // namespace

void encode_to(std::string& out, const Type& type, const void* value) {
  append(out, type, value, detail::sample_of(type));
}

void encode_to(json::Writer& out, const Type& type, const void* value) {
  out.raw("");  // the comma, where one is due
  encode_to(out.out(), type, value);
}

json::Value value_of(const Type& type, const void* value) {
  std::string text;
  encode_to(text, type, value);
  // What we write is JSON, unless a string holds bytes that are not UTF-8.
  auto parsed = json::parse(text);
  if (!parsed) throw_error(parsed.error());
  return std::move(*parsed);
}

}  // namespace kopper::meta
