#include "kopper/local/network_block.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/rt/file.h"

namespace kopper::local {

namespace {

constexpr int kBlocks = 32;
constexpr int kServices = 96;
constexpr int kPods = 128;
constexpr std::uint16_t kDoor = 10250;  // of an address that no service gets

// Whoever listens there has the block; the system takes it back when the process is gone.
std::optional<rt::Listener> try_claim(int number) {
  try {
    return rt::Listener::tcp(fmt::format("127.{}.255.254", kServices + number), kDoor);
  } catch (const Error& error) {
    if (error.code != Code::Unavailable) throw;
    return std::nullopt;
  }
}

std::optional<int> kept(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  const auto text = rt::read_file(file);
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || number < 0 || number >= kBlocks) {
    throw Error(Code::Invalid, fmt::format("{}: expected a number below {}", file.string(), kBlocks));
  }
  return number;
}

}  // namespace

NetworkBlock::Claim NetworkBlock::claim(const std::filesystem::path& data_dir) {
  const auto file = data_dir / "network";
  if (!data_dir.empty()) {
    if (const auto before = kept(file)) {
      auto held = try_claim(*before);
      if (held) return {*before, std::move(*held)};
      throw Error(Code::Unavailable, fmt::format("the addresses of {}, 127.{}.0.0/16, are in use by another kopper up",
                                                 data_dir.string(), kServices + *before));
    }
  }
  for (int number = 0; number < kBlocks; ++number) {
    auto held = try_claim(number);
    if (!held) continue;
    if (!data_dir.empty()) {
      std::filesystem::create_directories(data_dir);
      rt::write_file_atomic(file, fmt::format("{}\n", number));
    }
    return {number, std::move(*held)};
  }
  throw Error(Code::Unavailable, fmt::format("{} clusters run on this machine: there are no addresses left", kBlocks));
}

NetworkBlock::NetworkBlock(const std::filesystem::path& data_dir) : claim_(claim(data_dir)) {}

std::string NetworkBlock::services() const { return fmt::format("127.{}.0.0/16", kServices + claim_.number); }

int NetworkBlock::pods() const { return kPods + claim_.number; }

}  // namespace kopper::local
