#include "kopper/json/yaml.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>

#include <fmt/format.h>
#include <yaml.h>

#include "kopper/json/detail/path.h"
#include "kopper/json/detail/yaml_scalar.h"
#include "kopper/json/utf8.h"

namespace kopper::json {
namespace {

constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

std::string_view view(const yaml_char_t* text) { return text == nullptr ? "" : reinterpret_cast<const char*>(text); }

// One event of libyaml; owns it.
struct Event : yaml_event_t {
  Event() : yaml_event_t{} {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(this); }

  std::string_view text() const { return {reinterpret_cast<const char*>(data.scalar.value), data.scalar.length}; }
  // Of a node that may carry one; "" without.
  std::string_view anchor() const {
    switch (type) {
      case YAML_SCALAR_EVENT: return view(data.scalar.anchor);
      case YAML_SEQUENCE_START_EVENT: return view(data.sequence_start.anchor);
      case YAML_MAPPING_START_EVENT: return view(data.mapping_start.anchor);
      default: return "";
    }
  }
};

// What a value costs in memory, and how deep it goes.
struct Extent {
  std::size_t bytes = sizeof(Value);
  std::size_t depth = 0;
};

void include(Extent& whole, const Extent& part) {
  whole.bytes += part.bytes;
  whole.depth = std::max(whole.depth, part.depth + 1);
}

Extent extent_of(const Value& value) {
  Extent extent;
  if (const Object* object = value.as_object()) {
    extent.depth = 1;
    for (const auto& [key, member] : *object) {
      extent.bytes += sizeof(std::string) + key.size();
      include(extent, extent_of(member));
    }
  } else if (const Array* array = value.as_array()) {
    extent.depth = 1;
    for (const Value& element : *array) include(extent, extent_of(element));
  } else if (const std::string* text = value.as_string()) {
    extent.bytes += text->size();
  }
  return extent;
}

class Reader {
 public:
  Reader(std::string_view text, YamlLimits limits) : text_(text), limits_(limits) {
    if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { yaml_parser_delete(&parser_); }

  std::expected<std::vector<YamlDocument>, DecodeError> read() {
    std::vector<YamlDocument> documents;
    for (;;) {
      Event event;
      if (!next(event)) return std::unexpected(std::move(error_));
      if (event.type == YAML_STREAM_END_EVENT) return documents;
      if (event.type != YAML_DOCUMENT_START_EVENT) continue;
      anchors_.clear();
      Event root;
      YamlDocument document;
      if (!next(root)) return std::unexpected(std::move(error_));
      document.line = root.start_mark.line + 1;
      if (!child(root, document.value, 1)) return std::unexpected(std::move(error_));
      const bool nothing =
          root.type == YAML_SCALAR_EVENT && root.text().empty() && root.data.scalar.plain_implicit != 0;
      if (!nothing) documents.push_back(std::move(document));
    }
  }

 private:
  struct Anchor {
    Value value;
    Extent extent;
    bool complete = false;
  };

  bool next(Event& event) {
    if (yaml_parser_parse(&parser_, &event) != 0) return true;
    if (parser_.error == YAML_READER_ERROR) {  // knows the byte, not the line
      const std::size_t at = std::min(parser_.problem_offset, text_.size());
      const auto before = text_.substr(0, at);
      const auto line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
      const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
      error_ = {fmt::format("line {}, column {}: {}", line + 1, at - line_start + 1, parser_.problem), "", at};
      return false;
    }
    return fail(parser_.problem_mark, parser_.problem == nullptr ? "cannot be read" : parser_.problem);
  }

  bool fail(const yaml_mark_t& mark, std::string_view what) {
    error_ = {fmt::format("line {}, column {}: {}", mark.line + 1, mark.column + 1, what), "", byte_offset(mark.index)};
    return false;
  }

  // libyaml counts characters.
  std::size_t byte_offset(std::size_t characters) const {
    std::size_t at = 0;
    for (; at < text_.size(); ++at) {
      const bool starts_character = (static_cast<unsigned char>(text_[at]) & 0xC0U) != 0x80U;
      if (starts_character && characters-- == 0) break;
    }
    return at;
  }

  bool node(Event& event, Value& out, std::size_t depth) {
    if (event.type == YAML_ALIAS_EVENT) return alias(event, out, depth);
    const std::string name(event.anchor());
    if (!name.empty()) anchors_[name] = Anchor();
    bool ok = false;
    switch (event.type) {
      case YAML_SCALAR_EVENT: ok = scalar(event, out); break;
      case YAML_SEQUENCE_START_EVENT: ok = sequence(event, out, depth); break;
      case YAML_MAPPING_START_EVENT: ok = mapping(event, out, depth); break;
      default: ok = fail(event.start_mark, "expected a value");
    }
    if (!ok || name.empty()) return ok;
    const Extent extent = extent_of(out);
    if (!spend(event, extent)) return false;
    anchors_[name] = {out, extent, true};
    return true;
  }

  bool alias(const Event& event, Value& out, std::size_t depth) {
    const std::string_view name = view(event.data.alias.anchor);
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) return fail(event.start_mark, fmt::format("no anchor &{} before this", name));
    const Anchor& anchor = found->second;
    if (!anchor.complete) return fail(event.start_mark, fmt::format("&{} contains itself", name));
    if (depth - 1 + anchor.extent.depth > limits_.depth) return too_deep(event);
    if (!spend(event, anchor.extent)) return false;
    out = anchor.value;
    return true;
  }

  // A few lines of nested aliases can mean gigabytes.
  bool spend(const Event& event, const Extent& extent) {
    spent_ += extent.bytes;
    if (spent_ <= limits_.alias_bytes) return true;
    return fail(event.start_mark, fmt::format("anchors and aliases make more than {} bytes", limits_.alias_bytes));
  }

  bool too_deep(const Event& event) {
    return fail(event.start_mark, fmt::format("nested deeper than {} levels", limits_.depth));
  }

  bool scalar(const Event& event, Value& out) {
    const std::string_view tag = view(event.data.scalar.tag);
    if (tag.empty() && event.data.scalar.plain_implicit == 0) {
      out = event.text();
      return true;
    }
    if (tag.empty()) {
      out = detail::resolve_plain(event.text());
    } else if (!tagged(event, tag, out)) {
      return false;
    }
    return true;
  }

  bool tagged(const Event& event, std::string_view tag, Value& out) {
    const std::string_view name = tag.starts_with(kTagPrefix) ? tag.substr(kTagPrefix.size()) : std::string_view();
    if (name == "binary") {
      auto decoded = detail::decode_base64(event.text());
      if (!decoded) return fail(event.start_mark, "!!binary is not base64");
      if (!valid_utf8(*decoded)) return fail(event.start_mark, "!!binary holds bytes that are not UTF-8 text");
      out = std::move(*decoded);
      return true;
    }
    if (name != "int" && name != "float" && name != "bool" && name != "null") {
      out = event.text();
      return true;
    }
    out = detail::resolve_plain(event.text());
    const bool is_int = out.is_number() && out.as_double() == nullptr;
    if (name == "float" && is_int) out = *out.number();
    const bool right = name == "int"     ? is_int
                       : name == "float" ? out.is_number()
                       : name == "bool"  ? out.as_bool() != nullptr
                                         : out.is_null();
    return right || fail(event.start_mark, fmt::format("\"{}\" is no !!{}", event.text(), name));
  }

  // JSON has no infinity. As keys they are text, so it is not the scalar that is wrong.
  bool storable(const Event& event, const Value& value) {
    return value.as_double() == nullptr || std::isfinite(*value.as_double()) ||
           fail(event.start_mark, fmt::format("{} has no JSON form", event.text()));
  }

  bool child(Event& event, Value& out, std::size_t depth) { return node(event, out, depth) && storable(event, out); }

  bool sequence(const Event& start, Value& out, std::size_t depth) {
    if (depth > limits_.depth) return too_deep(start);
    Array elements;
    for (;;) {
      Event event;
      if (!next(event)) return false;
      if (event.type == YAML_SEQUENCE_END_EVENT) break;
      Value element;
      if (!child(event, element, depth + 1)) {
        detail::prepend_index(error_.path, elements.size());
        return false;
      }
      elements.push_back(std::move(element));
    }
    out = std::move(elements);
    return true;
  }

  bool mapping(const Event& start, Value& out, std::size_t depth) {
    if (depth > limits_.depth) return too_deep(start);
    std::vector<Object::Member> members;
    std::vector<Object> merged;
    std::unordered_set<std::string> keys;
    for (;;) {
      Event key_event;
      if (!next(key_event)) return false;
      if (key_event.type == YAML_MAPPING_END_EVENT) break;
      const bool is_merge = merge_key(key_event);
      std::string key;
      if (!mapping_key(key_event, key, depth)) return false;
      if (!is_merge && !keys.insert(key).second) {
        fail(key_event.start_mark, "duplicate key");
        detail::prepend_key(error_.path, key);
        return false;
      }
      Event event;
      Value value;
      if (!next(event)) return false;
      if (!child(event, value, depth + 1) || (is_merge && !merge(event, value, merged))) {
        detail::prepend_key(error_.path, key);
        return false;
      }
      if (!is_merge) members.emplace_back(std::move(key), std::move(value));
    }
    for (Object& object : merged) {
      for (auto& member : object) {
        if (keys.insert(member.first).second) members.push_back(std::move(member));
      }
    }
    out = Object(std::move(members));
    return true;
  }

  static bool merge_key(const Event& event) {
    if (event.type != YAML_SCALAR_EVENT || event.text() != "<<") return false;
    return event.data.scalar.plain_implicit != 0 || view(event.data.scalar.tag) == "tag:yaml.org,2002:merge";
  }

  bool mapping_key(Event& event, std::string& out, std::size_t depth) {
    Value key;
    if (!node(event, key, depth + 1)) return false;
    auto text = detail::key_text(key);
    if (!text) return fail(event.start_mark, fmt::format("{} cannot be a key", key.type_name()));
    out = std::move(*text);
    return true;
  }

  // Takes what `value` holds.
  bool merge(const Event& event, Value& value, std::vector<Object>& merged) {
    if (Object* object = value.as_object()) {
      merged.push_back(std::move(*object));
      return true;
    }
    Array* list = value.as_array();
    if (list == nullptr || !std::all_of(list->begin(), list->end(), [](const Value& v) { return v.is_object(); })) {
      return fail(event.start_mark, "<< needs a map or a list of maps");
    }
    for (Value& each : *list) merged.push_back(std::move(*each.as_object()));
    return true;
  }

  std::string_view text_;
  YamlLimits limits_;
  yaml_parser_t parser_{};
  std::map<std::string, Anchor, std::less<>> anchors_;
  std::size_t spent_ = 0;
  DecodeError error_;
};

}  // namespace

std::expected<std::vector<YamlDocument>, DecodeError> parse_yaml(std::string_view text, YamlLimits limits) {
  if (text.size() > limits.bytes) {
    return std::unexpected(DecodeError{fmt::format("larger than {} bytes", limits.bytes), "", limits.bytes});
  }
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && text[start] == '{') {
    // JSON is not quite YAML: libyaml refuses surrogate pairs and tabs that JSON has.
    if (auto value = parse(text, {.depth = limits.depth, .bytes = limits.bytes})) {
      const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(start), '\n') + 1;
      std::vector<YamlDocument> one;
      one.push_back({std::move(*value), static_cast<std::size_t>(line)});
      return one;
    }
  }
  return Reader(text, limits).read();
}

}  // namespace kopper::json
