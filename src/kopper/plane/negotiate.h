#pragma once

#include <cstdint>
#include <string_view>

#include "kopper/plane/request_info.h"

namespace kopper::plane {

// In which form an answer is wanted.
struct Output {
  enum class Form : std::uint8_t { Whole, Table, Metadata };
  Form form = Form::Whole;
  bool as_list = false;  // Metadata: PartialObjectMetadataList is asked for
  bool beta = false;     // Table, Metadata: in meta.k8s.io/v1beta1
  bool yaml = false;
  bool pretty = false;
  enum class Include : std::uint8_t { None, Metadata, Object };
  Include include = Include::Metadata;  // what each row of a Table carries

  // Of Table and Metadata.
  std::string_view api_version() const { return beta ? "meta.k8s.io/v1beta1" : "meta.k8s.io/v1"; }
  std::string_view content_type() const { return yaml ? "application/yaml" : "application/json"; }
};

// By Accept, `pretty` and `includeObject`. Throws Refusal (406) when nothing that is asked for can be had: protobuf and
// CBOR are not spoken, so a client that takes nothing else gets no answer.
Output negotiate(const RequestInfo& info, std::string_view accept);

// Whether an error is to be told in YAML.
bool wants_yaml(std::string_view accept);

}  // namespace kopper::plane
