#include "kopper/plane/call.h"

#include <algorithm>

namespace kopper::plane {

bool User::in(std::string_view group) const { return std::ranges::find(groups, group) != groups.end(); }

std::string_view Call::header(std::string_view name) const {
  return request.headers.get(name).value_or(std::string_view());
}

std::string Call::manager() const {
  if (auto given = info.text("fieldManager")) return *given;
  const std::string_view agent = header("user-agent");
  const std::string_view program = agent.substr(0, agent.find('/'));
  return program.empty() ? "unknown" : std::string(program.substr(0, 128));
}

Call::FieldValidation Call::field_validation() const {
  const auto given = info.text("fieldValidation");
  if (!given || *given == "Warn") return FieldValidation::Warn;
  return *given == "Strict" ? FieldValidation::Strict : FieldValidation::Ignore;
}

}  // namespace kopper::plane
