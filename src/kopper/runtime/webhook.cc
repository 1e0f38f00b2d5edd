#include "kopper/runtime/webhook.h"

#include <algorithm>

#include <fmt/format.h>

namespace kopper::runtime {

namespace {

std::string path_of(Hook::Type type, const Kind& kind) {
  auto path = fmt::format("/{}-{}-{}-{}", type == Hook::Type::Defaulting ? "mutate" : "validate", kind.group,
                          kind.version, kind.singular_name());
  std::ranges::replace(path, '.', '-');
  return path;
}

}  // namespace

std::string_view to_string(Operation operation) {
  switch (operation) {
    case Operation::Create: return "CREATE";
    case Operation::Update: return "UPDATE";
    case Operation::Delete: return "DELETE";
    case Operation::Connect: return "CONNECT";
  }
  return "";
}

Verdict Verdict::deny(std::string message) {
  Verdict verdict;
  verdict.denied_ = true;
  verdict.message_ = std::move(message);
  return verdict;
}

Verdict& Verdict::refuse(std::string field, std::string message) & {
  causes_.push_back({.field = std::move(field), .reason = "FieldValueInvalid", .message = std::move(message)});
  return *this;
}

Verdict& Verdict::warn(std::string text) & {
  warnings_.push_back(std::move(text));
  return *this;
}

std::string Verdict::message() const {
  std::string out = message_;
  for (const auto& cause : causes_) {
    if (!out.empty()) out += "; ";
    out += cause.field.empty() ? cause.message : cause.field + ": " + cause.message;
  }
  return out;
}

Webhooks& Webhooks::converting(Conversion conversion) & {
  const auto same = [&](const Conversion& other) {
    return other.kind().group == conversion.kind().group && other.kind().kind == conversion.kind().kind;
  };
  if (std::ranges::any_of(conversions_, same))
    throw Error(Code::Invalid, fmt::format("conversion of {} is registered twice", conversion.kind().resource_name()));
  conversions_.push_back(std::move(conversion));
  return *this;
}

void Webhooks::drop(const Kind& kind) {
  const auto same = [&](const Kind& other) { return other.group == kind.group && other.kind == kind.kind; };
  std::erase_if(hooks_, [&](const Hook& hook) { return same(*hook.kind); });
  std::erase_if(conversions_, [&](const Conversion& conversion) { return same(conversion.kind()); });
}

Webhooks& Webhooks::add(Hook::Type type, const Kind& kind, HookOptions options, detail::HookFn run) {
  auto path = path_of(type, kind);
  if (std::ranges::any_of(hooks_, [&](const Hook& hook) { return hook.path == path; }))
    throw Error(Code::Invalid, fmt::format("webhook {} is registered twice", path));
  hooks_.push_back(
      {.type = type, .kind = &kind, .options = std::move(options), .path = std::move(path), .run = std::move(run)});
  return *this;
}

}  // namespace kopper::runtime
