#include <csignal>
#include <cstdlib>
#include <iostream>
#include <random>

#include "redis/redis_up.h"

// An operator-manager beside `kopper up` that is killed again and again while slots move.
namespace redis::testing {
namespace {

class RedisKills : public RedisUp {
 protected:
  static int kills() {
    const char* asked = std::getenv("KOPPER_REDIS_KILLS");
    return asked != nullptr ? std::atoi(asked) : 3;
  }
};

TEST_F(RedisKills, AMigrationSurvivesItsManagerWheneverThatDies) {
  {
    const auto first = manager();
    ASSERT_NO_FATAL_FAILURE(have(6));
  }
  write();
  std::minstd_rand random(static_cast<unsigned>(kills()));
  std::size_t target = 8;
  int open = 0;
  for (int life = 0; life < kills(); ++life) {
    change("\"replicas\":" + std::to_string(target));
    const auto one = manager();
    // Every other time when slots are open for sure, a little later or at once; else whenever.
    const std::chrono::milliseconds more(std::uniform_int_distribution(0, life % 2 == 0 ? 300 : 4000)(random));
    bool reached = false;
    const auto moving = [&] { return !open_slot().second.empty() || (reached = slot_counts().size() * 2 == target); };
    if (life % 2 == 0) eventually(moving, std::chrono::seconds(30));
    eventually([] { return false; }, more);
    one->end(SIGKILL);
    open += open_slot().second.empty() ? 0 : 1;
    // There already: back again. Every tenth time all must hold between.
    if (slot_counts().size() * 2 == target || life % 10 == 9) {
      if (life % 10 == 9) {
        const auto calm = manager();
        ASSERT_NO_FATAL_FAILURE(settle(target));
      }
      target = target == 8 ? 6 : 8;
    }
    if (HasFatalFailure()) return;
  }
  const auto last = manager();
  change("\"replicas\":6");
  ASSERT_NO_FATAL_FAILURE(settle(6));
  verify();
  std::cout << "  " << open << " of " << kills() << " kills left open slots\n";
}

}  // namespace
}  // namespace redis::testing
