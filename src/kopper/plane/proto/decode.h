#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "kopper/base/error.h"
#include "kopper/json/value.h"

// Bodies of built-in kinds as application/vnd.kubernetes.protobuf, which Go clients send. Answers are never protobuf:
// those clients take JSON as well.
//
//   "k8s\0" | runtime.Unknown { typeMeta { apiVersion, kind }, raw } ─ open() ─► Envelope ─ decode() ─► json::Value
//                                                                                                       (table.h)
//
// What is malformed is a DecodeError whose `what` is in the words of kube-apiserver and whose offset counts from the
// first of the bytes that were passed.
namespace kopper::plane::proto {

inline constexpr std::string_view kMediaType = "application/vnd.kubernetes.protobuf";

struct Envelope {
  std::string api_version;  // may be empty, like kind: then the request says what it is
  std::string kind;
  std::string_view raw;  // points into the bytes
};

std::expected<Envelope, DecodeError> open(std::string_view bytes);

// The object as its JSON would be, with kind and apiVersion first: unknown fields are skipped; fields that clients send
// even when they are blank, and JSON leaves out, are left out. As deep as JSON may be at most. Of a field that is
// no list and comes twice, the last counts.
std::expected<json::Value, DecodeError> decode(const Envelope& envelope);

// open() and decode() in one; the offset of an error in `raw` counts from there.
std::expected<json::Value, DecodeError> decode_protobuf(std::string_view bytes);

}  // namespace kopper::plane::proto
