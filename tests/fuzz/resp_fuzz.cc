// What a node may answer, as a reply and as the text of CLUSTER NODES. The first byte says how the rest is cut.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "operators/redis/cluster_nodes.h"
#include "operators/redis/resp.h"
#include "require.h"

using kopper::fuzz::require;

namespace {

void show(const redis::Reply& reply, std::size_t depth, std::string& out) {
  require(depth <= redis::Decoder::kDeepest, "depth is bounded");
  require(reply.items.empty() || reply.type == redis::Reply::Type::Array, "only arrays have items");
  out += std::to_string(static_cast<int>(reply.type)) + reply.text + '\0' + std::to_string(reply.integer) + '(';
  for (const auto& item : reply.items) show(item, depth + 1, out);
  out += ')';
}

std::string decode(std::string_view bytes, std::size_t step) {
  redis::Decoder decoder;
  std::string all;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    decoder.feed(bytes.substr(at, step));
    while (true) {
      const auto reply = decoder.next();
      if (!reply) return all + "error";
      if (!*reply) break;
      show(**reply, 0, all);
    }
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > 100'000) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::size_t step = data[0] == 0 ? 1 : data[0];
  require(decode(bytes, step) == decode(bytes, bytes.size() + 1), "pieces do not matter");

  const auto nodes = redis::parse_cluster_nodes(bytes);
  if (nodes) {
    for (const auto& node : *nodes) {
      require(!node.id.empty(), "a node has an id");
      for (const auto& open : node.open) require(open.slot < redis::kSlots, "a slot is one");
    }
  }
  (void)redis::info_number(bytes, "cluster_size");
  return 0;
}
