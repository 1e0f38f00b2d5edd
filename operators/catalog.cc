#include "operators/catalog.h"

#include "operators/memcached/types.h"
#include "operators/podbugger/types.h"
#include "operators/podset/types.h"
#include "operators/redis/redis.h"
#include "operators/redis/webhook.h"

namespace kopper::embedded {
std::string_view memcached_sample();
std::string_view podbugger_sample();
std::string_view podset_sample();
std::string_view redis_sample();
}  // namespace kopper::embedded

namespace operators {

std::vector<Entry> catalog() {
  namespace samples = kopper::embedded;
  std::vector<Entry> all;
  all.push_back({"memcached", memcached::memcached(), samples::memcached_sample()});
  all.push_back({"podbuggertool", podbugger::podbugger(), samples::podbugger_sample()});
  all.push_back({"podset", podset::podset(), samples::podset_sample()});
  all.push_back({"rediscluster", redis::redis(), samples::redis_sample(), redis::add_webhooks});
  return all;
}

}  // namespace operators
