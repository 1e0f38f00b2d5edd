#pragma once

#include <cstdint>
#include <span>
#include <string_view>

// The protobuf of the built-in kinds: which number each field has, and where its value stands in JSON.
namespace kopper::plane::proto {

enum class Type : std::uint8_t {
  Bool,
  Int32,
  Int64,
  Double,
  String,
  Bytes,
  // Messages whose JSON is not an object of their fields.
  Time,
  MicroTime,
  Quantity,
  IntOrString,
  Json,  // its only field holds JSON text
  // Any other message.
  Nested,
};

enum class Form : std::uint8_t {
  Plain,
  NotBlank,  // always sent, and absent in JSON when it is 0, false or empty
  Repeated,
  Map,
  Inline,  // a message whose fields are members of the object that holds it
};

struct Field {
  std::uint16_t number;
  std::string_view name;  // in JSON
  Type type;
  Form form = Form::Plain;
  std::uint16_t message = 0;  // Nested: the index in messages()
};

enum class Role : std::uint8_t {
  Part,
  Kind,    // has a kind and an apiVersion, which its envelope carries
  Either,  // its JSON is the value of the last of its fields that is there
};

struct Message {
  std::string_view name;  // "corev1::Pod"
  std::uint16_t first;    // of its fields in fields(), which are sorted by number
  std::uint16_t count;
  Role role;
};

struct Package {
  std::string_view api_version;  // "apps/v1"
  std::string_view name;         // "appsv1"
};

std::span<const Field> fields();
std::span<const Message> messages();  // sorted by name
std::span<const Package> packages();  // sorted by apiVersion

}  // namespace kopper::plane::proto
