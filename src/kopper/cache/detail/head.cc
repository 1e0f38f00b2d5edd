#include "kopper/cache/detail/head.h"

#include <charconv>
#include <cstring>
#include <functional>
#include <memory>

#include <simdjson.h>

namespace kopper::cache::detail {
namespace {

namespace ondemand = simdjson::ondemand;

// What a thread keeps between objects; larger buffers are given back.
constexpr std::size_t kKeepBytes = std::size_t{4} << 20U;

struct Scratch {
  ondemand::parser parser;
  std::unique_ptr<char[]> bytes;
  std::size_t capacity = 0;

  simdjson::padded_string_view padded(std::string_view text) {
    const auto needed = text.size() + simdjson::SIMDJSON_PADDING;
    if (capacity < needed || (capacity > kKeepBytes && needed <= kKeepBytes)) {
      if (capacity > kKeepBytes) parser = ondemand::parser();
      capacity = needed;
      bytes = std::make_unique_for_overwrite<char[]>(capacity);
    }
    if (!text.empty()) std::memcpy(bytes.get(), text.data(), text.size());
    std::memset(bytes.get() + text.size(), 0, simdjson::SIMDJSON_PADDING);
    return simdjson::padded_string_view(bytes.get(), text.size(), capacity);
  }
};

Scratch& scratch() {
  thread_local Scratch scratch;
  return scratch;
}

DecodeError failed(std::string what, std::string path = "") {
  return {.what = std::move(what), .path = std::move(path)};
}

class Scanner {
 public:
  Scanner(std::string_view json, Head& out) : json_(json), out_(out) {}

  std::expected<void, DecodeError> run() {
    auto& kept = scratch();
    const auto text = kept.padded(json_);
    begin_ = text.data();
    ondemand::document document;
    if (auto error = kept.parser.iterate(text).get(document); error) return broken(error);
    ondemand::object object;
    if (auto error = document.get_object().get(object); error) return broken(error);
    for (auto each : object) {
      ondemand::field field;
      if (auto error = std::move(each).get(field); error) return broken(error);
      if (field.key() == "kind") {
        if (auto read = string(field.value(), "kind", out_.kind); !read) return read;
      }
      if (field.key() != "metadata") continue;
      if (auto read = metadata(field.value()); !read) return read;
      break;  // what follows is for who decodes it
    }
    if (out_.name.empty()) return std::unexpected(failed("an object needs a name", "metadata.name"));
    cut();
    return {};
  }

 private:
  using Done = std::expected<void, DecodeError>;

  static Done broken(simdjson::error_code error) { return std::unexpected(failed(simdjson::error_message(error))); }

  Done metadata(ondemand::value value) {
    ondemand::object object;
    if (auto error = value.get_object().get(object); error) return broken(error);
    for (auto each : object) {
      ondemand::field field;
      if (auto error = std::move(each).get(field); error) return broken(error);
      if (auto read = member(field); !read) return read;
    }
    return {};
  }

  Done member(ondemand::field& field) {
    const auto key = field.key();
    auto& value = field.value();
    if (key == "name") return string(value, "metadata.name", out_.name);
    if (key == "namespace") return string(value, "metadata.namespace", out_.namespace_);
    if (key == "uid") return string(value, "metadata.uid", out_.uid);
    if (key == "resourceVersion") {
      std::string_view version;
      auto read = string(value, "metadata.resourceVersion", version);
      out_.resource_version = parse_version(version);
      return read;
    }
    if (key == "generation") {
      if (value.get_int64().get(out_.generation)) out_.generation = 0;  // no integer: nobody's generation
      return {};
    }
    if (key == "deletionTimestamp") {
      std::string_view when;
      auto read = string(value, "metadata.deletionTimestamp", when);
      out_.deleting = !when.empty();
      return read;
    }
    if (key == "labels") return labels(value);
    if (key == "annotations") return annotations(value);
    if (key == "ownerReferences") return owners(value);
    if (key == "managedFields") return managed_fields(field);
    return {};
  }

  // Null is as good as absent.
  static Done string(ondemand::value& value, const char* path, std::string_view& out) {
    ondemand::json_type type{};
    if (auto error = value.type().get(type); error) return broken(error);
    if (type == ondemand::json_type::null) return {};
    if (value.get_string().get(out)) return std::unexpected(failed("expected a string", path));
    return {};
  }

  static bool is(ondemand::value& value, ondemand::json_type wanted) {
    ondemand::json_type type{};
    return value.type().get(type) == simdjson::SUCCESS && type == wanted;
  }

  Done labels(ondemand::value& value) {
    out_.labels.clear();
    if (is(value, ondemand::json_type::null)) return {};
    ondemand::object object;
    if (value.get_object().get(object)) return std::unexpected(failed("expected an object", "metadata.labels"));
    for (auto each : object) {
      ondemand::field field;
      if (auto error = std::move(each).get(field); error) return broken(error);
      std::string_view key;
      if (auto error = field.unescaped_key().get(key); error) return broken(error);
      std::string_view text;
      if (auto read = string(field.value(), "metadata.labels", text); !read) return read;
      out_.labels.emplace_back(key, text);
    }
    return {};
  }

  Done annotations(ondemand::value& value) {
    if (!is(value, ondemand::json_type::object)) return {};
    ondemand::object object;
    std::string_view raw;
    if (auto error = value.get_object().get(object); error) return broken(error);
    if (auto error = object.raw_json().get(raw); error) return broken(error);
    out_.annotations_hash = std::hash<std::string_view>()(raw.substr(0, raw.rfind('}') + 1));
    return {};
  }

  Done owners(ondemand::value& value) {
    if (!is(value, ondemand::json_type::array)) return {};
    ondemand::array array;
    if (auto error = value.get_array().get(array); error) return broken(error);
    for (auto each : array) {
      ondemand::value reference;
      if (auto error = std::move(each).get(reference); error) return broken(error);
      if (auto read = owner(reference); !read) return read;
    }
    return {};
  }

  Done owner(ondemand::value& reference) {
    static constexpr const char* kNames[] = {"apiVersion", "kind", "name", "uid"};
    static constexpr const char* kPath = "metadata.ownerReferences";
    ondemand::object object;
    if (reference.get_object().get(object)) return std::unexpected(failed("expected an object", kPath));
    std::string_view texts[4];
    bool controller = false;
    for (auto each : object) {
      ondemand::field field;
      if (auto error = std::move(each).get(field); error) return broken(error);
      const auto key = field.key();
      for (std::size_t i = 0; i < 4; ++i) {
        if (key != kNames[i]) continue;
        if (auto read = string(field.value(), kPath, texts[i]); !read) return read;
      }
      if (key == "controller" && is(field.value(), ondemand::json_type::boolean)) {
        if (auto error = field.value().get_bool().get(controller); error) return broken(error);
      }
    }
    if (!controller) return {};
    out_.owned = true;
    for (std::size_t i = 0; i < 4; ++i) out_.owner[i] = texts[i];
    return {};
  }

  Done managed_fields(ondemand::field& field) {
    if (!is(field.value(), ondemand::json_type::array)) return {};
    const char* key = field.key().raw() - 1;
    ondemand::array array;
    std::string_view raw;
    if (auto error = field.value().get_array().get(array); error) return broken(error);
    if (auto error = array.raw_json().get(raw); error) return broken(error);
    // raw_json() does not look inside: where brackets do not match, there may be no end.
    const auto end = raw.rfind(']');
    if (end == std::string_view::npos)
      return std::unexpected(failed("the list does not end", "metadata.managedFields"));
    cut_begin_ = static_cast<std::size_t>(key - begin_);
    cut_end_ = static_cast<std::size_t>(raw.data() + end + 1 - begin_);
    return {};
  }

  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  // The member goes with one of the commas around it.
  void cut() {
    out_.before_cut = json_;
    out_.after_cut = {};
    if (cut_end_ == 0) return;
    auto begin = cut_begin_;
    auto end = cut_end_;
    while (begin > 0 && is_space(json_[begin - 1])) --begin;
    if (begin > 0 && json_[begin - 1] == ',') {
      --begin;
    } else {
      while (end < json_.size() && is_space(json_[end])) ++end;
      if (end < json_.size() && json_[end] == ',') ++end;
    }
    out_.before_cut = json_.substr(0, begin);
    out_.after_cut = json_.substr(end);
  }

  std::string_view json_;
  Head& out_;
  const char* begin_ = nullptr;  // of the copy that simdjson reads
  std::size_t cut_begin_ = 0;
  std::size_t cut_end_ = 0;
};

}  // namespace

std::expected<void, DecodeError> scan(std::string_view json, Head& out) {
  auto labels = std::move(out.labels);
  labels.clear();
  out = {};
  out.labels = std::move(labels);
  return Scanner(json, out).run();
}

std::uint64_t parse_version(std::string_view text) {
  std::uint64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  return error == std::errc{} && end == text.data() + text.size() ? version : 0;
}

}  // namespace kopper::cache::detail
