#include "kopper/http/message.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/base/error.h"

namespace kopper::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

class WholeBody final : public Body {
 public:
  explicit WholeBody(std::string bytes) : bytes_(std::move(bytes)) {}

  Task<std::optional<std::string_view>> read() override {
    if (done_ || bytes_.empty()) co_return std::nullopt;
    done_ = true;
    co_return bytes_;
  }

 private:
  std::string bytes_;
  bool done_ = false;
};

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<std::string_view> Headers::get(std::string_view name) const {
  for (const auto& [key, value] : entries_) {
    if (same_name(key, name)) return value;
  }
  return std::nullopt;
}

std::vector<std::string_view> Headers::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : entries_) {
    if (same_name(key, name)) values.emplace_back(value);
  }
  return values;
}

void Headers::add(std::string_view name, std::string_view value) { entries_.emplace_back(name, value); }

void Headers::set(std::string_view name, std::string_view value) {
  remove(name);
  add(name, value);
}

void Headers::remove(std::string_view name) {
  std::erase_if(entries_, [name](const Entry& entry) { return same_name(entry.first, name); });
}

std::unique_ptr<Body> whole(std::string bytes) { return std::make_unique<WholeBody>(std::move(bytes)); }

Task<std::string> read_all(Body& body, std::size_t limit) {
  std::string out;
  while (const auto chunk = co_await body.read()) {
    if (chunk->size() > limit - out.size()) {
      throw Error(Code::Invalid, fmt::format("the body is larger than {} bytes", limit));
    }
    out.append(*chunk);
  }
  co_return out;
}

Response text_response(int status, std::string text, std::string_view type) {
  Response response;
  response.status = status;
  response.headers.add("content-type", type);
  response.headers.add("content-length", std::to_string(text.size()));
  response.body = whole(std::move(text));
  return response;
}

}  // namespace kopper::http
