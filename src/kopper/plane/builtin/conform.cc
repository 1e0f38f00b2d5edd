#include "kopper/plane/builtin/conform.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/api/quantity.h"
#include "kopper/api/time.h"
#include "kopper/json/writer.h"
#include "kopper/meta/base64.h"
#include "kopper/meta/reflect.h"
#include "kopper/plane/builtin/go_json.h"
#include "kopper/plane/builtin/go_time.h"
#include "kopper/plane/reading.h"

namespace kopper::plane::builtin {
namespace {

using json::Object;
using json::Value;
using Blank = Member::Blank;
using Type = Schema::Type;

constexpr std::string_view kBadQuantity =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

bool is_micro_time(const Schema& schema) { return schema.builtin == &meta::type_of<api::MicroTime>(); }

std::string json_type(const Value& value, bool whole_number) {
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  if (value.as_bool() != nullptr) return "bool";
  return whole_number ? "number " + json::dump(value) : "number";
}

class Walk {
 public:
  Findings run(Value& object, const Schema& schema) {
    value(object, schema);
    return std::move(findings_);
  }

 private:
  // Where the walk is. Texts are only made of it when there is something to say.
  struct Step {
    const Schema* record;  // null: an item of a list or a member of a map
    std::string_view name;
    std::size_t index;
  };

  bool failed() const { return !findings_.error.empty(); }

  void value(Value& at, const Schema& schema) {
    switch (schema.type) {
      case Type::Any: return;
      case Type::Object: return object(at, schema);
      case Type::List: return list(at, schema);
      case Type::String: return text(at, schema);
      case Type::Boolean:
        if (at.as_bool() == nullptr) wrong_type(at, "bool");
        return;
      case Type::Integer: return integer(at, schema);
      case Type::Number:
        if (!at.is_number()) wrong_type(at, "float64");
        return;
      case Type::IntOrString:
        if (schema.format == "quantity") return quantity(at);
        if (!at.is_string()) integer(at, schema);
        return;
    }
  }

  void object(Value& at, const Schema& schema) {
    Object* from = at.as_object();
    if (from == nullptr) return wrong_type(at, {});
    if (schema.members != nullptr) return record(*from, schema);
    if (schema.values == nullptr) return;
    for (auto& [key, item] : *from) {
      path_.push_back({.record = nullptr, .name = key, .index = 0});
      if (item.is_null()) {
        item = zero(*schema.values);
      } else {
        value(item, *schema.values);
      }
      path_.pop_back();
      if (failed()) return;
    }
    const auto by_key = [](const Object::Member& a, const Object::Member& b) { return a.first < b.first; };
    if (!std::is_sorted(from->begin(), from->end(), by_key)) std::sort(from->begin(), from->end(), by_key);
  }

  void list(Value& at, const Schema& schema) {
    json::Array* items = at.as_array();
    if (items == nullptr) return wrong_type(at, {});
    for (std::size_t i = 0; i < items->size() && !failed(); ++i) {
      Value& item = (*items)[i];
      path_.push_back({.record = nullptr, .name = {}, .index = i});
      if (item.is_null()) {
        item = zero(*schema.items);
      } else {
        value(item, *schema.items);
      }
      path_.pop_back();
    }
  }

  // Takes the members in the order they were sent, so that the first thing that is wrong is the one reported, and puts
  // them back in the order of the schema.
  void record(Object& from, const Schema& schema) {
    const Members& members = *schema.members;
    const std::size_t base = places_.size();
    std::size_t next = 0;    // where the next member is expected
    std::size_t always = 0;  // how many of those that are always written are there
    bool as_it_is = true;    // all in its place, and nothing else
    for (auto& [key, item] : from) {
      const std::size_t expected = next;
      const Member* member = members.find(key, next);
      if (member == nullptr) {
        places_.push_back(kUnknown);
        as_it_is = false;
        if (!schema.preserve_unknown)
          findings_.strict.push_back(fmt::format("unknown field \"{}\"", at(plain_path(), std::string_view(key))));
        continue;
      }
      places_.push_back(static_cast<std::uint16_t>(next - 1));
      if (!item.is_null() && !is_plain_text(item, *member->schema)) {
        path_.push_back({.record = &schema, .name = member->name, .index = 0});
        value(item, *member->schema);
        path_.pop_back();
        if (failed()) return;
      }
      if (member->is_always()) ++always;
      as_it_is = as_it_is && next > expected && is_kept(item, member->blank);
    }
    if (!as_it_is || always != members.always()) rebuild(from, schema, base);
    places_.resize(base);
  }

  // Most members, and nothing to look at.
  static bool is_plain_text(const Value& item, const Schema& schema) {
    return schema.type == Type::String && schema.format.empty() && item.is_string();
  }

  static bool dropped(const Value& item, Blank blank) {
    return (blank == Blank::Omit || blank == Blank::Null) && is_blank(item);
  }

  static bool is_kept(const Value& item, Blank blank) {
    if (item.is_null()) return blank == Blank::Null;
    return blank == Blank::Always || !dropped(item, blank);
  }

  // `places`: where those of the record begin.
  void rebuild(Object& from, const Schema& schema, std::size_t places) {
    const Members& members = *schema.members;
    const std::size_t base = slots_.size();
    slots_.resize(base + members.size(), nullptr);
    for (std::size_t i = 0; i < from.size(); ++i)
      if (const std::uint16_t place = places_[places + i]; place != kUnknown) slots_[base + place] = &from.begin()[i];
    std::vector<Object::Member> out;
    out.reserve(from.size() + members.always());
    for (std::size_t i = 0; i < members.size(); ++i) {
      Object::Member* there = slots_[base + i];
      const Member& member = members[i];
      if (there != nullptr && !there->second.is_null() && !dropped(there->second, member.blank)) {
        out.push_back(std::move(*there));
      } else if (member.blank == Blank::Always) {
        out.emplace_back(member.name, zero(*member.schema));
      } else if (member.blank == Blank::Null) {
        out.emplace_back(member.name, nullptr);
      }
    }
    if (schema.preserve_unknown)
      for (std::size_t i = 0; i < from.size(); ++i)
        if (places_[places + i] == kUnknown) out.push_back(std::move(from.begin()[i]));
    slots_.resize(base);
    from = Object(std::move(out));
  }

  // What Go has when nothing was said.
  Value zero(const Schema& schema) {
    switch (schema.type) {
      case Type::Any: return nullptr;
      case Type::Object: {
        Value out = Object();
        if (schema.members != nullptr) record(*out.as_object(), schema);
        return out;
      }
      case Type::List: return nullptr;
      case Type::String: return schema.format == "date-time" ? Value(nullptr) : Value("");
      case Type::Integer: return 0;
      case Type::Number: return 0.0;
      case Type::Boolean: return false;
      case Type::IntOrString: return schema.format == "quantity" ? Value("0") : Value(0);
    }
    return nullptr;
  }

  void integer(Value& at, const Schema& schema) {
    const bool small = schema.format != "int64";
    const std::string_view type = small ? "int32" : "int64";
    const std::int64_t* number = at.as_int();
    if (number == nullptr) return wrong_type(at, type, true);
    if (small && !std::in_range<std::int32_t>(*number)) wrong_type(at, type, true);
  }

  void text(Value& at, const Schema& schema) {
    std::string* text = at.as_string();
    if (text == nullptr) return wrong_type(at, schema.format == "byte" ? "[]uint8" : "string");
    if (schema.format.empty()) return;
    if (schema.format == "date-time") return time(at, schema);
    if (schema.format != "byte") return;
    const std::optional<std::string> bytes = meta::from_base64(*text);
    if (!bytes) {
      findings_.error = fmt::format("illegal base64 data at input byte {}", first_not_base64(*text));
    } else if (text->find_first_of("\r\n") != std::string::npos) {
      text->clear();
      meta::append_base64(*text, *bytes);
    }
  }

  static std::size_t first_not_base64(std::string_view text) {
    const auto ok = [](char c) {
      return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/' ||
             c == '\n' || c == '\r';
    };
    const auto bad = std::ranges::find_if_not(text, ok);
    // Text that ends inside a group of four is wrong where that group starts.
    if (bad == text.end()) return text.size() / 4 * 4;
    return static_cast<std::size_t>(bad - text.begin());
  }

  void time(Value& at, const Schema& schema) {
    const std::string& text = *at.as_string();
    const bool micro = is_micro_time(schema);
    if (std::string wrong = check_go_time(text, micro); !wrong.empty()) {
      findings_.error = std::move(wrong);
      return;
    }
    constexpr std::string_view kForm = "2026-01-31T10:00:00Z";  // what is as long, in UTC, is written in no other way
    const bool short_form = !micro && text.size() == kForm.size() && text[10] == 'T' && text.back() == 'Z';
    const auto canonical = [&](auto parsed) {
      if (!parsed) {
        findings_.error = fmt::format("parsing time \"{}\": {}", text, parsed.error().what);
      } else if (!parsed->is_set()) {
        at = nullptr;
      } else if (short_form) {
        return;
      } else if (std::string written = parsed->str(); written != text) {
        at = std::move(written);
      }
    };
    if (micro) {
      canonical(api::MicroTime::parse(text));
    } else {
      canonical(api::Time::parse(text));
    }
  }

  // Amounts of resources are kept in thousandths at most; what is finer is rounded up.
  void quantity(Value& at) {
    if (!at.is_string() && !at.is_number()) {
      findings_.error = kBadQuantity;
      return;
    }
    const std::string text = at.is_string() ? *at.as_string() : json::dump(at);
    auto parsed = api::Quantity::parse(text);
    if (!parsed) {
      findings_.error = kBadQuantity;
      return;
    }
    if (api::Quantity milli = api::Quantity::milli(parsed->milli_value());
        !path_.empty() && path_.back().record == nullptr && *parsed < milli)
      parsed = milli;
    std::string written = parsed->str();
    if (!at.is_string() || written != text) at = std::move(written);
  }

  // "spec.containers[0].image"
  std::string plain_path() const {
    std::string out;
    for (const Step& step : path_) out = step.name.empty() ? at(out, step.index) : at(out, step.name);
    return out;
  }

  void wrong_type(const Value& value, std::string_view type, bool whole_number = false) {
    // The record that is being read, the names of the members on the way to it, and what was expected.
    std::string names;
    const Schema* record = nullptr;
    std::string_view field;
    std::size_t inside = 0;  // how deep in lists and maps of that field
    for (const Step& step : path_) {
      if (step.record == nullptr) {
        ++inside;
        continue;
      }
      inside = 0;
      record = step.record;
      field = step.name;
      const GoField* known = record->builtin == nullptr ? nullptr : go_field(*record->builtin, field);
      if (known != nullptr && !known->embedded.empty())
        fmt::format_to(std::back_inserter(names), ".{}", known->embedded);
      fmt::format_to(std::back_inserter(names), ".{}", field);
    }
    if (record == nullptr || record->builtin == nullptr) {
      findings_.error = fmt::format("json: cannot unmarshal {} into Go value of type {}",
                                    json_type(value, whole_number), type.empty() ? "struct" : type);
      return;
    }
    std::string_view owner = go_record(*record->builtin);
    findings_.error =
        fmt::format("json: cannot unmarshal {} into Go struct field {}{} of type {}", json_type(value, whole_number),
                    owner.substr(owner.rfind(':') + 1), names, go_type(*record, field, inside, type));
  }

  // The name of the expected type, `inside` levels of lists and maps below that of the field.
  static std::string go_type(const Schema& record, std::string_view field, std::size_t inside, std::string_view type) {
    if (const GoField* known = go_field(*record.builtin, field); known != nullptr && !known->type.empty()) {
      std::string_view name = known->type;
      if (inside == 0) return std::string(name);
      if (name.starts_with("[]")) return std::string(name.substr(2));
    }
    const Schema* schema = record.child(field);
    for (; inside > 0 && schema != nullptr; --inside)
      schema = schema->type == Type::List ? schema->items : schema->values;
    if (!type.empty()) return std::string(type);
    return schema == nullptr ? std::string("interface {}") : go_type(*schema);
  }

  static std::string go_type(const Schema& schema) {
    switch (schema.type) {
      case Type::List: return "[]" + go_type(*schema.items);
      case Type::Object:
        if (schema.members == nullptr)
          return schema.values == nullptr ? "interface {}" : "map[string]" + go_type(*schema.values);
        return go_struct(schema);
      case Type::String:
        return schema.format == "byte" ? "[]uint8" : schema.format == "date-time" ? "v1.Time" : "string";
      case Type::Integer: return schema.format;
      case Type::Number: return "float64";
      case Type::Boolean: return "bool";
      case Type::IntOrString: return schema.format == "quantity" ? "resource.Quantity" : "intstr.IntOrString";
      case Type::Any: break;
    }
    return "interface {}";
  }

  // "v1.PodSpec"
  static std::string go_struct(const Schema& schema) {
    if (schema.builtin == nullptr) return "struct";
    const std::string_view name = go_record(*schema.builtin);
    const std::size_t colons = name.find("::");
    if (colons == std::string_view::npos) return std::string(name);
    const std::string_view package = name.substr(0, colons);
    const std::size_t version = package.find_last_of('v');
    return fmt::format("{}.{}", version == std::string_view::npos ? package : package.substr(version),
                       name.substr(colons + 2));
  }

  Findings findings_;
  std::vector<Step> path_;
  static constexpr std::uint16_t kUnknown = std::numeric_limits<std::uint16_t>::max();
  std::vector<std::uint16_t> places_;   // of the members of the records on the way, in the schema
  std::vector<Object::Member*> slots_;  // of the records that are being rebuilt, each a slot a member of the schema
};

}  // namespace

Findings conform(Value& object, const Schema& schema) { return Walk().run(object, schema); }

Refusal undecodable(std::string_view version, std::string_view kind, std::string_view why) {
  return bad_request(fmt::format("{0} in version \"{1}\" cannot be handled as a {0}: {2}", kind, version, why));
}

Refusal strict_error(std::string_view version, std::string_view kind, const std::vector<std::string>& strict) {
  return undecodable(version, kind, fmt::format("strict decoding error: {}", fmt::join(strict, ", ")));
}

}  // namespace kopper::plane::builtin
