#include "resp.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace redis {

using kopper::Code;
using kopper::Error;

namespace {

std::unexpected<Error> broken(std::string what) {
  return std::unexpected(Error(Code::Internal, "not an answer of Redis: " + std::move(what)));
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Reply text_reply(Reply::Type type, std::string_view text) {
  Reply reply;
  reply.type = type;
  reply.text = text;
  return reply;
}

constexpr std::string_view kEnd = "\r\n";

}  // namespace

void encode(const Words& words, std::string& out) {
  const auto header = [&out](char kind, std::size_t count) {
    out += kind;
    out += std::to_string(count);
    out += kEnd;
  };
  header('*', words.size());
  for (const auto& word : words) {
    header('$', word.size());
    out += word;
    out += kEnd;
  }
}

void Decoder::feed(std::string_view bytes) {
  // What is done is thrown away when it is most of the buffer, so that each byte is moved about once.
  if (at_ > buffer_.size() / 2) {
    buffer_.erase(0, at_);
    searched_ -= std::min(searched_, at_);
    at_ = 0;
  }
  buffer_ += bytes;
}

std::expected<std::optional<std::string_view>, Error> Decoder::line() {
  const auto end = buffer_.find(kEnd, std::max(at_, searched_));
  const auto size = (end == std::string::npos ? buffer_.size() : end) - at_;
  if (size > kLongestLine) return broken("a line is too long");
  if (end == std::string::npos) {
    searched_ = std::max(at_, buffer_.size() - std::min<std::size_t>(buffer_.size(), 1));  // "\r" may have come
    return std::nullopt;
  }
  const auto text = std::string_view(buffer_).substr(at_, size);
  at_ = end + kEnd.size();
  bytes_ += size + kEnd.size();
  return text;
}

std::expected<void, Error> Decoder::begin_array(std::int64_t items) {
  if (open_.size() == kDeepest) return broken("arrays are too deep");
  const auto count = static_cast<std::size_t>(items);
  if (count > kMostItems - items_) return broken("too many items");
  items_ += count;
  Open array;
  array.array.type = Reply::Type::Array;
  array.missing = count;
  array.array.items.reserve(std::min<std::size_t>(count, 1024));  // the peer only says that so many come
  open_.push_back(std::move(array));
  return {};
}

std::expected<std::optional<Reply>, Error> Decoder::value() {
  while (true) {
    if (bulk_) {
      if (buffer_.size() - at_ < *bulk_ + kEnd.size()) return std::nullopt;
      if (std::string_view(buffer_).substr(at_ + *bulk_, kEnd.size()) != kEnd) return broken("a string has no end");
      auto reply = text_reply(Reply::Type::Text, std::string_view(buffer_).substr(at_, *bulk_));
      at_ += *bulk_ + kEnd.size();
      bulk_.reset();
      return reply;
    }
    const auto next = line();
    if (!next) return std::unexpected(next.error());
    if (!*next) return std::nullopt;
    if ((*next)->empty()) return broken("an empty line");
    const char kind = (*next)->front();
    const auto rest = (*next)->substr(1);
    if (kind == '+') return text_reply(Reply::Type::Text, rest);
    if (kind == '-') return text_reply(Reply::Type::Error, rest);
    const auto count = number(rest);
    if (!count) return broken("a number is not one");
    if (kind == ':') {
      Reply reply;
      reply.type = Reply::Type::Integer;
      reply.integer = *count;
      return reply;
    }
    if (kind != '$' && kind != '*') return broken("an unknown type");
    if (*count < -1) return broken("a length is negative");
    if (*count == -1) return Reply();
    if (kind == '$') {
      const auto size = static_cast<std::size_t>(*count);
      if (size > kMostBytes || bytes_ + size > kMostBytes) return broken("too long");
      bytes_ += size + kEnd.size();
      bulk_ = size;
    } else {
      if (auto begun = begin_array(*count); !begun) return std::unexpected(begun.error());
      if (*count > 0) continue;
      auto empty = std::move(open_.back().array);
      open_.pop_back();
      return empty;
    }
  }
}

std::expected<std::optional<Reply>, Error> Decoder::next() {
  while (true) {
    auto found = value();
    if (!found || !*found) return found;
    // A value may complete the array that it is in, which may complete the next.
    while (!open_.empty()) {
      auto& inner = open_.back();
      inner.array.items.push_back(std::move(**found));
      if (--inner.missing > 0) break;
      *found = std::move(inner.array);
      open_.pop_back();
    }
    if (!open_.empty()) continue;
    bytes_ = 0;
    items_ = 0;
    return found;
  }
}

}  // namespace redis
