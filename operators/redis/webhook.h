#pragma once

#include "kopper/runtime/webhook.h"

namespace redis {

// validate() before an object is stored. When nobody answers, the server stores it all the same: the operator looks at
// it again before it does anything.
void add_webhooks(kopper::runtime::Webhooks& to);

}  // namespace redis
