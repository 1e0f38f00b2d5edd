#include "kopper/plane/crd/detail/open_api.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "kopper/plane/crd/constraints.h"
#include "kopper/plane/crd/detail/correlate.h"
#include "kopper/plane/crd/formats.h"
#include "kopper/plane/crd/go_text.h"

namespace kopper::plane::detail {
namespace {

// One thing that is wrong. Kept apart from Problems, since anyOf and oneOf throw most of them away.
struct Complaint {
  enum class Kind : std::uint8_t { Required, NotSupported, TooLong, TooMany, Type, Invalid, General };
  Kind kind;
  std::string name;  // the path of the value, "" or with a leading dot at the root
  std::string text;
  json::Value value = {};
  std::vector<std::string> supported = {};
  std::int64_t count = 0;
  std::int64_t limit = 0;
};

struct Found {
  std::vector<Complaint> complaints;
  int matches = 0;  // how much of it was right: which alternative of an anyOf is the nearest

  static constexpr std::size_t kCompared = 256;  // beyond, a repetition is cheaper than looking for it

  bool ok() const { return complaints.empty(); }
  void add(Complaint complaint) {
    const auto same = [&](const Complaint& known) { return known.text == complaint.text; };
    if (complaints.size() > kCompared || std::ranges::none_of(complaints, same))
      complaints.push_back(std::move(complaint));
  }
  void merge(Found other) {
    matches += other.matches;
    for (Complaint& complaint : other.complaints) add(std::move(complaint));
  }
};

using Kind = Complaint::Kind;

struct Data {  // what a JSON value is to the schema
  std::string_view type;
  std::string_view format;
};

Data data_of(const json::Value& value) {
  if (value.as_bool() != nullptr) return {"boolean", ""};
  if (value.is_string()) return {"string", ""};
  if (value.as_int() != nullptr) return {"integer", "int64"};
  if (value.is_number()) return {"number", "float64"};
  if (value.is_array()) return {"array", ""};
  if (value.is_object()) return {"object", ""};
  return {"null", ""};
}

bool is_whole(double value) {
  return std::isfinite(value) && std::abs(value) <= 9007199254740991.0 && value == std::trunc(value);
}

std::size_t runes(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

class Checker {
 public:
  Found check(const Schema& schema, const json::Value& value, const std::string& path, const json::Value* old) {
    Found out;
    if (old != nullptr && *old == value) return out;
    if (schema.builtin != nullptr) {
      if (const json::Object* object = value.as_object()) named_members(schema, *object, path, old, out);
      return out;
    }
    const Constraints* asked = schema.constraints;
    if (asked != nullptr) of_type(schema, *asked, value, path, out);
    if (!value.is_null()) {
      if (asked != nullptr) of_logic(*asked, value, path, old, out);
      if (const std::string* text = value.as_string()) of_text(schema, asked, *text, path, out);
      if (value.is_number() && asked != nullptr) of_number(schema, *asked, value, path, out);
      if (const json::Array* list = value.as_array()) of_list(schema, asked, *list, path, old, out);
    }
    if (asked != nullptr) of_enumeration(*asked, value, path, out);
    if (const json::Object* object = value.as_object()) of_object(schema, asked, *object, path, old, out);
    ++out.matches;
    return out;
  }

 private:
  static void of_type(const Schema& schema, const Constraints& asked, const json::Value& value, const std::string& path,
                      Found& out) {
    const std::string wanted = asked.int_or_string ? "integer,string" : asked.type;
    if (wanted.empty() && schema.format.empty()) return;
    const Data data = data_of(value);
    const auto refuse = [&](std::string_view expected, std::string_view got) {
      out.add({Kind::Type, path, fmt::format("{} in body must be of type {}: \"{}\"", path, expected, got),
               std::string(got)});
    };
    if (value.is_null()) {
      if (!wanted.empty() && !schema.nullable) refuse(wanted, "null");
      return;
    }
    const bool takes_integer = wanted == "integer" || asked.int_or_string;
    const bool same = wanted == data.type || (asked.int_or_string && (data.type == "integer" || data.type == "string"));
    const bool whole_number = data.type == "number" && takes_integer && is_whole(*value.number());
    const bool fits = same || whole_number || (data.type == "integer" && wanted == "number");
    const bool text_or_list = data.type == "string" || data.type == "array";
    if (!text_or_list && !schema.format.empty() && !fits && data.format != schema.format)
      return refuse(schema.format, data.format);
    if (!takes_integer && wanted != "number" && !schema.format.empty() && text_or_list) {
      ++out.matches;
      return;
    }
    if (!fits) return refuse(wanted, data.type);
    ++out.matches;
  }

  static void of_text(const Schema& schema, const Constraints* asked, const std::string& text, const std::string& path,
                      Found& out) {
    if (asked != nullptr) {
      const auto size = static_cast<std::int64_t>(runes(text));
      if (asked->max_length && size > *asked->max_length) {
        out.add({.kind = Kind::TooLong,
                 .name = path,
                 .text = fmt::format("{} in body should be at most {} chars long", path, *asked->max_length),
                 .limit = *asked->max_length});
      } else if (asked->min_length && size < *asked->min_length) {
        out.add({Kind::Invalid, path,
                 fmt::format("{} in body should be at least {} chars long", path, *asked->min_length), text});
      } else if (!asked->pattern_error.empty()) {
        out.add({Kind::Invalid, path,
                 fmt::format("{} in body should match '{}, but pattern is invalid: {}'", path, asked->pattern,
                             asked->pattern_error),
                 text});
      } else if (asked->compiled_pattern && !asked->compiled_pattern->matches(text)) {
        out.add({Kind::Invalid, path, fmt::format("{} in body should match '{}'", path, asked->pattern), text});
      }
    }
    ++out.matches;
    if (schema.format.empty()) return;
    if (!has_format(schema.format, text))
      out.add({Kind::Type, path, fmt::format("{} in body must be of type {}: {}", path, schema.format, go_quoted(text)),
               text});
    ++out.matches;
  }

  // The checks of ranges by format have no path of their own: they complain about the object as a whole.
  static bool in_range(const Schema& schema, const Constraints& asked, double number, bool whole, std::string_view what,
                       const std::string& path, Found& out) {
    std::string_view format = schema.format;
    bool fits = true;
    if (asked.type == "integer" && !asked.int_or_string) {
      const double most = format == "int32" ? 2147483647.0 : 9223372036854775807.0;
      fits = whole && number >= -most - 1 && (format == "int32" ? number <= most : number < 9223372036854775808.0);
    } else if (asked.type == "number" && format == "float") {
      fits = std::abs(number) <= static_cast<double>(std::numeric_limits<float>::max());
    }
    if (fits) return true;
    out.add({Kind::General, "",
             format.empty()
                 ? fmt::format("{} value must be of type {} (default format) in {}", what, asked.type, path)
                 : fmt::format("{} value must be of type {} with format {} in {}", what, asked.type, format, path)});
    return false;
  }

  static void of_number(const Schema& schema, const Constraints& asked, const json::Value& value,
                        const std::string& path, Found& out) {
    const std::int64_t* whole = value.as_int();
    const double number = *value.number();
    in_range(schema, asked, number, whole != nullptr || number == std::trunc(number), "Checked", path, out);
    const auto limit_ok = [&](double limit, std::string_view what) {
      return in_range(schema, asked, limit, limit == std::trunc(limit), what, path, out);
    };
    const auto printed = [&](double limit, bool as_whole) {
      return as_whole ? fmt::format("{}", static_cast<std::int64_t>(limit)) : go_float(limit);
    };
    const auto refuse = [&](std::string text) { out.add({Kind::Invalid, path, std::move(text), value}); };

    if (asked.multiple_of) {
      const double factor = *asked.multiple_of;
      const bool as_whole = limit_ok(factor, "MultipleOf") && whole != nullptr && std::abs(factor) < 9e18;
      const std::int64_t n = as_whole ? static_cast<std::int64_t>(factor) : 0;
      if (as_whole ? n <= 0 : factor <= 0) {
        refuse(fmt::format("factor MultipleOf declared for {} must be positive: {}", path, printed(factor, as_whole)));
      } else if (as_whole ? *whole % n != 0 : !is_whole(factor < 1 ? 1 / factor * number : number / factor)) {
        refuse(fmt::format("{} in body should be a multiple of {}", path, printed(factor, as_whole)));
      }
    }
    const auto bound = [&](std::optional<double> limit, bool exclusive, bool low, std::string_view what) {
      if (!limit) return;
      const bool as_whole = limit_ok(*limit, what) && whole != nullptr && std::abs(*limit) < 9.2e18;
      int order = 0;
      if (as_whole) {
        const auto n = static_cast<std::int64_t>(*limit);
        order = *whole < n ? -1 : *whole > n ? 1 : 0;
      } else {
        order = number < *limit ? -1 : number > *limit ? 1 : 0;
      }
      const bool inside = low ? order > 0 || (order == 0 && !exclusive) : order < 0 || (order == 0 && !exclusive);
      if (inside) return;
      refuse(fmt::format("{} in body should be {} than{} {}", path, low ? "greater" : "less",
                         exclusive ? "" : " or equal to", printed(*limit, as_whole)));
    };
    bound(asked.minimum, asked.exclusive_minimum, true, "Minimum boundary");
    bound(asked.maximum, asked.exclusive_maximum, false, "Maximum boundary");
    out.matches += 2;
  }

  void of_list(const Schema& schema, const Constraints* asked, const json::Array& list, const std::string& path,
               const json::Value* old, Found& out) {
    if (schema.items != nullptr)
      for (std::size_t i = 0; i < list.size(); ++i)
        out.merge(check(*schema.items, list[i], at(path, i), old_item(old, schema, list[i])));
    if (asked != nullptr) {
      const auto size = static_cast<std::int64_t>(list.size());
      if (asked->min_items && size < *asked->min_items)
        out.add({Kind::Invalid, path, fmt::format("{} in body should have at least {} items", path, *asked->min_items),
                 size});
      if (asked->max_items && size > *asked->max_items)
        out.add({.kind = Kind::TooMany,
                 .name = path,
                 .text = fmt::format("{} in body should have at most {} items", path, *asked->max_items),
                 .count = size,
                 .limit = *asked->max_items});
      if (asked->unique_items) {
        for (std::size_t i = 1; i < list.size() && i < 1000; ++i)
          if (std::find(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i), list[i]) !=
              list.begin() + static_cast<std::ptrdiff_t>(i)) {
            out.add({Kind::Invalid, path, fmt::format("{} in body shouldn't contain duplicates", path), ""});
            break;
          }
      }
    }
    out.matches += 2;
  }

  static void of_enumeration(const Constraints& asked, const json::Value& value, const std::string& path, Found& out) {
    ++out.matches;
    if (asked.enumeration.empty()) return;
    if (!value.is_null() && std::ranges::find(asked.enumeration, value) != asked.enumeration.end()) return;
    Complaint complaint{.kind = Kind::NotSupported,
                        .name = path,
                        .text = fmt::format("{} in body should be one of …", path),
                        .value = value};
    for (const json::Value& one : asked.enumeration)
      complaint.supported.push_back(one.is_string() ? *one.as_string() : json::dump(one));
    out.add(std::move(complaint));
  }

  void named_members(const Schema& schema, const json::Object& object, const std::string& path, const json::Value* old,
                     Found& out) {
    if (schema.members == nullptr) return;
    for (const Member& member : *schema.members) {
      if (member.schema->builtin != nullptr && member.name != "metadata") continue;
      const json::Value* value = object.find(member.name);
      if (value == nullptr) continue;
      const bool of_type = path.empty() && (member.name == "kind" || member.name == "apiVersion");
      out.merge(check(*member.schema, *value, at(path, member.name), of_type ? nullptr : old_member(old, member.name)));
    }
  }

  void of_object(const Schema& schema, const Constraints* asked, const json::Object& object, const std::string& path,
                 const json::Value* old, Found& out) {
    const auto size = static_cast<std::int64_t>(object.size());
    if (asked != nullptr && asked->min_properties && size < *asked->min_properties)
      out.add({Kind::Invalid, path,
               fmt::format("{} in body should have at least {} properties", path, *asked->min_properties), size});
    if (asked != nullptr && asked->max_properties && size > *asked->max_properties)
      out.add({.kind = Kind::TooMany,
               .name = path,
               .text = fmt::format("{} in body should have at most {} properties", path, *asked->max_properties),
               .count = size,
               .limit = *asked->max_properties});
    for (const auto& [name, value] : object) {
      if (schema.members != nullptr && schema.members->find(name) != nullptr) continue;
      if (asked != nullptr && asked->closed) {
        out.add({Kind::Invalid, path, fmt::format("{}.{} in body is a forbidden property", path, name), name});
      } else if (schema.values != nullptr) {
        out.merge(check(*schema.values, value, path + "." + name, old_member(old, name)));
      }
    }
    named_members(schema, object, path, old, out);
    if (asked != nullptr)
      for (const std::string& name : asked->required)
        if (!object.contains(name))
          out.add({Kind::Required, path + "." + name, fmt::format("{}.{} in body is required", path, name)});
    ++out.matches;
  }

  void of_logic(const Constraints& asked, const json::Value& value, const std::string& path, const json::Value* old,
                Found& out) {
    const auto general = [&](std::string text) { out.add({Kind::General, "", std::move(text)}); };
    any_of(asked, value, path, old, out, general);
    one_of(asked, value, path, old, out, general);
    if (!asked.all_of.empty()) {
      std::size_t right = 0;
      for (const Schema* each : asked.all_of) {
        Found found = check(*each, value, path, old);
        if (found.ok()) ++right;
        out.merge(std::move(found));
      }
      if (right != asked.all_of.size())
        general(
            fmt::format("\"{}\" must validate all the schemas (allOf){}", path, right == 0 ? ". None validated" : ""));
    }
    if (asked.not_of != nullptr && check(*asked.not_of, value, path, old).ok())
      general(fmt::format("\"{}\" must not validate the schema (not)", path));
    out.matches += 2;
  }

  template <class General>
  void any_of(const Constraints& asked, const json::Value& value, const std::string& path, const json::Value* old,
              Found& out, const General& general) {
    if (asked.any_of.empty()) return;
    std::optional<Found> best;
    for (const Schema* each : asked.any_of) {
      Found found = check(*each, value, path, old);
      if (found.ok()) return out.merge(std::move(found));
      if (!best || found.matches > best->matches) best = std::move(found);
    }
    general(fmt::format("\"{}\" must validate at least one schema (anyOf)", path));
    out.merge(std::move(*best));
  }

  template <class General>
  void one_of(const Constraints& asked, const json::Value& value, const std::string& path, const json::Value* old,
              Found& out, const General& general) {
    if (asked.one_of.empty()) return;
    std::optional<Found> best;
    std::optional<Found> first;
    std::size_t right = 0;
    for (const Schema* each : asked.one_of) {
      Found found = check(*each, value, path, old);
      if (found.ok()) {
        if (right++ == 0) first = std::move(found);
        best.reset();
      } else if (right == 0 && (!best || found.matches > best->matches)) {
        best = std::move(found);
      }
    }
    if (right == 1) return out.merge(std::move(*first));
    general(fmt::format("\"{}\" must validate one and only one schema (oneOf). {}", path,
                        right == 0 ? "Found none valid" : fmt::format("Found {} valid alternatives", right)));
    if (best) out.merge(std::move(*best));
  }
};

void report(const Complaint& complaint, const std::string& path, Problems& problems) {
  std::string_view name = complaint.name;
  if (name.starts_with('.')) name.remove_prefix(1);
  std::string field = name.empty() ? path : at(path, name);
  if (field.empty()) field = "<nil>";
  switch (complaint.kind) {
    case Kind::Required: return problems.required(std::move(field));
    case Kind::NotSupported: return problems.not_supported(std::move(field), complaint.value, complaint.supported);
    case Kind::TooLong: return problems.too_long(std::move(field), static_cast<std::size_t>(complaint.limit));
    case Kind::TooMany:
      return problems.too_many(std::move(field), static_cast<std::size_t>(complaint.count),
                               static_cast<std::size_t>(complaint.limit));
    case Kind::Type: return problems.type_invalid(std::move(field), complaint.value, complaint.text);
    case Kind::Invalid:
      if (const double* real = complaint.value.as_double())
        return problems.add(std::move(field), "FieldValueInvalid",
                            fmt::format("Invalid value: {}: {}", go_float(*real), complaint.text));
      return problems.invalid(std::move(field), complaint.value, complaint.text);
    case Kind::General: return problems.invalid(path.empty() ? "<nil>" : path, "", complaint.text);
  }
}

}  // namespace

void check_open_api(const json::Value& value, const Schema& schema, const json::Value* old, const std::string& path,
                    Problems& problems) {
  const Found found = Checker().check(schema, value, "", old);
  for (const Complaint& complaint : found.complaints) report(complaint, path, problems);
}

}  // namespace kopper::plane::detail
