#include "kopper/plane/negotiate.h"

#include <optional>

#include <fmt/format.h>

#include "kopper/plane/status.h"

namespace kopper::plane {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Cuts the part before `mark` off.
std::string_view next(std::string_view& text, char mark) {
  const std::size_t end = text.find(mark);
  const std::string_view part = trim(text.substr(0, end));
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

constexpr std::string_view kTypes = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
constexpr std::string_view kStreams = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

bool is_known(std::string_view type) {
  return type.empty() || type == "*/*" || type == "application/json" || type == "application/yaml" ||
         type == "application/vnd.kubernetes.protobuf";
}

// Nothing when this one cannot be served.
std::optional<Output> one(std::string_view range, bool stream) {
  const std::string_view type = next(range, ';');
  Output out;
  if (!is_known(type) || type == "application/vnd.kubernetes.protobuf") return std::nullopt;
  out.yaml = type == "application/yaml";
  if (out.yaml && stream) return std::nullopt;
  std::string_view as;
  std::string_view group;
  std::string_view version;
  while (!range.empty()) {
    std::string_view parameter = next(range, ';');
    const std::string_view key = next(parameter, '=');
    if (key == "as") as = parameter;
    if (key == "g") group = parameter;
    if (key == "v") version = parameter;
    if (key == "stream" || key == "profile") return std::nullopt;
  }
  if (as.empty()) return out;
  if (group != "meta.k8s.io" || (version != "v1" && version != "v1beta1")) return std::nullopt;
  if (as == "Table") {
    out.form = Output::Form::Table;
  } else if (as == "PartialObjectMetadata" || as == "PartialObjectMetadataList") {
    out.form = Output::Form::Metadata;
  } else {
    return std::nullopt;
  }
  return out;
}

}  // namespace

Output negotiate(const RequestInfo& info, std::string_view accept) {
  std::optional<Output> out;
  const bool stream = info.verb == "watch";
  bool known = trim(accept).empty();
  if (known) out.emplace();
  while (!out && !accept.empty()) {
    const std::string_view range = next(accept, ',');
    out = one(range, stream);
    known |= is_known(trim(range.substr(0, range.find(';'))));
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

}  // namespace kopper::plane
