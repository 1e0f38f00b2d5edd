#pragma once

#include "kopper/kopper.h"

namespace redis {

// The controller of RedisClusters.
kopper::ControllerSpec redis();

}  // namespace redis
