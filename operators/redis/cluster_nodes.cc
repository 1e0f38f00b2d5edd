#include "cluster_nodes.h"

#include <charconv>

#include <fmt/format.h>

namespace redis {

namespace {

std::string_view next_word(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  const auto end = text.find(' ');
  const auto word = text.substr(0, end);
  text = end == text.npos ? std::string_view() : text.substr(end + 1);
  return word;
}

template <class T>
bool read_number(std::string_view text, T& out) {
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  return error == std::errc() && stop == end;
}

// "127.0.0.1:6379@16379,host,shard-id=…"; ":0@0" is of a node whose address is not known.
bool read_address(std::string_view text, NodeLine& line) {
  text = text.substr(0, text.find(','));
  const auto at = text.find('@');
  if (at != text.npos && !read_number(text.substr(at + 1), line.bus_port)) return false;
  text = text.substr(0, at);
  const auto colon = text.rfind(':');  // an IPv6 address has more of them
  if (colon == text.npos || !read_number(text.substr(colon + 1), line.port)) return false;
  line.address = text.substr(0, colon);
  return true;
}

bool read_flags(std::string_view text, NodeLine& line) {
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto flag = text.substr(0, comma);
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
    if (flag == "myself") line.myself = true;
    if (flag == "master") line.master = true;
    if (flag == "slave" || flag == "replica") line.replica = true;
    if (flag == "fail") line.failed = true;
    if (flag == "fail?") line.suspected = true;
    if (flag == "handshake") line.handshake = true;
    if (flag == "noaddr") line.noaddr = true;
  }
  return true;
}

// "5461", "0-100", "[93-<-id]" (importing) or "[93->-id]" (migrating).
bool read_slots(std::string_view word, NodeLine& line) {
  if (!word.starts_with('[')) {
    const auto slots = SlotSet::parse(word);
    if (slots) line.slots |= *slots;
    return slots.has_value();
  }
  const auto dash = word.find('-');
  if (!word.ends_with(']') || dash == word.npos || dash + 3 >= word.size()) return false;
  OpenSlot open;
  const auto arrow = word.substr(dash, 3);
  if (arrow != "-<-" && arrow != "->-") return false;
  open.importing = arrow == "-<-";
  open.peer = word.substr(dash + 3, word.size() - dash - 4);
  if (!read_number(word.substr(1, dash - 1), open.slot) || open.slot >= kSlots) return false;
  line.open.push_back(std::move(open));
  return true;
}

bool read_line(std::string_view text, NodeLine& line) {
  line.id = next_word(text);
  const bool known = read_address(next_word(text), line) && read_flags(next_word(text), line);
  const auto master = next_word(text);
  if (master != "-") line.master_id = master;
  next_word(text);  // ping sent
  next_word(text);  // pong received
  if (!known || !read_number(next_word(text), line.config_epoch)) return false;
  line.linked = next_word(text) == "connected";
  for (auto word = next_word(text); !word.empty(); word = next_word(text)) {
    if (!read_slots(word, line)) return false;
  }
  return true;
}

}  // namespace

std::expected<std::vector<NodeLine>, kopper::Error> parse_cluster_nodes(std::string_view text) {
  std::vector<NodeLine> out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    auto line = text.substr(0, end);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (!read_line(line, out.emplace_back())) {
      return std::unexpected(kopper::Error(kopper::Code::Invalid, fmt::format("CLUSTER NODES: \"{}\"", line)));
    }
  }
  return out;
}

std::string_view info_value(std::string_view info, std::string_view name) {
  for (std::size_t at = 0; at < info.size();) {
    auto end = info.find('\n', at);
    if (end == info.npos) end = info.size();
    auto line = info.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') continue;
    line.remove_prefix(name.size() + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }
  return {};
}

std::int64_t info_number(std::string_view info, std::string_view name, std::int64_t otherwise) {
  std::int64_t out = 0;
  return read_number(info_value(info, name), out) ? out : otherwise;
}

}  // namespace redis
