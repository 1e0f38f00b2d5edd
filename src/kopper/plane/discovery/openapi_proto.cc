#include "kopper/plane/discovery/openapi_proto.h"

#include <bit>
#include <cstdint>

// Field numbers are those of OpenAPIv2.proto.
namespace kopper::plane::openapi {
namespace {

class Message {
 public:
  Message& text(int field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    out_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.out_); }
  Message& number(int field, std::uint64_t value) {
    tag(field, 0);
    varint(value);
    return *this;
  }
  Message& real(int field, double value) {
    tag(field, 1);
    auto bits = std::bit_cast<std::uint64_t>(value);
    for (int i = 0; i < 8; ++i, bits >>= 8U) out_ += static_cast<char>(bits & 0xffU);
    return *this;
  }

  // Of a JSON object, when it is there.
  Message& text_of(int field, const json::Value& in, std::string_view key) {
    const std::string* value = in[key].as_string();
    return value != nullptr ? text(field, *value) : *this;
  }
  Message& texts_of(int field, const json::Value& in, std::string_view key) {
    if (const auto* all = in[key].as_array())
      for (const json::Value& one : *all)
        if (const auto* value = one.as_string()) text(field, *value);
    return *this;
  }
  Message& bool_of(int field, const json::Value& in, std::string_view key) {
    const bool* value = in[key].as_bool();
    return value != nullptr && *value ? number(field, 1) : *this;
  }
  Message& integer_of(int field, const json::Value& in, std::string_view key) {
    const std::int64_t* value = in[key].as_int();
    return value != nullptr ? number(field, static_cast<std::uint64_t>(*value)) : *this;
  }
  Message& real_of(int field, const json::Value& in, std::string_view key) {
    const auto value = in[key].number();
    return value ? real(field, *value) : *this;
  }
  // Any{yaml}: JSON is YAML.
  Message& any(int field, const json::Value& value) {
    Message any;
    any.text(2, json::dump(value) + "\n");
    return message(field, any);
  }
  Message& extensions(int field, const json::Value& in) {
    for (const auto& [key, value] : *in.as_object()) {
      if (!key.starts_with("x-")) continue;
      Message named;
      named.text(1, key).any(2, value);
      message(field, named);
    }
    return *this;
  }

  std::string take() && { return std::move(out_); }

 private:
  void tag(int field, unsigned type) { varint((static_cast<std::uint64_t>(field) << 3U) | type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) out_ += static_cast<char>((value & 0x7fU) | 0x80U);
    out_ += static_cast<char>(value);
  }

  std::string out_;
};

Message named(std::string_view name, const Message& value) {
  Message out;
  out.text(1, name).message(2, value);
  return out;
}

Message schema_message(const json::Value& in) {
  Message out;
  if (!in.is_object()) return out;
  out.text_of(1, in, "$ref").text_of(2, in, "format").text_of(3, in, "title").text_of(4, in, "description");
  out.real_of(6, in, "multipleOf").real_of(7, in, "maximum").bool_of(8, in, "exclusiveMaximum");
  out.real_of(9, in, "minimum").bool_of(10, in, "exclusiveMinimum");
  out.integer_of(11, in, "maxLength").integer_of(12, in, "minLength").text_of(13, in, "pattern");
  out.integer_of(14, in, "maxItems").integer_of(15, in, "minItems").bool_of(16, in, "uniqueItems");
  out.integer_of(17, in, "maxProperties").integer_of(18, in, "minProperties").texts_of(19, in, "required");
  if (const auto* all = in["enum"].as_array())
    for (const json::Value& one : *all) out.any(20, one);
  const json::Value& more = in["additionalProperties"];
  if (more.is_object()) {
    Message item;
    item.message(1, schema_message(more));
    out.message(21, item);
  } else if (const bool* allowed = more.as_bool()) {
    Message item;
    item.number(2, *allowed ? 1 : 0);
    out.message(21, item);
  }
  if (in["type"].is_string()) {
    Message type;
    type.text_of(1, in, "type");
    out.message(22, type);
  }
  if (in["items"].is_object()) {
    Message items;
    items.message(1, schema_message(in["items"]));
    out.message(23, items);
  }
  if (const auto* members = in["properties"].as_object()) {
    Message properties;
    for (const auto& [name, member] : *members) properties.message(1, named(name, schema_message(member)));
    out.message(25, properties);
  }
  return std::move(out.extensions(31, in));
}

Message parameter_item(const json::Value& in) {
  Message parameter;
  if (in.text("in") == "body") {
    Message body;
    body.text_of(2, in, "name")
        .text_of(3, in, "in")
        .bool_of(4, in, "required")
        .message(5, schema_message(in["schema"]));
    parameter.message(1, body);
  } else {
    const bool in_path = in.text("in") == "path";
    Message own;
    own.bool_of(1, in, "required").text_of(2, in, "in").text_of(4, in, "name");
    own.text_of(in_path ? 5 : 6, in, "type").bool_of(in_path ? 19 : 20, in, "uniqueItems");
    Message plain;
    plain.message(in_path ? 4 : 3, own);
    parameter.message(2, plain);
  }
  Message out;
  out.message(1, parameter);
  return out;
}

void add_parameters(Message& out, int field, const json::Value& in) {
  if (const auto* all = in["parameters"].as_array())
    for (const json::Value& one : *all) out.message(field, parameter_item(one));
}

Message operation_message(const json::Value& in) {
  Message out;
  out.texts_of(1, in, "tags").text_of(5, in, "operationId").texts_of(6, in, "produces").texts_of(7, in, "consumes");
  add_parameters(out, 8, in);
  Message responses;
  if (const auto* all = in["responses"].as_object()) {
    for (const auto& [code, answer] : *all) {
      Message response;
      response.text_of(1, answer, "description");
      if (answer["schema"].is_object()) {
        Message item;
        item.message(1, schema_message(answer["schema"]));
        response.message(2, item);
      }
      Message value;
      value.message(1, response);
      responses.message(1, named(code, value));
    }
  }
  out.message(9, responses).texts_of(10, in, "schemes");
  return std::move(out.extensions(13, in));
}

}  // namespace

ProtoDocument::ProtoDocument(std::string_view title, std::string_view version) {
  Message info;
  info.text(1, title).text(2, version);
  Message out;
  out.text(1, "2.0").message(2, info);
  head_ = std::move(out).take();
}

void ProtoDocument::add_path(std::string_view path, const json::Value& item) {
  Message message;
  const std::pair<const char*, int> methods[] = {{"get", 2}, {"put", 3}, {"post", 4}, {"delete", 5}, {"patch", 8}};
  for (const auto& [method, field] : methods)
    if (item[method].is_object()) message.message(field, operation_message(item[method]));
  add_parameters(message, 9, item);
  Message out;
  out.message(2, named(path, message));
  paths_ += std::move(out).take();
}

void ProtoDocument::add_definition(std::string_view name, const json::Value& schema) {
  Message out;
  out.message(1, named(name, schema_message(schema)));
  definitions_ += std::move(out).take();
}

std::string ProtoDocument::bytes() && {
  Message out;
  out.text(8, paths_).text(9, definitions_);
  return std::move(head_) + std::move(out).take();
}

}  // namespace kopper::plane::openapi
