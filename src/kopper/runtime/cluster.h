#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kopper/cache/cache.h"
#include "kopper/client/client.h"
#include "kopper/http/handler.h"
#include "kopper/metrics/metrics.h"
#include "kopper/runtime/events.h"
#include "kopper/runtime/tracing.h"

namespace kopper::runtime {

// An API server as controllers use it: read from the cache, write through the client, tell people by events.
struct Cluster {
  std::string name;  // "" for the one that the program was started for
  std::shared_ptr<http::Handler> transport;
  client::Client client;
  Tracer& tracer;
  cache::Cache cache;
  EventRecorder events;
  metrics::Registry& metrics;  // what reconcile functions count goes here, and is served with the rest
  // Whether this process may change things now: false once its lease ran out. What goes through the client is refused
  // by itself then; who talks to other servers asks.
  std::function<bool()> may_write;
};

}  // namespace kopper::runtime
