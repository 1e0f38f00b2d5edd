#include "kopper/client/watch.h"

#include <map>

#include <fmt/format.h>

#include "kopper/client/detail/head_scan.h"
#include "kopper/client/status.h"
#include "kopper/json/value.h"
#include "kopper/meta/decode.h"

namespace kopper::client {
namespace {

struct HeadMetadata {
  std::string name;
  std::string namespace_;
  std::string uid;
  std::string resourceVersion;
  std::map<std::string, std::string> annotations;
};
struct Head {
  HeadMetadata metadata;
};

struct Envelope {
  std::string_view type;
  std::string_view object;
};

// API servers write {"type":"ADDED","object":{…}}: two cuts instead of a parse.
bool cut(std::string_view line, Envelope& out) {
  constexpr std::string_view kType = R"({"type":")";
  constexpr std::string_view kObject = R"(","object":)";
  if (!line.starts_with(kType) || !line.ends_with('}')) return false;
  const auto end = line.find('"', kType.size());
  if (end == std::string_view::npos || !line.substr(end).starts_with(kObject)) return false;
  out.type = line.substr(kType.size(), end - kType.size());
  out.object = line.substr(end + kObject.size());
  out.object.remove_suffix(1);
  return true;
}

// The same event in that form, however it was written. Empty when it is no event.
std::string canonical(std::string_view line) {
  const auto event = json::parse(line);
  if (!event || !(*event)["type"].is_string()) return {};
  return json::dump(json::Object{{"type", (*event)["type"]}, {"object", (*event)["object"]}});
}

RawEvent failed(Error error) {
  RawEvent event;
  event.error = std::move(error);
  return event;
}

// Any JSON whitespace at the end belongs to nobody ("\r\n").
std::string_view trimmed(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  return line;
}

std::optional<WatchType> type_of(std::string_view name) {
  if (name == "ADDED") return WatchType::Added;
  if (name == "MODIFIED") return WatchType::Modified;
  if (name == "DELETED") return WatchType::Deleted;
  if (name == "BOOKMARK") return WatchType::Bookmark;
  return std::nullopt;
}

ObjectHead head_of(const detail::HeadView& view) {
  return {.key = Key(std::string(view.namespace_), std::string(view.name)),
          .uid = std::string(view.uid),
          .resource_version = std::string(view.resource_version)};
}

ObjectHead head_of(Head decoded) {
  auto& metadata = decoded.metadata;
  return {.key = Key(std::move(metadata.namespace_), std::move(metadata.name)),
          .uid = std::move(metadata.uid),
          .resource_version = std::move(metadata.resourceVersion)};
}

RawEvent parse_cut(std::string_view type, std::string_view object) {
  if (type == "ERROR") {
    const auto status = json::parse(object);
    if (!status)
      return failed(
          Error(Code::Internal, "the watch failed, and the server's reason is no JSON: " + status.error().str()));
    return failed(error_from(*status));
  }
  const auto known = type_of(type);
  if (!known) return failed(Error(Code::Internal, fmt::format("the watch sent an event of unknown type \"{}\"", type)));
  RawEvent event;
  event.type = *known;
  event.object = object;
  detail::HeadView view;
  if (event.type != WatchType::Bookmark && detail::scan_head(object, view)) {
    event.head = head_of(view);
    return event;
  }
  auto head = meta::decode<Head>(object);
  if (!head) return failed(Error(Code::Invalid, "the watch sent an object that is none: " + head.error().str()));
  if (event.type == WatchType::Bookmark) {
    const auto& annotations = head->metadata.annotations;
    const auto mark = annotations.find("k8s.io/initial-events-end");
    event.initial_events_end = mark != annotations.end() && mark->second == "true";
  }
  event.head = head_of(std::move(*head));
  return event;
}

}  // namespace

ObjectHead head_of(std::string_view object) {
  detail::HeadView view;
  if (detail::scan_head(object, view)) return head_of(view);
  auto head = meta::decode<Head>(object);
  return head ? head_of(std::move(*head)) : ObjectHead{};
}

RawEvent parse_event(std::string_view line, std::string& scratch) {
  Envelope envelope;
  if (cut(trimmed(line), envelope)) return parse_cut(envelope.type, envelope.object);
  scratch = canonical(line);
  if (cut(scratch, envelope)) return parse_cut(envelope.type, envelope.object);
  return failed(Error(Code::Internal, "the watch sent a line that is no event"));
}

Task<std::optional<RawEvent>> RawWatch::next() {
  while (true) {
    const auto line = co_await lines_.next();
    if (!line) co_return std::nullopt;
    if (line->empty()) continue;
    co_return parse_event(*line, scratch_);
  }
}

}  // namespace kopper::client
