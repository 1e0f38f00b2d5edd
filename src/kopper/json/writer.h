#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "kopper/json/value.h"

namespace kopper::json {

// Appends compact JSON to a string that the caller owns and outlives this. Puts the commas; does not check that the
// calls make sense: begin/end must pair, and inside an object each value follows a key.
//
//   std::string out;
//   json::Writer w(out);
//   w.begin_object().key("name").value("web").key("replicas").value(3).end_object();   // {"name":"web","replicas":3}
//
// Text must be UTF-8; it is escaped, not checked.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  Writer& begin_object() { return open('{'); }
  Writer& end_object() { return close('}'); }
  Writer& begin_array() { return open('['); }
  Writer& end_array() { return close(']'); }

  Writer& key(std::string_view name);
  // A key that is written already, quotes and colon included: "\"name\":".
  Writer& raw_key(std::string_view quoted) {
    comma();
    out_.append(quoted);
    comma_ = false;
    return *this;
  }

  Writer& null() { return raw("null"); }
  Writer& value(std::nullptr_t) { return null(); }
  template <std::same_as<bool> T>
  Writer& value(T v) {
    return raw(v ? "true" : "false");
  }
  template <Integer T>
  Writer& value(T v) {
    if constexpr (std::is_signed_v<T>) return integer(static_cast<std::int64_t>(v));
    if constexpr (std::is_unsigned_v<T>) return integer(static_cast<std::uint64_t>(v));
  }
  // The shortest text that reads back as the same double, in the form Go prints it (1, 0.5, 1e+21); null for NaN and
  // inf.
  Writer& value(double v);
  Writer& value(std::string_view v);
  Writer& value(const char* v) { return value(std::string_view(v)); }
  Writer& value(const std::string& v) { return value(std::string_view(v)); }
  Writer& value(const Value& v);
  // One JSON value as it is.
  Writer& raw(std::string_view json) {
    comma();
    out_.append(json);
    comma_ = true;
    return *this;
  }

  std::string& out() { return out_; }

 private:
  void comma() {
    if (comma_) out_.push_back(',');
  }
  Writer& open(char c) {
    comma();
    out_.push_back(c);
    comma_ = false;
    return *this;
  }
  Writer& close(char c) {
    out_.push_back(c);
    comma_ = true;
    return *this;
  }
  Writer& integer(std::int64_t v);
  Writer& integer(std::uint64_t v);

  std::string& out_;
  bool comma_ = false;  // a value came before on this level
};

// Appends `text` with quotes around it.
void append_quoted(std::string& out, std::string_view text);

}  // namespace kopper::json
