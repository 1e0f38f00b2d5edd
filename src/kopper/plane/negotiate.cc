#include "kopper/plane/negotiate.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "kopper/plane/accept.h"
#include "kopper/plane/status.h"

namespace kopper::plane {
namespace {

constexpr std::string_view kTypes = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
constexpr std::string_view kStreams = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

bool is_known(std::string_view type) {
  return type == "*/*" || type == "application/json" || type == "application/yaml" ||
         type == "application/vnd.kubernetes.protobuf";
}

// Nothing when this one cannot be served.
std::optional<Output> one(const MediaRange& range, bool stream) {
  Output out;
  if (!is_known(range.type) || range.type == "application/vnd.kubernetes.protobuf") return std::nullopt;
  out.yaml = range.type == "application/yaml";
  if (out.yaml && stream) return std::nullopt;
  if (!range.parameter("stream").empty() || !range.parameter("profile").empty()) return std::nullopt;
  const std::string_view as = range.parameter("as");
  if (as.empty()) return out;
  const std::string_view version = range.parameter("v");
  if (range.parameter("g") != "meta.k8s.io" || (version != "v1" && version != "v1beta1")) return std::nullopt;
  out.beta = version == "v1beta1";
  if (as == "Table") {
    out.form = Output::Form::Table;
  } else if (as == "PartialObjectMetadata" || as == "PartialObjectMetadataList") {
    out.form = Output::Form::Metadata;
    out.as_list = as == "PartialObjectMetadataList";
  } else {
    return std::nullopt;
  }
  return out;
}

}  // namespace

Output negotiate(const RequestInfo& info, std::string_view accept) {
  std::optional<Output> out;
  const bool stream = info.verb == "watch";
  const std::vector<MediaRange> ranges = parse_accept(accept);
  bool known = ranges.empty();
  if (known) out.emplace();
  for (const MediaRange& range : ranges) {
    if (out) break;
    out = one(range, stream);
    known |= is_known(range.type);
  }
  if (!known)
    throw not_acceptable(fmt::format("406: Not Acceptable\n\nAvailable representations: {}, {}", kTypes, kStreams));
  if (!out)
    throw not_acceptable(fmt::format("only the following media types are accepted: {}", stream ? kStreams : kTypes));
  out->pretty = info.flag("pretty");
  if (const auto include = info.text("includeObject")) {
    if (out->form == Output::Form::Table && *include != "None" && *include != "Object" && *include != "Metadata")
      throw bad_request(
          fmt::format("Unable to convert to Table as requested: includeObject: Invalid value: \"{}\": must "
                      "be 'Metadata', 'Object', 'None', or empty",
                      *include));
    out->include = *include == "None"     ? Output::Include::None
                   : *include == "Object" ? Output::Include::Object
                                          : Output::Include::Metadata;
  }
  return *out;
}

bool wants_yaml(std::string_view accept) {
  const std::vector<MediaRange> ranges = parse_accept(accept);
  const auto first = std::ranges::find_if(ranges, [](const MediaRange& range) { return is_known(range.type); });
  return first != ranges.end() && first->type == "application/yaml";
}

}  // namespace kopper::plane
