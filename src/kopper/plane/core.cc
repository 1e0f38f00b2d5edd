#include "kopper/plane/core.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "kopper/api/selector.h"
#include "kopper/base/stable_hash.h"
#include "kopper/json/utf8.h"
#include "kopper/plane/behaviour.h"

namespace kopper::plane {

std::string_view to_string(Attempt::Operation operation) {
  switch (operation) {
    case Attempt::Operation::Create: return "CREATE";
    case Attempt::Operation::Update: return "UPDATE";
    case Attempt::Operation::Delete: return "DELETE";
    case Attempt::Operation::Connect: return "CONNECT";
  }
  return "";
}

std::string Core::new_uid() {
  std::string out = "00000000-0000-4000-8000-000000000000";  // version 4, variant 1: the rest is random
  std::uint64_t bits = random_();
  std::size_t taken = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == '-' || out[i] == '4') continue;
    const std::uint64_t digit = out[i] == '8' ? 8 + (bits & 3U) : bits & 0xfU;
    out[i] = "0123456789abcdef"[digit];
    bits = ++taken == 16 ? random_() : bits >> 4U;
  }
  return out;
}

std::string Core::suffix() {
  std::string out;
  for (int i = 0; i < 5; ++i) out += kNameLetters[random_() % kNameLetters.size()];
  return out;
}

namespace {

void add_warnings(const Call& call, http::Response& response) {
  for (auto at = call.warnings.begin(); at != call.warnings.end(); ++at) {
    const std::string& warning = *at;
    if (std::find(call.warnings.begin(), at, warning) != at) continue;
    std::string quoted;
    for (const char c : warning) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? ' ' : c;  // no header may have them
    }
    response.headers.add("warning", fmt::format("299 - \"{}\"", quoted));
  }
}

}  // namespace

http::Response answer(const Call& call, int status, std::string json, const Output& output) {
  json = formatted(std::move(json), output);
  if (!json.ends_with('\n')) json += '\n';
  http::Response out = http::text_response(status, std::move(json), output.content_type());
  add_warnings(call, out);
  return out;
}

http::Response answer(const Call& call, int status, const json::Value& value) {
  Output output;
  output.pretty = call.info.flag("pretty");
  return answer(call, status, json::dump(value), output);
}

http::Response refused(const Refusal& refusal, const Call* call) {
  Output output;
  output.yaml = call != nullptr && wants_yaml(call->header("accept"));
  std::string status = json::dump(refusal.status());
  if (!json::valid_utf8(status)) status = json::repaired_utf8(status);  // it may show what was sent
  std::string body = formatted(std::move(status), output);
  if (!body.ends_with('\n')) body += '\n';
  http::Response out = http::text_response(refusal.code, std::move(body), output.content_type());
  if (refusal.retry_after) out.headers.set("retry-after", std::to_string(refusal.retry_after->count()));
  if (call != nullptr) add_warnings(*call, out);
  return out;
}

std::uint64_t parse_revision(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size())
    throw failed(fmt::format("strconv.ParseUint: parsing \"{}\": invalid syntax", text));
  return out;
}

std::uint64_t asked_revision(const Call& call) {
  const auto text = call.info.text("resourceVersion");
  if (!text) return 0;
  try {
    return parse_revision(*text);
  } catch (Refusal& refusal) {
    refusal.message = fmt::format("resourceVersion: Invalid value: \"{}\": {}", *text, refusal.message);
    throw;
  }
}

struct Selection::Impl {
  api::Selector labels;
  api::FieldSelector fields;
  std::string name;         // of the path, or the field metadata.name
  bool by_content = false;  // some field is inside the object
};

Selection::Selection(const Call& call) : resource_(call.resource), namespace_(call.info.namespace_) {
  auto impl = std::make_shared<Impl>();
  if (!resource_->namespaced) namespace_.clear();
  impl->name = call.info.name;
  if (const auto text = call.info.text("labelSelector")) {
    auto parsed = api::Selector::parse(*text);
    if (!parsed) throw bad_request(parsed.error().what);
    impl->labels = std::move(*parsed);
  }
  if (const auto text = call.info.text("fieldSelector")) {
    auto parsed = api::FieldSelector::parse(*text);
    if (!parsed) throw bad_request(parsed.error().what);
    impl->fields = std::move(*parsed);
    const json::Value nothing{json::Object()};
    for (const auto& term : impl->fields.terms()) {
      (void)selectable_field(*resource_, term.field, nothing);  // throws
      impl->by_content |= term.field != "metadata.name" && term.field != "metadata.namespace";
    }
  }
  impl_ = std::move(impl);
}

bool Selection::matches(const Stored& object) const {
  if (!namespace_.empty() && object.namespace_ != namespace_) return false;
  if (!impl_->name.empty() && object.name != impl_->name) return false;
  for (const api::Requirement& requirement : impl_->labels.requirements()) {
    const auto at = std::ranges::find(object.labels, requirement.key,
                                      [](const auto& label) -> const std::string& { return label.first; });
    const bool has = at != object.labels.end();
    if (!requirement.matches_value(has ? std::optional<std::string_view>(at->second) : std::nullopt)) return false;
  }
  if (impl_->fields.empty()) return true;
  const json::Value content = impl_->by_content ? object.value() : json::Value();
  return impl_->fields.matches([&](std::string_view field) -> std::optional<std::string> {
    if (field == "metadata.name") return object.name;
    if (field == "metadata.namespace") return object.namespace_;
    return selectable_field(*resource_, field, content);
  });
}

}  // namespace kopper::plane
