#pragma once

#include <memory>
#include <string>

#include "kopper/http/handler.h"
#include "kopper/json/value.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/task.h"

#include "conformance/cases.h"

namespace kopper::conformance {

// A server to ask. Who asks is told by the token, so the handler has no credentials of its own.
struct Target {
  std::shared_ptr<http::Handler> handler;
  std::string admin_token;                           // of user token-admin, group system:masters
  std::string nobody_token;                          // of user nobody
  rt::Duration patience = std::chrono::seconds(10);  // with answers and events that do not come
};

// What a server answered to the steps of a scenario, as it came.
struct Transcript {
  std::string space;    // what $ns stood for
  json::Array answers;  // {"step", "status", "headers", "body" | "text" | "events"} each
};

// Asks one step after the other, in a namespace made for it. A step that gets no answer at all is answered with status
// 0 and the error as text. Throws Error when the namespace cannot be made.
Task<Transcript> run(Target target, Scenario scenario);

}  // namespace kopper::conformance
