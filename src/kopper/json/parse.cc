#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <memory>
#include <unordered_map>

#include <fmt/format.h>
#include <simdjson.h>

#include "kopper/json/detail/path.h"
#include "kopper/json/detail/plain_run.h"
#include "kopper/json/lenient.h"
#include "kopper/json/utf8.h"
#include "kopper/json/value.h"

namespace kopper::json {
namespace {

namespace ondemand = simdjson::ondemand;

// What a thread keeps between documents. Above this much it is given back.
constexpr std::size_t kKeepBytes = std::size_t{4} << 20U;

// simdjson looks at the last token before it walks into the outermost container.
constexpr const char* kUnbalanced = "brackets do not pair, or other text follows";

struct Scratch {
  ondemand::parser parser;
  std::unique_ptr<char[]> bytes;
  std::size_t capacity = 0;

  simdjson::padded_string_view pad(std::string_view before, std::string_view text, std::string_view after) {
    const std::size_t size = before.size() + text.size() + after.size();
    const std::size_t need = size + simdjson::SIMDJSON_PADDING;
    if (capacity < need) {
      bytes = std::make_unique_for_overwrite<char[]>(need);
      capacity = need;
    }
    char* end = bytes.get();
    for (const std::string_view part : {before, text, after}) end = std::copy(part.begin(), part.end(), end);
    std::memset(end, 0, simdjson::SIMDJSON_PADDING);
    return simdjson::padded_string_view(bytes.get(), size, need);
  }
};

// These two only run on the way to an error: simdjson says that there is one, not where.
std::size_t invalid_utf8_offset(std::string_view text) {
  std::size_t at = 0;
  while (const std::size_t length = utf8_sequence(text.substr(at))) at += length;
  return at;
}

std::size_t unescaped_control_offset(std::string_view text) {
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (inside && static_cast<unsigned char>(text[at]) < 0x20) return at;
    if (text[at] == '"') inside = !inside;
    if (inside && text[at] == '\\') ++at;
  }
  return text.size();
}

constexpr std::size_t kFirst = 4;  // what a container has room for at first

// Null when there is none.
const std::string* duplicate_key(const std::vector<Object::Member>& members) {
  constexpr std::size_t kSmall = 16;
  if (members.size() <= kSmall) {
    for (auto a = members.begin(); a != members.end(); ++a) {
      for (auto b = members.begin(); b != a; ++b) {
        if (a->first == b->first) return &a->first;
      }
    }
    return nullptr;
  }
  std::vector<const std::string*> keys;
  keys.reserve(members.size());
  for (const auto& member : members) keys.push_back(&member.first);
  std::sort(keys.begin(), keys.end(), [](const auto* a, const auto* b) { return *a < *b; });
  const auto found =
      std::adjacent_find(keys.begin(), keys.end(), [](const auto* a, const auto* b) { return *a == *b; });
  return found == keys.end() ? nullptr : *found;
}

// Reads the documents that a server sees all day, in one go: objects and lists of ASCII texts and small integers. Gives
// up on anything else, be it wrong or only rare; Builder then starts again and says what it is.
class PlainReader {
 public:
  PlainReader(std::string_view text, Limits limits)
      : at_(text.data()), end_(text.data() + text.size()), depth_(limits.depth) {}

  bool read(Value& out) {
    skip_space();
    if (at_ == end_ || (*at_ != '{' && *at_ != '[') || !value(out, 1)) return false;
    skip_space();
    return at_ == end_;
  }

 private:
  void skip_space() {
    while (at_ != end_ && static_cast<unsigned char>(*at_) <= ' ' &&
           (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r'))
      ++at_;
  }
  // Passes over `c`, and what is blank around it.
  bool passed(char c) {
    skip_space();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    skip_space();
    return true;
  }

  bool value(Value& out, std::size_t depth) {
    if (at_ == end_) return false;
    switch (*at_) {
      case '"': {
        std::string_view plain;
        const bool ok = plain_text(plain);
        std::string& made = out.data().emplace<std::string>(plain);
        return ok || text(made);
      }
      case '{': return object(out, depth);
      case '[': return array(out, depth);
      case 't': out.data() = true; return word("true");
      case 'f': out.data() = false; return word("false");
      case 'n': return word("null");
      default: return integer(out);
    }
  }

  bool object(Value& out, std::size_t depth) {
    if (depth > depth_ || !passed('{')) return false;
    std::vector<Object::Member> members;
    if (!passed('}')) {
      members.reserve(kFirst);
      do {
        std::string_view key;
        const bool plain = plain_text(key);
        Object::Member& member = plain ? members.emplace_back(key, Value()) : members.emplace_back();
        if ((!plain && !text(member.first)) || !passed(':') || !value(member.second, depth + 1)) return false;
      } while (passed(','));
      if (!passed('}') || duplicate_key(members) != nullptr) return false;
    }
    out.data().emplace<Object>(std::move(members));
    return true;
  }

  bool array(Value& out, std::size_t depth) {
    if (depth > depth_ || !passed('[')) return false;
    Array elements;
    if (!passed(']')) {
      elements.reserve(kFirst);
      do {
        if (!value(elements.emplace_back(), depth + 1)) return false;
      } while (passed(','));
      if (!passed(']')) return false;
    }
    out.data().emplace<Array>(std::move(elements));
    return true;
  }

  // The text from its first quote on, when nothing in it is escaped; it is then passed over.
  bool plain_text(std::string_view& out) {
    if (at_ == end_ || *at_ != '"') return false;
    const char* const begin = at_ + 1;
    const char* const last = begin + detail::plain_ascii_run(begin, end_);
    if (last == end_ || *last != '"') return false;
    out = {begin, last};
    at_ = last + 1;
    return true;
  }

  // Any other.
  bool text(std::string& out) {
    if (at_ == end_ || *at_++ != '"') return false;
    for (;;) {
      const std::size_t plain = detail::plain_ascii_run(at_, end_);
      out.append(at_, plain);
      at_ += plain;
      if (at_ == end_) return false;
      const char c = *at_++;
      if (c == '"') return true;
      if (c != '\\' || at_ == end_) return false;
      constexpr std::string_view kEscapes = "\"\\/bfnrt";
      constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
      const std::size_t known = kEscapes.find(*at_++);
      if (known == std::string_view::npos) return false;
      out.push_back(kMeanings[known]);
    }
  }

  bool integer(Value& out) {
    constexpr std::ptrdiff_t kDigits = 18;  // fit an int64 whatever they are
    const char* const begin = at_;
    const bool negative = *at_ == '-';
    if (negative) ++at_;
    const char* const first = at_;
    std::int64_t number = 0;
    for (; at_ != end_ && *at_ >= '0' && *at_ <= '9' && at_ - first < kDigits; ++at_)
      number = number * 10 + (*at_ - '0');
    const bool odd = at_ == first || (*first == '0' && at_ - begin > 1);  // none, 00, -0
    if (odd || at_ == end_ || (*at_ != ',' && *at_ != '}' && *at_ != ']' && *at_ != ' ' && *at_ != '\n')) return false;
    out.data() = negative ? -number : number;
    return true;
  }

  bool word(std::string_view expected) {
    if (!std::string_view(at_, end_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }

  const char* at_;
  const char* const end_;
  const std::size_t depth_;
};

class Builder {
 public:
  // `duplicates` null: a key twice is an error.
  Builder(Scratch& scratch, Limits limits, std::vector<std::string>* duplicates = nullptr)
      : scratch_(scratch), limits_(limits), duplicates_(duplicates) {}

  std::expected<Value, DecodeError> build(std::string_view text) {
    // simdjson 3.0 is lax with scalars at the top ("falsep" is false to it), but not inside an array.
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return std::unexpected(DecodeError{"empty document", "", text.size()});
    const bool scalar = text[first] != '{' && text[first] != '[';
    const auto padded = scalar ? scratch_.pad("[", text, "]") : scratch_.pad("", text, "");
    begin_ = padded.data() + (scalar ? 1 : 0);
    end_ = padded.data() + padded.size() + simdjson::SIMDJSON_PADDING;

    ondemand::document document;
    if (const auto error = scratch_.parser.iterate(padded).get(document)) return failed(text, error);
    document_ = &document;
    Value value;
    const bool is_object = text[first] == '{';
    const bool ok = (is_object ? object(document, value, 1) : array(document, value, 1)) && at_end(document) &&
                    (!scalar || unwrap(value));
    if (ok) return value;
    error_.offset = std::min(error_.offset, text.size());
    if (scalar) error_.path.clear();
    return std::unexpected(std::move(error_));
  }

 private:
  // simdjson found out before there was any document: it does not say where.
  static std::expected<Value, DecodeError> failed(std::string_view text, simdjson::error_code error) {
    switch (error) {
      case simdjson::UTF8_ERROR: return std::unexpected(DecodeError{"not valid UTF-8", "", invalid_utf8_offset(text)});
      case simdjson::UNCLOSED_STRING: return std::unexpected(DecodeError{"unclosed string", "", text.size()});
      case simdjson::UNESCAPED_CHARS:
        return std::unexpected(DecodeError{"control character in a string", "", unescaped_control_offset(text)});
      default: return std::unexpected(DecodeError{simdjson::error_message(error), "", 0});
    }
  }

  bool at_end(ondemand::document& document) {
    return document.current_location().error() == simdjson::OUT_OF_BOUNDS || fail("unexpected text after the document");
  }

  bool unwrap(Value& array) {
    Array elements = std::move(*array.as_array());
    if (elements.size() != 1) return fail("unexpected text after the document");
    array = std::move(elements.front());
    return true;
  }

  bool fail(std::string what) {
    const char* location = nullptr;
    error_.what = std::move(what);
    error_.offset = document_->current_location().get(location) == simdjson::SUCCESS
                        ? static_cast<std::size_t>(location - begin_)
                        : std::string_view::npos;
    return false;
  }

  bool any(ondemand::value& source, Value& out, std::size_t depth) {
    ondemand::json_type type{};
    if (source.type().get(type)) return fail("expected a value");
    switch (type) {
      case ondemand::json_type::object: return object(source, out, depth);
      case ondemand::json_type::array: return array(source, out, depth);
      case ondemand::json_type::string: return string(source, out);
      case ondemand::json_type::number: return number(source, out);
      case ondemand::json_type::boolean: return boolean(source, out);
      case ondemand::json_type::null: return null(source);
    }
    return fail("expected a value");
  }

  template <class Source>
  bool object(Source& source, Value& out, std::size_t depth) {
    if (depth > limits_.depth) return fail(fmt::format("nested deeper than {} levels", limits_.depth));
    ondemand::object object;
    if (source.get_object().get(object)) return fail(kUnbalanced);
    std::vector<Object::Member> members;
    for (auto item : object) {
      ondemand::field field;
      if (std::move(item).get(field)) return fail("expected a member, ',' or '}'");
      const char* raw = field.key().raw();
      std::string_view key = plain_string(raw);
      if (raw[key.size()] != '"' && field.unescaped_key().get(key)) return fail("invalid string");
      const std::size_t known = duplicates_ == nullptr ? 0 : duplicates_->size();
      if (members.empty()) members.reserve(kFirst);
      if (!any(field.value(), members.emplace_back(key, Value()).second, depth + 1)) {
        detail::prepend_key(error_.path, key);
        return false;
      }
      for (std::size_t i = known; duplicates_ != nullptr && i < duplicates_->size(); ++i)
        detail::prepend_key((*duplicates_)[i], members.back().first);
    }
    if (!unique_keys(members)) return false;
    out.data().emplace<Object>(std::move(members));
    return true;
  }

  template <class Source>
  bool array(Source& source, Value& out, std::size_t depth) {
    if (depth > limits_.depth) return fail(fmt::format("nested deeper than {} levels", limits_.depth));
    ondemand::array array;
    if (source.get_array().get(array)) return fail(kUnbalanced);
    Array elements;
    for (auto item : array) {
      ondemand::value element;
      if (std::move(item).get(element)) return fail("expected ',' or ']'");
      const std::size_t known = duplicates_ == nullptr ? 0 : duplicates_->size();
      if (elements.empty()) elements.reserve(kFirst);
      if (!any(element, elements.emplace_back(), depth + 1)) {
        detail::prepend_index(error_.path, elements.size() - 1);
        return false;
      }
      for (std::size_t i = known; duplicates_ != nullptr && i < duplicates_->size(); ++i)
        detail::prepend_index((*duplicates_)[i], elements.size() - 1);
    }
    out.data().emplace<Array>(std::move(elements));
    return true;
  }

  bool string(ondemand::value& source, Value& out) {
    const char* raw = source.raw_json_token().data() + 1;
    std::string_view text = plain_string(raw);
    if (raw[text.size()] == '"') {
      if (source.get_raw_json_string().error()) return fail("invalid string");  // moves on
    } else if (source.get_string().get(text)) {
      return fail("invalid string");
    }
    out.data().emplace<std::string>(text);
    return true;
  }

  // The string from `raw` on up to its quote or its first escape. Without the latter there is nothing to unescape:
  // simdjson would copy it byte by byte when it is built for any x86-64.
  std::string_view plain_string(const char* raw) const { return {raw, detail::plain_run(raw, end_)}; }

  // simdjson 3.0.1 checks the grammar of a float, but misreads one of more than 19 digits: get_number() gives 0,
  // get_double() a neighbour. So its text is read again.
  bool number(ondemand::value& source, Value& out) {
    std::int64_t integer = 0;
    std::uint64_t natural = 0;
    double real = 0;
    const std::string_view token = source.raw_json_token();
    if (source.get_int64().get(integer) == simdjson::SUCCESS) {
      out.data() = integer;
    } else if (source.get_uint64().get(natural) == simdjson::SUCCESS) {
      out.data() = natural;
    } else if (source.get_double().get(real) == simdjson::SUCCESS) {
      std::from_chars(token.data(), token.data() + token.size(), real);  // leaves what underflows as it is
      out.data() = real;
    } else {
      return fail("invalid number");
    }
    return true;
  }

  bool boolean(ondemand::value& source, Value& out) {
    bool value = false;
    if (source.get_bool().get(value)) return fail("expected a value");
    out.data() = value;
    return true;
  }

  bool null(ondemand::value& source) {
    bool value = false;
    return (source.is_null().get(value) == simdjson::SUCCESS && value) || fail("expected a value");
  }

  bool unique_keys(std::vector<Object::Member>& members) {
    const std::string* twice = duplicate_key(members);
    if (twice == nullptr) return true;
    if (duplicates_ != nullptr) {
      keep_last(members);
      return true;
    }
    detail::prepend_key(error_.path, *twice);
    return fail("duplicate key");
  }

  // Drops members that a later one of the same key replaces.
  void keep_last(std::vector<Object::Member>& members) {
    std::vector<Object::Member> kept;
    std::unordered_map<std::string, std::size_t> places;
    for (Object::Member& member : members) {
      const auto [place, is_new] = places.emplace(member.first, kept.size());
      if (is_new) {
        kept.push_back(std::move(member));
      } else {
        duplicates_->push_back(member.first);
        kept[place->second].second = std::move(member.second);
      }
    }
    members = std::move(kept);
  }

  Scratch& scratch_;
  Limits limits_;
  std::vector<std::string>* duplicates_;
  ondemand::document* document_ = nullptr;
  const char* begin_ = nullptr;
  const char* end_ = nullptr;  // padding included
  DecodeError error_;
};

// Gives the thread's scratch back in a usable state, whatever happened.
struct Cleanup {
  Scratch& scratch;
  ~Cleanup() {
    if (scratch.capacity > kKeepBytes) scratch = Scratch();
  }
};

std::expected<Value, DecodeError> parse_whole(std::string_view text, std::vector<std::string>* duplicates,
                                              Limits limits) {
  if (text.size() > limits.bytes) {
    return std::unexpected(DecodeError{fmt::format("larger than {} bytes", limits.bytes), "", limits.bytes});
  }
  if (Value plain; PlainReader(text, limits).read(plain)) return Value(std::move(plain));
  thread_local Scratch scratch;
  const Cleanup cleanup{scratch};
  return Builder(scratch, limits, duplicates).build(text);
}

}  // namespace

std::expected<Value, DecodeError> parse(std::string_view text, Limits limits) {
  return parse_whole(text, nullptr, limits);
}

std::expected<Value, DecodeError> parse_lenient(std::string_view text, std::vector<std::string>& duplicates,
                                                Limits limits) {
  return parse_whole(text, &duplicates, limits);
}

}  // namespace kopper::json
