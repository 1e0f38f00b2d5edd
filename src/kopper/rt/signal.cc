#include "kopper/rt/signal.h"

#include <boost/asio/signal_set.hpp>

#include "kopper/rt/detail/loop_impl.h"

namespace kopper::rt {

namespace {

class SignalLeaf final : public Leaf {
 public:
  explicit SignalLeaf(std::vector<int> signals) : signals_(std::move(signals)) {}
  ~SignalLeaf() override {
    if (pending()) withdraw();
  }
  int await_resume() const {
    throw_if_cancelled();
    return shared_->received;
  }

 private:
  struct Shared {
    explicit Shared(asio::io_context& io) : set(io) {}
    asio::signal_set set;
    SignalLeaf* leaf = nullptr;
    int received = 0;
  };

  void start() override {
    shared_ = std::make_shared<Shared>(Loop::current().impl().io);
    for (const int signal : signals_) shared_->set.add(signal);
    shared_->leaf = this;
    shared_->set.async_wait([shared = shared_](const boost::system::error_code&, int received) {
      shared->set.clear();
      shared->received = received;
      if (shared->leaf != nullptr) shared->leaf->finish();
    });
  }
  void withdraw() noexcept override {
    shared_->leaf = nullptr;
    boost::system::error_code ignored;
    shared_->set.clear(ignored);
    shared_->set.cancel(ignored);
  }

  std::vector<int> signals_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace

Task<int> wait_signal(std::vector<int> signals) { co_return co_await SignalLeaf(std::move(signals)); }

}  // namespace kopper::rt
