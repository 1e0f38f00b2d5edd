#include "kopper/plane/auth/token_file.h"

#include <optional>

#include <fmt/format.h>

namespace kopper::plane {
namespace {

// One record a call, as encoding/csv splits them.
class Csv {
 public:
  explicit Csv(std::string_view text) : text_(text) {}

  std::size_t offset() const { return at_; }

  // Nothing at the end.
  std::expected<std::optional<std::vector<std::string>>, DecodeError> next() {
    while (line_break()) {
    }
    if (at_ == text_.size()) return std::nullopt;
    std::vector<std::string> record;
    for (;;) {
      auto field = at_ < text_.size() && text_[at_] == '"' ? quoted() : plain();
      if (!field) return std::unexpected(field.error());
      record.push_back(std::move(*field));
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        continue;
      }
      line_break();
      return record;
    }
  }

 private:
  DecodeError problem(const char* what) const { return {.what = what, .path = "", .offset = at_}; }

  bool line_break() {
    const std::string_view rest = text_.substr(at_);
    const std::size_t size = rest.starts_with("\r\n") ? 2 : rest.starts_with('\n') ? 1 : 0;
    at_ += size;
    return size > 0;
  }

  std::expected<std::string, DecodeError> plain() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n') {
      if (text_[at_] == '"') return std::unexpected(problem("a quote in a field that is not quoted"));
      ++at_;
    }
    std::string_view field = text_.substr(begin, at_ - begin);
    if ((at_ == text_.size() || text_[at_] == '\n') && field.ends_with('\r')) field.remove_suffix(1);
    return std::string(field);
  }

  std::expected<std::string, DecodeError> quoted() {
    std::string field;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] != '"') {
        field += text_[at_];
      } else if (text_.substr(at_).starts_with("\"\"")) {
        field += text_[at_++];
      } else {
        ++at_;
        const std::string_view rest = text_.substr(at_);
        if (!rest.empty() && rest[0] != ',' && rest[0] != '\n' && !rest.starts_with("\r\n"))
          return std::unexpected(problem("a quoted field goes on after its quote"));
        return field;
      }
    }
    return std::unexpected(problem("a quoted field does not end"));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t comma = text.find(',');
    out.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::expected<std::vector<std::pair<std::string, User>>, DecodeError> parse_token_file(std::string_view text) {
  std::vector<std::pair<std::string, User>> out;
  Csv csv(text);
  for (;;) {
    const std::size_t begin = csv.offset();
    auto record = csv.next();
    if (!record) return std::unexpected(record.error());
    if (!*record) return out;
    std::vector<std::string>& fields = **record;
    if (fields.size() < 3)
      return std::unexpected(DecodeError{
          .what =
              fmt::format("a line must have at least 3 columns (token, user name, user uid), found {}", fields.size()),
          .path = "",
          .offset = begin});
    if (fields[0].empty()) continue;
    User user;
    user.name = std::move(fields[1]);
    user.uid = std::move(fields[2]);
    if (fields.size() >= 4 && !fields[3].empty()) user.groups = split(fields[3]);
    out.emplace_back(std::move(fields[0]), std::move(user));
  }
}

}  // namespace kopper::plane
