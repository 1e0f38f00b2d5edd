#include "kopper/rt/scope.h"

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/base/log.h"

namespace kopper::rt {

// Deferred twice: to start, and when its task has ended, to be taken off the scope.
class Scope::Child final : public Deferred {
 public:
  Child(Scope& scope, Task<> task) : scope_(scope), activity_(&scope.activity_), task_(std::move(task)) { defer(); }

 private:
  friend class Scope;
  void run() noexcept override {
    if (std::exchange(started_, true)) {
      scope_.remove(*this);
    } else {
      task_.start(activity_, *this);
    }
  }

  Scope& scope_;
  Activity activity_;
  Task<> task_;  // after activity_, so that it is destroyed first
  bool started_ = false;
  std::unique_ptr<Child> next_;
  Child* previous_ = nullptr;
};

Scope::Scope() = default;

Scope::~Scope() {
  while (first_) {
    auto child = std::move(first_);
    first_ = std::move(child->next_);
    if (first_) first_->previous_ = nullptr;
  }
  if (!error_) return;
  try {
    std::rethrow_exception(error_);
  } catch (const std::exception& error) {
    log::error("a task failed and its scope was not joined", {{"error", error.what()}});
  } catch (...) {
    log::error("a task failed and its scope was not joined");
  }
}

void Scope::spawn(Task<> task) {
  auto child = std::make_unique<Child>(*this, std::move(task));
  child->next_ = std::move(first_);
  if (child->next_) child->next_->previous_ = child.get();
  first_ = std::move(child);
  ++size_;
}

void Scope::remove(Child& child) noexcept {
  auto& owner = child.previous_ != nullptr ? child.previous_->next_ : first_;
  const auto gone = std::move(owner);
  owner = std::move(gone->next_);
  if (owner) owner->previous_ = child.previous_;
  --size_;
  try {
    gone->task_.take();
  } catch (const Cancelled&) {
  } catch (...) {
    if (!error_) error_ = std::current_exception();
    cancel();
  }
  if (empty()) joining_.wake_all();
}

namespace {
Task<> until_empty(const Scope* scope, WaitList* joining) {
  while (!scope->empty()) co_await Waiter(*joining);
}
}  // namespace

Task<> Scope::join() {
  bool cancelled_here = false;
  try {
    co_await until_empty(this, &joining_);
  } catch (const Cancelled&) {
    cancelled_here = true;
  }
  if (cancelled_here) {
    cancel();
    co_await shield(until_empty(this, &joining_));
    throw Cancelled{};
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void detail::Deadline::on_timer() {
  passed_ = true;
  activity_.cancel();
}

void detail::throw_timeout(Duration limit) {
  const auto seconds = std::chrono::duration<double>(limit).count();
  throw Error(Code::Timeout, fmt::format("timed out after {:g} s", seconds));
}

Task<> all(std::vector<Task<>> tasks) {
  Scope scope;
  for (auto& task : tasks) scope.spawn(std::move(task));
  co_await scope.join();
}

}  // namespace kopper::rt
