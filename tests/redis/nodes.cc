#include "redis/nodes.h"

#include <cstdint>
#include <sstream>

namespace redis::testing {

std::vector<NodeSeen> read_nodes(std::string_view text) {
  std::vector<NodeSeen> out;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    NodeSeen node;
    std::string address, flags, ping, pong, epoch, link;
    if (!(words >> node.id >> address >> flags >> node.master >> ping >> pong >> epoch >> link)) continue;
    node.address = address.substr(0, address.find(':'));
    node.linked = link == "connected";
    std::istringstream each(flags);
    for (std::string flag; std::getline(each, flag, ',');) node.flags.insert(flag);
    for (std::string word; words >> word;) {
      if (word.starts_with('[')) {
        node.open.push_back(word);
        continue;
      }
      node.slots_text += (node.slots_text.empty() ? "" : " ") + word;
      const auto dash = word.find('-');
      const std::size_t first = std::stoul(word);
      const std::size_t last = dash == std::string::npos ? first : std::stoul(word.substr(dash + 1));
      for (std::size_t slot = first; slot <= last; ++slot) node.slots.set(slot);
    }
    out.push_back(std::move(node));
  }
  return out;
}

std::size_t slot_of_key(std::string_view key) {
  if (const auto open = key.find('{'); open != std::string_view::npos) {
    const auto close = key.find('}', open);
    if (close != std::string_view::npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
  }
  std::uint16_t crc = 0;  // CRC-16/XMODEM
  for (const char c : key) {
    crc = static_cast<std::uint16_t>(crc ^ static_cast<std::uint16_t>(static_cast<unsigned char>(c) << 8U));
    for (int bit = 0; bit < 8; ++bit)
      crc = static_cast<std::uint16_t>((crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U);
  }
  return crc % kAllSlots;
}

}  // namespace redis::testing
