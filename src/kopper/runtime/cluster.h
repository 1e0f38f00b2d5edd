#pragma once

#include <memory>
#include <string>

#include "kopper/cache/cache.h"
#include "kopper/client/client.h"
#include "kopper/http/handler.h"
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
};

}  // namespace kopper::runtime
