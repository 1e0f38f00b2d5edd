#include <algorithm>
#include <utility>

#include "kopper/plane/builtin/go_json.h"

namespace kopper::plane::builtin {

std::string_view go_record(const meta::Type& record) {
  constexpr std::string_view kNamespace = "kopper::api::";
  return record.name.starts_with(kNamespace) ? record.name.substr(kNamespace.size()) : record.name;
}

const GoField* go_field(const meta::Type& record, std::string_view field) {
  const std::pair wanted(go_record(record), field);
  const auto all = go_fields();
  const auto at =
      std::ranges::lower_bound(all, wanted, {}, [](const GoField& f) { return std::pair(f.record, f.field); });
  return at != all.end() && at->record == wanted.first && at->field == field ? &*at : nullptr;
}

}  // namespace kopper::plane::builtin
