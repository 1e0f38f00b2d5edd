#pragma once

#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace kopper::rt {

// Thrown at an await point when the activity was cancelled. Not a std::exception, so that a careless
// `catch (const std::exception&)` cannot eat it. Nobody but Scope and timeout() catches it.
struct Cancelled {};

class Leaf;

// Something the loop of this thread runs once, in its next turn. Destroying it takes it off the loop's list.
class Deferred {
 public:
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;
  virtual ~Deferred() { undefer(); }

  void defer() noexcept;    // again while it waits: nothing happens
  void undefer() noexcept;  // not waiting: nothing happens

 protected:
  Deferred() = default;
  // May destroy the object.
  virtual void run() noexcept = 0;

 private:
  friend class ReadyList;
  Deferred* next_ = nullptr;
  Deferred* previous_ = nullptr;
};

// A line of execution: a chain of tasks of which exactly one, the leaf, is suspended on the outside world.
// A spawned task is an activity, and so is the inside of timeout(). Cancelling one cancels those inside it.
// Loop-confined, not copied, not moved.
class Activity {
 public:
  Activity() = default;
  explicit Activity(Activity* parent);
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  // Makes the current leaf, and every later one, throw Cancelled. Nothing is resumed before cancel() returns.
  // Idempotent.
  void cancel() noexcept;
  bool cancelled() const { return cancelled_; }

 private:
  friend class Leaf;
  Activity* parent_ = nullptr;
  Activity* first_child_ = nullptr;
  Activity* next_ = nullptr;
  Activity* previous_ = nullptr;
  Leaf* leaf_ = nullptr;
  bool cancelled_ = false;
};

// What every coroutine promise of Kopper has: who waits for it, and which activity it runs in.
struct Promise {
  std::coroutine_handle<> continuation;
  Deferred* when_done = nullptr;  // in place of a continuation, for a task started from outside a coroutine
  Activity* activity = nullptr;   // never null while the coroutine runs
  bool starting = false;          // the awaiting coroutine is still in await_suspend(): return to it, do not resume it
};

// An awaitable that waits for the outside world: a timer, a socket, another coroutine. Lives in the awaiting frame.
// Derive, start the operation in start(), call finish() once when it is done, and give it up in withdraw().
// Destroying a suspended coroutine destroys its leaf: the derived destructor says `if (pending()) withdraw();`.
class Leaf : private Deferred {
 public:
  ~Leaf() override;
  bool await_ready() const noexcept { return false; }

  template <std::derived_from<Promise> P>
  bool await_suspend(std::coroutine_handle<P> awaiting) {
    return suspend(awaiting, *awaiting.promise().activity);
  }

 protected:
  Leaf() = default;
  // Begins the operation. May call finish() at once: the coroutine then goes on without suspending.
  virtual void start() = 0;
  // The activity was cancelled: stop the operation; it must not call finish() any more. The loop resumes the coroutine
  // in a later turn (never inline: cancel() may be called from deep inside what it ends), and await_resume() throws.
  virtual void withdraw() noexcept = 0;
  // Resumes the coroutine, inline. Exactly once. The leaf may be gone when it returns.
  void finish();
  // Like finish(), in the loop's next turn: for wake-ups from other coroutines, so that nobody runs inside a sender.
  // From here on a cancellation no longer reaches this leaf: what it was given is not lost.
  void finish_later() noexcept;
  // Started, and neither finished nor withdrawn.
  bool pending() const { return phase_ == Phase::Pending; }
  // finish_later() was called and the coroutine has not run since. In a destructor: what it was given goes to another.
  bool woken() const { return phase_ == Phase::Woken && !cancelled_; }
  // To be called first by the derived await_resume().
  void throw_if_cancelled() const {
    if (cancelled_) throw Cancelled{};
  }

 private:
  friend class Activity;
  enum class Phase : unsigned char { Idle, Pending, Woken, Resumed };

  bool suspend(std::coroutine_handle<> awaiting, Activity& activity);
  void cancel() noexcept;
  void leave() noexcept;
  void run() noexcept override;

  std::coroutine_handle<> awaiting_;
  Activity* activity_ = nullptr;
  Phase phase_ = Phase::Idle;
  bool starting_ = false;
  bool resume_inline_ = false;
  bool cancelled_ = false;
};

namespace detail {

struct FinalAwaiter {
  bool await_ready() const noexcept { return false; }
  template <class P>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<P> done) const noexcept {
    Promise& promise = done.promise();
    if (promise.when_done != nullptr) promise.when_done->defer();
    if (promise.starting || !promise.continuation) return std::noop_coroutine();
    return promise.continuation;
  }
  void await_resume() const noexcept {}
};

template <class T>
struct Result : Promise {
  std::optional<T> value;
  std::exception_ptr error;

  template <class U = T>
    requires std::constructible_from<T, U&&>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  void unhandled_exception() noexcept { error = std::current_exception(); }
  T take() {
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
    return std::move(*value);
  }
};

template <>
struct Result<void> : Promise {
  std::exception_ptr error;

  void return_void() const noexcept {}
  void unhandled_exception() noexcept { error = std::current_exception(); }
  void take() {
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }
};

}  // namespace detail

// A lazy coroutine: it starts when awaited, or when given to a Scope. Destroying a task that is suspended is safe:
// its locals are destroyed and the operation it waits for is withdrawn. There is no detach.
template <class T = void>
class [[nodiscard]] Task {
 public:
  using value_type = T;

  struct promise_type : detail::Result<T> {
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    detail::FinalAwaiter final_suspend() const noexcept { return {}; }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  struct Awaiter {
    std::coroutine_handle<promise_type> task;
    Activity* activity = nullptr;  // when set, the task runs in this one instead of the caller's

    bool await_ready() const noexcept { return false; }
    // Runs the task until it first suspends. One that ends at once returns here instead of resuming the caller, so that
    // a loop over such tasks needs no stack, whether or not the compiler makes tail calls (g++ does not at -O0).
    template <std::derived_from<Promise> P>
    bool await_suspend(std::coroutine_handle<P> awaiting) {
      auto& promise = task.promise();
      promise.continuation = awaiting;
      promise.activity = activity ? activity : awaiting.promise().activity;
      promise.starting = true;
      task.resume();
      promise.starting = false;
      return !task.done();
    }
    T await_resume() { return task.promise().take(); }
  };
  Awaiter operator co_await() const& noexcept { return {handle_}; }
  Awaiter operator co_await() const&& noexcept { return {handle_}; }

  // `co_await task.in(activity)`: runs the task in an activity of its own. The building block of timeout() and
  // shield().
  Awaiter in(Activity& activity) const noexcept { return {handle_, &activity}; }

  // Runs the task from outside a coroutine, until it first suspends. `when_done` is deferred when it ends; take() then
  // gives the value or throws the error. The building block of Scope and Loop::run().
  void start(Activity& activity, Deferred& when_done) const {
    handle_.promise().activity = &activity;
    handle_.promise().when_done = &when_done;
    handle_.resume();
  }
  bool done() const { return handle_.done(); }
  T take() const { return handle_.promise().take(); }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

// `Activity& here = co_await this_activity();`
struct ThisActivity {
  Activity* activity = nullptr;

  bool await_ready() const noexcept { return false; }
  template <std::derived_from<Promise> P>
  bool await_suspend(std::coroutine_handle<P> awaiting) noexcept {
    activity = awaiting.promise().activity;
    return false;
  }
  Activity& await_resume() const noexcept { return *activity; }
};
inline ThisActivity this_activity() { return {}; }

}  // namespace kopper::rt

namespace kopper {
using rt::Cancelled;
using rt::Task;
}  // namespace kopper
