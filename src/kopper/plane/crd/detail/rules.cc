#include "kopper/plane/crd/detail/rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/plane/crd/cel/program.h"
#include "kopper/plane/crd/constraints.h"
#include "kopper/plane/crd/detail/correlate.h"
#include "kopper/plane/crd/detail/field_path.h"
#include "kopper/plane/crd/go_text.h"

namespace kopper::plane::detail {
namespace {

constexpr std::uint64_t kCallLimit = 1'000'000;     // of one rule on one value
constexpr std::uint64_t kObjectLimit = 10'000'000;  // of all rules on an object
constexpr std::size_t kLongestMessage = 5 << 10U;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::string_view words_for(const CelRule& rule) {
  return rule.message.empty() ? trimmed(rule.rule) : trimmed(rule.message);
}

class Rules {
 public:
  explicit Rules(Problems& problems) : problems_(problems) {}

  void value(const json::Value& at_value, const Schema& schema, const json::Value* old, const std::string& path,
             bool unchanged) {
    if (at_value.is_null() || spent_) return;
    unchanged = unchanged || (old != nullptr && *old == at_value);
    if (schema.constraints != nullptr)
      for (const CelRule& rule : schema.constraints->rules)
        if (!spent_) one(rule, at_value, schema, old, path, unchanged);
    if (const json::Array* list = at_value.as_array(); list != nullptr && schema.items != nullptr) {
      for (std::size_t i = 0; i < list->size(); ++i)
        value((*list)[i], *schema.items, old_item(old, schema, (*list)[i]), at(path, i), unchanged);
    } else if (const json::Object* object = at_value.as_object()) {
      for (const auto& [name, member] : *object) {
        const Schema* inner = schema.child(name);
        if (inner == nullptr || inner->builtin != nullptr) continue;
        const bool named = schema.members != nullptr && schema.members->find(name) != nullptr;
        value(member, *inner, old_member(old, name), named ? at(path, name) : at_key(path, name), unchanged);
      }
    }
  }

 private:
  void one(const CelRule& rule, const json::Value& self, const Schema& schema, const json::Value* old,
           const std::string& path, bool unchanged) {
    const std::string field = path.empty() ? "<nil>" : path;
    const std::string& type = schema.constraints->type;
    if (!rule.error.empty()) return problems_.invalid(field, type, fmt::format("rule compile error: {}", rule.error));
    if (rule.program == nullptr) return;
    const bool transition = rule.program->uses_old_self();
    if (transition && old == nullptr && !rule.optional_old_self) return;
    if (left_ == 0) return out_of_budget(field, type);

    const cel::Inputs inputs{.self = &self, .old_self = old, .schema = &schema};
    const cel::Answer answer = rule.program->run(inputs, kCallLimit);
    if (answer.cost > left_) return out_of_budget(field, type);
    left_ -= answer.cost;
    if (!answer.error.empty()) return failed(answer, rule, field, type);
    if (answer.value) return;

    if (unchanged && !transition) return;
    std::string where = field;
    const auto relative = parse_field_path(rule.field_path, schema);
    if (!rule.field_path.empty() && relative) where = path.empty() ? relative->str : at(path, relative->str);
    std::string detail;
    if (rule.message_program != nullptr) detail = message(rule, inputs);
    if (detail.empty())
      detail = rule.message.empty() ? fmt::format("failed rule: {}", trimmed(rule.rule)) : trimmed(rule.message);
    complain(rule, std::move(where), self, schema, detail);
  }

  void complain(const CelRule& rule, std::string where, const json::Value& self, const Schema& schema,
                const std::string& detail) {
    const bool compound = schema.type == Schema::Type::Object || schema.type == Schema::Type::List;
    if (rule.reason == "FieldValueForbidden") return problems_.forbidden(std::move(where), detail);
    if (rule.reason == "FieldValueRequired") return problems_.required(std::move(where), detail);
    if (rule.reason == "FieldValueDuplicate") {
      if (compound) return problems_.add(std::move(where), rule.reason, "Duplicate value");
      return problems_.duplicate(std::move(where), self);
    }
    // The value of an object or a list is left out of the message.
    if (compound) return problems_.add(std::move(where), "FieldValueInvalid", "Invalid value: " + detail);
    problems_.invalid(std::move(where), self, detail);
  }

  std::string message(const CelRule& rule, const cel::Inputs& inputs) {
    const cel::Answer answer = rule.message_program->run(inputs, kCallLimit);
    left_ -= std::min(left_, answer.cost);
    const std::string_view text = trimmed(answer.text);
    const bool fine = answer.error.empty() && text.size() <= kLongestMessage && text.find('\n') == text.npos;
    return fine ? std::string(text) : std::string();
  }

  void failed(const cel::Answer& answer, const CelRule& rule, const std::string& field, const std::string& type) {
    if (answer.too_costly) {
      problems_.invalid(field, type,
                        fmt::format("'{}': no further validation rules will be run due to call cost exceeds limit for "
                                    "rule: {}",
                                    answer.error, words_for(rule)));
      spent_ = true;
    } else if (answer.error.starts_with("no such overload")) {
      problems_.invalid(field, type,
                        fmt::format("'{}': call arguments did not match a supported operator, function or macro "
                                    "signature for rule: {}",
                                    answer.error, words_for(rule)));
    } else {
      problems_.invalid(field, type, fmt::format("{} evaluating rule: {}", answer.error, words_for(rule)));
    }
  }

  void out_of_budget(const std::string& field, const std::string& type) {
    problems_.invalid(field, type,
                      "validation failed due to running out of cost budget, no further validation rules will be run");
    spent_ = true;
  }

  Problems& problems_;
  std::uint64_t left_ = kObjectLimit;
  bool spent_ = false;
};

}  // namespace

void check_rules(const json::Value& value, const Schema& schema, const json::Value* old, const std::string& path,
                 Problems& problems) {
  Rules(problems).value(value, schema, old, path, false);
}

}  // namespace kopper::plane::detail
