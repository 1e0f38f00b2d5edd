#pragma once

#include "kopper/http/message.h"
#include "kopper/plane/call.h"
#include "kopper/rt/task.h"

namespace kopper::plane {

// Who may do what. Both throw Refusal: 401 when nobody knows who it is, 403 when it may not.
class Gate {
 public:
  virtual ~Gate() = default;
  // `request` outlives the task.
  virtual Task<User> authenticate(const http::Request& request) = 0;
  virtual void authorize(const Call& call) = 0;
};

}  // namespace kopper::plane
