#include "kopper/json/splitter.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/json/value.h"

namespace kopper::json {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

bool is_space(char c) { return kSpace.find(c) != std::string_view::npos; }

}  // namespace

ListSplitter::ListSplitter(SplitLimits limits)
    : limits_(limits), object_end_(limits.simd ? detail::object_end_best() : detail::object_end_scalar) {}

std::expected<void, DecodeError> ListSplitter::feed(std::string_view chunk, const Sink& sink) {
  fed_ += chunk.size();
  bool ok = error_.what.empty();
  while (ok && !chunk.empty()) {
    switch (state_) {
      case State::Envelope: ok = envelope(chunk); break;
      case State::FirstItem:
      case State::NextItem:
      case State::BetweenItems: ok = between(chunk); break;
      case State::InItem: ok = item(chunk, sink); break;
    }
  }
  if (!ok) return std::unexpected(error_);
  return {};
}

std::expected<ListMeta, DecodeError> ListSplitter::finish() {
  if (!error_.what.empty()) return std::unexpected(error_);
  if (state_ != State::Envelope) return std::unexpected(DecodeError{"the list ends in the middle", item_path(), fed_});
  if (depth_ != 0 || envelope_.empty()) return std::unexpected(DecodeError{"the list ends in the middle", "", fed_});
  auto parsed = parse(envelope_);
  if (!parsed) return std::unexpected(DecodeError{parsed.error().what, parsed.error().path, fed_});
  if (!had_items_ && !parsed->as_object()->contains("items"))
    return std::unexpected(DecodeError{"not a list: it has no items", "", fed_});
  if (!had_items_ && !(*parsed)["items"].is_null())
    return std::unexpected(DecodeError{"expected an array", "items", fed_});

  const Value& list = *parsed;
  const Value& metadata = list["metadata"];
  ListMeta meta{std::string(list.text("apiVersion")), std::string(list.text("kind")),
                std::string(metadata.text("resourceVersion")), std::string(metadata.text("continue")), std::nullopt};
  if (const std::int64_t* remaining = metadata["remainingItemCount"].as_int()) meta.remaining_items = *remaining;
  return meta;
}

bool ListSplitter::fail(std::string what, std::string_view rest, std::string path) {
  error_ = {std::move(what), std::move(path), fed_ - rest.size()};
  return false;
}

std::string ListSplitter::item_path() const { return fmt::format("items[{}]", items_); }

// There is little outside the items, so this goes byte by byte.
bool ListSplitter::envelope(std::string_view& rest) {
  while (!rest.empty() && state_ == State::Envelope) {
    const char c = rest.front();
    if (!in_string_ && is_space(c)) {
      rest.remove_prefix(1);
      continue;
    }
    if (envelope_.empty() && c != '{') return fail("expected a JSON object", rest, "");
    if (envelope_.size() >= limits_.envelope_bytes) {
      return fail(fmt::format("more than {} bytes around the items", limits_.envelope_bytes), rest, "");
    }
    if (!envelope_byte(c)) return fail("brackets do not pair", rest, "");
    if (state_ != State::Envelope && had_items_) return fail("duplicate key", rest, "items");
    had_items_ = had_items_ || state_ != State::Envelope;
    rest.remove_prefix(1);
  }
  return true;
}

bool ListSplitter::envelope_byte(char c) {
  const auto key = std::exchange(items_key_, ItemsKey::No);
  envelope_.push_back(c);
  if (in_string_) {
    const bool escaped = std::exchange(escaped_, c == '\\' && !escaped_);
    if (c != '"' || escaped) return true;
    in_string_ = false;
    if (std::exchange(expects_key_, false) && std::string_view(envelope_).substr(string_start_) == "\"items\"")
      items_key_ = ItemsKey::Key;
    return true;
  }
  switch (c) {
    case '"':
      in_string_ = true;
      string_start_ = envelope_.size() - 1;
      expects_key_ = expects_key_ && depth_ == 1;
      break;
    case ':':
      if (key == ItemsKey::Key) items_key_ = ItemsKey::Colon;
      break;
    case ',': expects_key_ = depth_ == 1; break;
    case '[':
      if (key == ItemsKey::Colon) {
        state_ = State::FirstItem;
        break;
      }
      [[fallthrough]];
    case '{': expects_key_ = ++depth_ == 1; break;
    case '}':
    case ']':
      if (depth_ == 0) return false;
      --depth_;
      break;
    default: break;
  }
  return true;
}

bool ListSplitter::between(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kSpace), rest.size()));
  if (rest.empty()) return true;
  const char c = rest.front();
  if (c == ']' && state_ != State::NextItem) {
    envelope_.push_back(c);
    state_ = State::Envelope;
    rest.remove_prefix(1);
  } else if (c == ',' && state_ == State::BetweenItems) {
    state_ = State::NextItem;
    rest.remove_prefix(1);
  } else if (c == '{' && state_ != State::BetweenItems) {
    state_ = State::InItem;
    scan_ = {};
  } else {
    return fail(state_ == State::BetweenItems ? "expected ',' or ']'" : "expected an object", rest, item_path());
  }
  return true;
}

bool ListSplitter::item(std::string_view& rest, const Sink& sink) {
  const std::size_t end = object_end_(rest, scan_);
  const std::string_view piece = rest.substr(0, end);
  if (partial_.size() + piece.size() > limits_.item_bytes) {
    return fail(fmt::format("an item of more than {} bytes", limits_.item_bytes), rest, item_path());
  }
  rest.remove_prefix(piece.size());
  if (end == std::string_view::npos) {
    partial_ += piece;
    return true;
  }
  state_ = State::BetweenItems;
  ++items_;
  if (partial_.empty()) {
    sink(piece);
  } else {
    partial_ += piece;
    sink(partial_);
    partial_.clear();
  }
  return true;
}

}  // namespace kopper::json
