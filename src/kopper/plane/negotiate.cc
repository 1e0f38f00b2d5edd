#include "kopper/plane/negotiate.h"

#include <optional>

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

// Nothing when this one cannot be served.
std::optional<Output> one(std::string_view range) {
  const std::string_view type = next(range, ';');
  Output out;
  if (type == "application/yaml") {
    out.yaml = true;
  } else if (type != "application/json" && type != "*/*" && type != "application/*" && !type.empty()) {
    return std::nullopt;
  }
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
  if (trim(accept).empty()) out.emplace();
  while (!out && !accept.empty()) out = one(next(accept, ','));
  if (!out) throw not_acceptable("only the following media types are accepted: application/json, application/yaml");
  out->pretty = info.flag("pretty");
  if (const auto include = info.text("includeObject"))
    out->include = *include == "None"     ? Output::Include::None
                   : *include == "Object" ? Output::Include::Object
                                          : Output::Include::Metadata;
  return *out;
}

}  // namespace kopper::plane
