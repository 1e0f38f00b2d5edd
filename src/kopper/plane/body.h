#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/json/value.h"
#include "kopper/plane/call.h"

namespace kopper::plane {

// "application/json; charset=utf-8" → "application/json"
std::string media_type(std::string_view content_type);

inline constexpr std::size_t kMaxBody = std::size_t{3} << 20U;  // kube-apiserver's

// Throws Refusal (413).
void check_size(const Call& call);

// A request's body, sent as JSON, YAML or protobuf (proto/decode.h). Throws Refusal: 400 malformed, 413 too large, 415
// what is not spoken here.
json::Value read_body(const Call& call);

// The object of a create or update, in the resource's version, decoded: with its kind checked and filled in, unknown
// members dropped, warned of or refused as fieldValidation says.
json::Value read_object(Call& call, const Resource& resource);
// `complaints`: what was wrong before there was an object, `duplicate field "data.k"`.
void decode_strictly(Call& call, const Resource& resource, json::Value& object,
                     std::vector<std::string> complaints = {});

// DeleteOptions of body and query together.
json::Value read_delete_options(const Call& call);

}  // namespace kopper::plane
