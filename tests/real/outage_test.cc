// Hard case 17: the API server is away for a while, and a thousand keys fail.
#include <algorithm>
#include <memory>
#include <set>

#include "kopper/http/url.h"
#include "kopper/kopper.h"
#include "kopper/rt/channel.h"

#include "real/account.h"
#include "real/fault_proxy.h"

namespace kopper::testing {
namespace {

using namespace std::chrono_literals;

constexpr int kKeys = 1000;

struct Tally {
  std::set<Key> done;
  int calls = 0;
  int at_once = 0;
  int most_at_once = 0;
};

// Counts itself in and out, also when it fails.
class Inside {
 public:
  explicit Inside(Tally& tally) : tally_(tally) {
    ++tally_.calls;
    tally_.most_at_once = std::max(tally_.most_at_once, ++tally_.at_once);
  }
  ~Inside() { --tally_.at_once; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Tally& tally_;
};

// Asks the server each time, so that it fails while the server is away.
struct AskTheServer {
  Tally* tally;

  Task<Next> operator()(Context<ConfigMap> map) const { return ask(tally, std::move(map)); }
  static Task<Next> ask(Tally* tally, Context<ConfigMap> map) {
    const Inside inside(*tally);
    co_await map.live<ConfigMap>().get(map.key());
    tally->done.insert(map.key());
    co_return Next::wait();
  }
};

Task<> create_some(client::Api<ConfigMap> maps, std::string ns, int from, int to) {
  for (int i = from; i < to; ++i) {
    ConfigMap map;
    map.metadata.name = "m" + std::to_string(i);
    map.metadata.namespace_ = ns;
    co_await maps.create(map);
  }
}

Task<> ask_for_all(std::shared_ptr<rt::Channel<Request>> channel, std::string ns) {
  for (int i = 0; i < kKeys; ++i) {
    const Key key(ns, "m" + std::to_string(i));
    co_await channel->send(Request(key));
  }
}

struct Case17 : Watching {
  FaultProxy proxy{http::parse_url(cluster().url())->port};
};

TEST_F(Case17, TheServerIsAwayWhileAThousandKeysFail) {
  std::vector<Task<>> writers;
  for (int i = 0; i < 20; ++i) writers.push_back(create_some(other.of<ConfigMap>(), ns, i * 50, (i + 1) * 50));
  loop.run(rt::all(std::move(writers)));

  auto config = admin_config();
  config.server = "https://127.0.0.1:" + std::to_string(proxy.port());
  ManagerOptions options;
  options.namespaces = {ns};
  Tally tally;
  const auto channel = std::make_shared<rt::Channel<Request>>(kKeys);
  Manager manager(client::make_transport(config), options);
  manager.add(controller<ConfigMap>().watches(channel).reconcile(AskTheServer{&tally}));
  rt::Scope scope;
  scope.spawn(manager.run());
  wait([&] { return tally.done.size() == kKeys; });

  tally = Tally();
  proxy.refuse();
  loop.run(ask_for_all(channel, ns));
  loop.run(rt::sleep(8s));  // the outage
  EXPECT_TRUE(tally.done.empty());
  const auto connections = proxy.accepted();

  proxy.accept_again();
  wait([&] { return tally.done.size() == kKeys; });
  EXPECT_LE(tally.most_at_once, ControllerOptions().workers);
  EXPECT_LE(proxy.accepted() - connections, 10U);  // no herd: the connections of calls and of the watch
  // Each key at most as often as its backoff allows until then: 5 ms, doubled each time.
  EXPECT_LE(tally.calls, kKeys * 16);
  manager.stop();
  loop.run(rt::timeout(1min, scope.join()));
}

}  // namespace
}  // namespace kopper::testing
