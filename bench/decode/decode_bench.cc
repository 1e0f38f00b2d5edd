// Decode and encode of pods: our interpreter against hand-written code for the same structs, and nlohmann.
// CPU time, best of several rounds that take turns. `decode_bench ours 300` runs one of them, for callgrind.
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>

#include <fmt/format.h>

#include "kopper/meta/decode.h"
#include "kopper/meta/encode.h"

#include "decode/pod.h"
#include "pods/pods.h"

namespace bench = kopper::bench;

namespace {

using bench::Pod;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

bool decode_ours(std::string_view json, Pod& out) {
  return kopper::meta::decode_into(json, kopper::meta::type_of<Pod>(), &out).has_value();
}

struct Row {
  const char* name;
  std::function<void(std::size_t)> one;  // of the i-th pod
  double best = 1e9;
};

int run_one(const char* name, std::size_t count) {
  const auto pods = bench::pods(count);
  const auto decode = std::strcmp(name, "ours") == 0   ? decode_ours
                      : std::strcmp(name, "hand") == 0 ? bench::decode_by_hand
                                                       : bench::decode_nlohmann;
  for (const auto& json : pods) {
    Pod pod;
    if (!decode(json, pod)) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) return run_one(argv[1], static_cast<std::size_t>(std::atoi(argv[2])));
  constexpr std::size_t count = 10000;
  const auto pods = bench::pods(count);
  std::size_t bytes = 0;
  std::vector<Pod> decoded(count);
  for (std::size_t i = 0; i < count; ++i) {
    Pod by_hand, by_nlohmann;
    std::string hand;
    bytes += pods[i].size();
    if (!decode_ours(pods[i], decoded[i]) || !bench::decode_by_hand(pods[i], by_hand) ||
        !bench::decode_nlohmann(pods[i], by_nlohmann))
      return fmt::print("pod {} does not decode\n", i), 1;
    const std::string ours = kopper::meta::encode(decoded[i]);
    bench::encode_by_hand(decoded[i], hand);
    if (ours != kopper::meta::encode(by_hand) || ours != kopper::meta::encode(by_nlohmann) || ours != hand)
      return fmt::print("pod {} differs:\n{}\n{}\n", i, ours, hand), 1;
  }

  const auto decoding = [&](bool (*decode)(std::string_view, Pod&)) {
    return [&pods, decode](std::size_t i) {
      Pod pod;
      if (!decode(pods[i], pod)) std::abort();
    };
  };
  std::string out;
  Row rows[] = {{"decode by hand", decoding(bench::decode_by_hand)},
                {"decode ours", decoding(decode_ours)},
                {"decode nlohmann", decoding(bench::decode_nlohmann)},
                {"encode by hand", [&](std::size_t i) { out.clear(), bench::encode_by_hand(decoded[i], out); }},
                {"encode ours", [&](std::size_t i) {
                   out.clear(), kopper::meta::encode_to(out, kopper::meta::type_of<Pod>(), &decoded[i]);
                 }}};
  for (int round = 0; round < 7; ++round) {
    for (Row& row : rows) {
      if (std::strstr(row.name, "nlohmann") != nullptr && round > 1) continue;  // slow, and far off
      const double start = cpu_seconds();
      for (std::size_t i = 0; i < count; ++i) row.one(i);
      row.best = std::min(row.best, cpu_seconds() - start);
    }
  }
  fmt::print("{} pods, {:.1f} MB\n| | ns a pod | MB/s | against by hand |\n|---|---|---|---|\n", count,
             static_cast<double>(bytes) / 1e6);
  for (const Row& row : rows) {
    const double base = rows[std::strncmp(row.name, "decode", 6) == 0 ? 0 : 3].best;
    fmt::print("| {} | {:.0f} | {:.0f} | {:.2f} |\n", row.name, row.best / count * 1e9,
               static_cast<double>(bytes) / 1e6 / row.best, row.best / base);
  }
}
