#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kopper/runtime/election_state.h"

// Candidates with clocks of their own, a network that delays and loses, processes that stop for a while: whatever
// happens, no two lead at the same moment, each by its own clock. A simulation of the pure state, many seeds.
namespace kopper::runtime {
namespace {

using namespace std::chrono_literals;
using Step = ElectionState::Step;

struct Random {
  explicit Random(unsigned seed) : engine(seed) {}
  double uniform() { return std::uniform_real_distribution<double>(0, 1)(engine); }
  bool chance(double p) { return uniform() < p; }
  rt::Duration up_to(rt::Duration most) { return std::chrono::duration_cast<rt::Duration>(most * uniform()); }
  std::mt19937 engine;
};

// Things to happen, in the order of true time.
class World {
 public:
  explicit World(unsigned seed) : random(seed) {}
  void in(rt::Duration delay, std::function<void()> fn) { agenda_.emplace(now + delay, std::move(fn)); }
  bool step() {
    const auto first = agenda_.begin();
    now = first->first;
    const auto fn = std::move(first->second);
    agenda_.erase(first);
    fn();
    return now < 10min;
  }

  Random random;
  rt::Duration now{0};

  // The server.
  std::optional<Lease> lease;
  int version = 0;
  // True when it was written.
  bool write(Lease next, bool create) {
    if (create ? lease.has_value() : !lease || lease->metadata.resourceVersion != next.metadata.resourceVersion)
      return false;
    next.metadata.resourceVersion = std::to_string(++version);
    lease = std::move(next);
    return true;
  }

 private:
  std::multimap<rt::Duration, std::function<void()>> agenda_;
};

class Node {
 public:
  Node(World& world, std::string name)
      : world_(world),
        rate_(0.9 + (0.2 * world.random.uniform())),
        offset_(world.random.up_to(1000h)),
        skew_(world.random.up_to(2h) - 1h),
        state_(std::move(name), {}) {
    world_.in(world_.random.up_to(2s), [this] { attempt(); });
    world_.in(world_.random.up_to(60s), [this] { trouble(); });
  }

  bool leads() const { return state_.leading(local()); }

 private:
  // This machine's clock: begins anywhere, and runs up to a tenth too fast or too slow.
  rt::TimePoint local() const {
    return rt::TimePoint(offset_ + std::chrono::duration_cast<rt::Duration>(world_.now * rate_));
  }

  // Runs `fn` here after `delay`, or when the process goes on.
  void later(rt::Duration delay, std::function<void()> fn) {
    world_.in(delay, [this, fn = std::move(fn)] {
      if (world_.now < paused_until_)
        later(paused_until_ - world_.now, fn);
      else
        fn();
    });
  }

  // Asks the server: `question` runs there, `answer` here, unless either way is lost.
  void ask(std::function<bool()> question, std::function<void(bool)> answer) {
    const auto attempt = attempt_;
    later(5s, [this, attempt] {
      if (attempt != attempt_) return;
      state_.failed();
      finish();
    });
    if (cut_ || world_.random.chance(0.05)) return;
    world_.in(delay(), [this, attempt, question = std::move(question), answer = std::move(answer)] {
      const auto result = question();
      if (cut_ || world_.random.chance(0.05)) return;
      later(delay(), [this, attempt, result, answer] {
        if (attempt == attempt_) answer(result);
      });
    });
  }
  rt::Duration delay() { return world_.random.chance(0.1) ? world_.random.up_to(20s) : world_.random.up_to(100ms); }

  void attempt() {
    ++attempt_;
    go(state_.begin(local()));
  }
  void finish() {
    ++attempt_;
    later(2s + world_.random.up_to(2400ms), [this] { attempt(); });
  }

  void go(Step step) {
    if (step == Step::Wait) return finish();
    if (step == Step::Read) {
      ask(
          [this] {
            answer_ = world_.lease;
            return true;
          },
          [this](bool) {
            live_ = answer_;
            go(live_ ? state_.saw(*live_, local()) : state_.saw_nothing(local()));
          });
      return;
    }
    Lease next = live_.value_or(Lease());
    next.spec = state_.claim(api::MicroTime(rt::WallTime(world_.now + skew_)));
    const auto sent = local();
    const bool create = step == Step::Create;
    ask(
        [this, next, create] {
          const bool written = world_.write(next, create);
          if (written) answer_ = world_.lease;
          return written;
        },
        [this, sent](bool written) {
          if (!written) return go(state_.refused());
          live_ = answer_;
          go(state_.wrote(*live_, sent, local()));
        });
  }

  // Stops, is cut off, says goodbye, or somebody deletes the lease.
  void trouble() {
    const auto kind = world_.random.uniform();
    const auto length = world_.random.up_to(40s);
    if (kind < 0.45) {
      paused_until_ = world_.now + length;
    } else if (kind < 0.9) {
      cut_ = true;
      world_.in(length, [this] { cut_ = false; });
    } else {
      state_.resign();
    }
    world_.in(length + world_.random.up_to(60s), [this] { trouble(); });
  }

  World& world_;
  const double rate_;
  const rt::Duration offset_;
  const rt::Duration skew_;  // of the wall clock
  ElectionState state_;
  std::optional<Lease> live_;
  std::optional<Lease> answer_;  // of the question under way
  rt::Duration paused_until_{0};
  bool cut_ = false;
  int attempt_ = 0;
};

TEST(ElectionFencing, NeverTwoLeaders) {
  int reigns = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    World world(seed);
    std::array<Node, 3> nodes{Node(world, "a"), Node(world, "b"), Node(world, "c")};
    const Node* last = nullptr;
    do {
      const auto leaders = std::count_if(nodes.begin(), nodes.end(), [](const Node& n) { return n.leads(); });
      ASSERT_LE(leaders, 1) << "seed " << seed << ", second " << world.now / 1s;
      for (const auto& node : nodes)
        if (node.leads() && std::exchange(last, &node) != &node) ++reigns;
    } while (world.step());
  }
  EXPECT_GT(reigns, 300 * 5) << "the simulation must be one in which leaders change";
}

}  // namespace
}  // namespace kopper::runtime
