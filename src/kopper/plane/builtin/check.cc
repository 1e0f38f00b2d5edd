#include "kopper/plane/builtin/check.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "kopper/plane/ip.h"

namespace kopper::plane::builtin {
namespace {

bool is_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

api::Complaints check_port_name(std::string_view name) {
  api::Complaints out;
  if (name.size() > 15) out.emplace_back("must be no more than 15 characters");
  if (!std::ranges::all_of(name, [](char c) { return is_alnum(c) || c == '-'; }) || name.empty())
    out.emplace_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (std::ranges::none_of(name, [](char c) { return c >= 'a' && c <= 'z'; }))
    out.emplace_back("must contain at least one letter (a-z)");
  if (name.find("--") != std::string_view::npos) out.emplace_back("must not contain consecutive hyphens");
  if (name.starts_with('-') || name.ends_with('-')) out.emplace_back("must not begin or end with a hyphen");
  return out;
}

std::optional<std::int64_t> percent(const Value& value) {
  const std::string* text = value.as_string();
  if (text == nullptr || text->size() < 2 || !text->ends_with('%')) return std::nullopt;
  std::int64_t out = 0;
  const char* end = text->data() + text->size() - 1;
  const auto [at, error] = std::from_chars(text->data(), end, out);
  if (error != std::errc() || at != end || out < 0) return std::nullopt;
  return out;
}

}  // namespace

std::string Path::str() const {
  std::string out = parent_ == nullptr ? std::string() : parent_->str();
  if (index_ == kMember) {
    if (!out.empty()) out.push_back('.');
    out.append(name_);
  } else if (index_ == kKey) {
    fmt::format_to(std::back_inserter(out), "[{}]", name_);
  } else {
    fmt::format_to(std::back_inserter(out), "[{}]", index_);
  }
  return out;
}

void Check::duplicate(const Path& path, const Value& value, std::string_view detail) {
  if (detail.empty()) return problems_.duplicate(path.str(), value);
  problems_.add(path.str(), "FieldValueDuplicate", fmt::format("Duplicate value: {}: {}", json::dump(value), detail));
}

bool Check::one_of(const Path& path, const Value& value, std::initializer_list<std::string_view> allowed) {
  const std::string* text = value.as_string();
  if (text != nullptr && std::ranges::find(allowed, std::string_view(*text)) != allowed.end()) return true;
  problems_.not_supported(path.str(), value, std::vector<std::string>(allowed.begin(), allowed.end()));
  return false;
}

void Check::names(const Path& path, const Value& value, const api::Complaints& complaints) {
  for (const std::string& one : complaints) invalid(path, value, one);
}

void Check::non_negative(const Path& path, const Value& value) {
  if (number(value) < 0) invalid(path, value, "must be greater than or equal to 0");
}

void Check::port_number(const Path& path, const Value& value) {
  if (const std::int64_t port = number(value); port < 1 || port > 65535)
    invalid(path, port, "must be between 1 and 65535, inclusive");
}

void Check::port_name(const Path& path, std::string_view name) { names(path, name, check_port_name(name)); }

void Check::port_number_or_name(const Path& path, const Value& value) {
  if (const std::string* name = value.as_string()) {
    port_name(path, *name);
  } else {
    port_number(path, value);
  }
}

void Check::immutable(const Path& path, const Value& value, const Value& old) {
  if (value != old) invalid(path, value, "field is immutable");
}

void Check::labels(const Path& path, const Value& map) {
  for (const auto& [key, value] : members(map)) {
    names(path, key, api::check_label_key(key));
    if (const std::string* text = value.as_string()) names(path, *text, api::check_label_value(*text));
  }
}

void Check::label_selector(const Path& path, const Value& selector) {
  labels(path / "matchLabels", selector["matchLabels"]);
  const Path all = path / "matchExpressions";
  const Array& expressions = items(selector["matchExpressions"]);
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    const Path one = all[i];
    const std::string_view op = expressions[i].text("operator");
    const Array& values = items(expressions[i]["values"]);
    if (op == "In" || op == "NotIn") {
      if (values.empty()) required(one / "values", "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (op == "Exists" || op == "DoesNotExist") {
      if (!values.empty())
        forbidden(one / "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else {
      invalid(one / "operator", Value(op), "not a valid selector operator");
    }
    const std::string_view key = expressions[i].text("key");
    names(one / "key", Value(key), api::check_label_key(key));
    const Path in = one / "values";
    for (std::size_t v = 0; v < values.size(); ++v)
      if (const std::string* text = values[v].as_string()) names(in[v], *text, api::check_label_value(*text));
  }
}

void Check::percent_or_number(const Path& path, const Value& value) {
  if (!value.is_string()) return non_negative(path, value);
  if (!percent(value))
    invalid(path, value,
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex "
            "used for validation is '[0-9]+%')");
}

void Check::at_most_100_percent(const Path& path, const Value& value) {
  if (percent(value).value_or(0) > 100) invalid(path, value, "must not be greater than 100%");
}

std::optional<api::Selector> selector_of(const Value& selector) {
  using Op = api::Requirement::Op;
  Problems wrong;
  Check check(wrong);
  check.label_selector(Path(), selector);
  if (!check.clean()) return std::nullopt;
  api::Selector out;
  for (const auto& [key, value] : members(selector["matchLabels"]))
    out.add({.key = key, .op = Op::Equals, .values = {value.is_string() ? *value.as_string() : std::string()}});
  for (const Value& one : items(selector["matchExpressions"])) {
    const std::string_view op = one.text("operator");
    std::vector<std::string> values;
    for (const Value& value : items(one["values"]))
      if (const std::string* text = value.as_string()) values.push_back(*text);
    std::ranges::sort(values);
    const auto [last, end] = std::ranges::unique(values);
    values.erase(last, end);
    out.add({.key = std::string(one.text("key")),
             .op = op == "In"       ? Op::In
                   : op == "NotIn"  ? Op::NotIn
                   : op == "Exists" ? Op::Exists
                                    : Op::DoesNotExist,
             .values = std::move(values)});
  }
  return out;
}

api::Labels labels_of(const Value& map) {
  api::Labels out;
  for (const auto& [key, value] : members(map))
    if (const std::string* text = value.as_string()) out.emplace(key, *text);
  return out;
}

Value or_null(const Value& value) { return members(value).empty() && items(value).empty() ? Value() : value; }

std::optional<api::Quantity> quantity(const Value& value) {
  const std::string* text = value.as_string();
  if (text == nullptr) return std::nullopt;
  auto parsed = api::Quantity::parse(*text);
  if (!parsed) return std::nullopt;
  return *parsed;
}

bool is_ip(std::string_view text) { return Ip::parse(text).has_value(); }

bool is_cidr(std::string_view text) { return Cidr::parse(text).has_value(); }

}  // namespace kopper::plane::builtin
