#include "kopper/meta/encode.h"

#include <charconv>

#include "kopper/json/writer.h"
#include "kopper/meta/base64.h"

namespace kopper::meta {
namespace {

template <class T>
const T& as(const void* p) {
  return *static_cast<const T*>(p);
}

const void* member(const void* record, const Field& field) { return static_cast<const char*>(record) + field.offset; }

std::uint64_t enumerator(const Type& type, const void* value) {
  switch (type.size) {
    case 1: return as<std::uint8_t>(value);
    case 2: return as<std::uint16_t>(value);
    case 4: return as<std::uint32_t>(value);
    default: return as<std::uint64_t>(value);
  }
}

bool omitted(const Field& field, const void* value);

// Says nothing: would be left out of an object.
bool empty(const Type& type, const void* value) {
  switch (type.shape) {
    case Shape::String: return as<std::string>(value).empty();
    case Shape::Bytes: return as<Bytes>(value).data.empty();
    case Shape::Value: return as<json::Value>(value).is_null();
    case Shape::Scalar:
    case Shape::Custom: return type.empty != nullptr && type.empty(value);
    case Shape::Optional:
    case Shape::List: return type.items(value).second == 0;
    case Shape::Map: return type.size_of(value) == 0;
    case Shape::Record:
      if (type.kind != nullptr) return false;
      for (const Field& field : type.fields)
        if (!omitted(field, member(value, field))) return false;
      return true;
    default: return false;
  }
}

bool zero(const Type& type, const void* value) {
  switch (type.shape) {
    case Shape::Bool: return !as<bool>(value);
    case Shape::Int32:
    case Shape::Uint32: return as<std::uint32_t>(value) == 0;
    case Shape::Int64:
    case Shape::Uint64: return as<std::uint64_t>(value) == 0;
    case Shape::Double: return as<double>(value) == 0;
    case Shape::Enum: return enumerator(type, value) == 0;
    default: return false;
  }
}

bool omitted(const Field& field, const void* value) {
  const Shape shape = field.type->shape;
  if (shape == Shape::Optional) return empty(*field.type, value);  // there is nothing to write, required or not
  if (field.required) return false;
  return empty(*field.type, value) || (field.omit_zero && zero(*field.type, value));
}

template <class Int>
void append_integer(std::string& out, Int value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

void append(std::string& out, const Type& type, const void* value);

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
        append(c.out, c.element, element);
      },
      &context);
  if (context.separator == '{') out.push_back('{');
  out.push_back('}');
}

void append_record(std::string& out, const Type& type, const void* value) {
  char separator = '{';
  if (type.kind != nullptr) {
    out.append("{\"apiVersion\":");
    json::append_quoted(out, type.kind->api_version());
    out.append(",\"kind\":");
    json::append_quoted(out, type.kind->kind);
    separator = ',';
  }
  for (const Field& field : type.fields) {
    const void* at = member(value, field);
    if (omitted(field, at)) continue;
    out.push_back(std::exchange(separator, ','));
    out.push_back('"');
    out.append(field.name);
    out.append("\":", 2);
    append(out, *field.type, at);
  }
  if (separator == '{') out.push_back('{');
  out.push_back('}');
}

void append(std::string& out, const Type& type, const void* value) {
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
      const std::uint64_t index = enumerator(type, value);
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
        append(out, *type.element, element);
      break;
    }
    case Shape::List: {
      const auto [items, count] = type.items(value);
      out.push_back('[');
      for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) out.push_back(',');
        append(out, *type.element, static_cast<const char*>(items) + i * type.element->size);
      }
      out.push_back(']');
      break;
    }
    case Shape::Map: append_map(out, type, value); break;
    case Shape::Record: append_record(out, type, value); break;
  }
}

}  // namespace

void encode_to(std::string& out, const Type& type, const void* value) { append(out, type, value); }

void encode_to(json::Writer& out, const Type& type, const void* value) {
  out.raw("");  // the comma, where one is due
  append(out.out(), type, value);
}

json::Value value_of(const Type& type, const void* value) {
  std::string text;
  append(text, type, value);
  // What we write is JSON, unless a string holds bytes that are not UTF-8.
  auto parsed = json::parse(text);
  if (!parsed) throw_error(parsed.error());
  return std::move(*parsed);
}

}  // namespace kopper::meta
