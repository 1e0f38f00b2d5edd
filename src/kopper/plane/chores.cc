#include "kopper/plane/chores.h"

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/plane/status.h"

namespace kopper::plane {

Chores::Chores() { tasks_.spawn(work()); }

void Chores::add(Task<> chore) {
  waiting_.push_back(std::move(chore));
  more_.wake_one();
}

Task<> Chores::work() {
  for (;;) {
    while (waiting_.empty()) co_await rt::Waiter(more_);
    const Task<> chore = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = true;
    try {
      co_await chore;
    } catch (const Refusal& refusal) {
      // Somebody else was faster, or a webhook said no: the next change tries again.
      log::debug("chore refused", {{"why", refusal.message}});
    } catch (const Error& error) {
      log::warn("chore failed", {{"error", error.what()}});
    }
    busy_ = false;
  }
}

}  // namespace kopper::plane
