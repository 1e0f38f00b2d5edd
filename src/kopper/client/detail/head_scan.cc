#include "kopper/client/detail/head_scan.h"

#include <cstddef>

namespace kopper::client::detail {
namespace {

class Scan {
 public:
  Scan(std::string_view text, HeadView& out) : text_(text), out_(out) {}

  bool object() {
    if (!take('{')) return false;
    std::string_view key;
    while (member(key)) {
      if (key == "metadata") return metadata();
      if (!skip_value() || !take(',')) return false;
    }
    return false;
  }

 private:
  // Until all four are known, or the object ends.
  bool metadata() {
    if (!take('{')) return false;
    int known = 0;
    std::string_view key;
    while (member(key)) {
      if (auto* wanted = slot(key)) {
        if (!wanted->empty() || !plain_string(*wanted)) return false;
        if (++known == 4) return true;
      } else if (!skip_value()) {
        return false;
      }
      if (take(',')) continue;
      return peek() == '}' && !out_.name.empty();
    }
    return false;
  }

  std::string_view* slot(std::string_view key) const {
    if (key == "name") return &out_.name;
    if (key == "namespace") return &out_.namespace_;
    if (key == "uid") return &out_.uid;
    if (key == "resourceVersion") return &out_.resource_version;
    return nullptr;
  }

  bool member(std::string_view& key) { return plain_string(key) && take(':'); }

  char peek() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  // Without escapes.
  bool plain_string(std::string_view& out) {
    if (!take('"')) return false;
    const auto end = text_.find_first_of("\"\\", at_);
    if (end == std::string_view::npos || text_[end] != '"') return false;
    out = text_.substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }

  bool skip_string() {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') return ++at_, true;
      if (text_[at_] == '\\') ++at_;
    }
    return false;
  }

  bool skip_value() {
    std::size_t depth = 0;
    peek();
    while (at_ < text_.size()) {
      switch (text_[at_]) {
        case '"':
          if (!skip_string()) return false;
          if (depth == 0) return true;
          continue;
        case '{':
        case '[': ++depth; break;
        case '}':
        case ']':
          if (depth == 0) return true;  // the end of a number before it
          if (--depth == 0) return ++at_, true;
          break;
        case ',':
          if (depth == 0) return true;
          break;
        default: break;
      }
      ++at_;
    }
    return false;
  }

  std::string_view text_;
  HeadView& out_;
  std::size_t at_ = 0;
};

}  // namespace

bool scan_head(std::string_view object, HeadView& out) { return Scan(object, out).object(); }

}  // namespace kopper::client::detail
