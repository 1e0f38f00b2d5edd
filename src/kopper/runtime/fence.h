#pragma once

#include <functional>
#include <memory>

#include "kopper/http/handler.h"

namespace kopper::runtime {

// Lets reads through, and writes only while `may_write()` says so; else they fail with Error{Unavailable}, at once. A
// process that was stopped for longer than its lease finds its writes refused when it goes on.
std::shared_ptr<http::Handler> fence(std::shared_ptr<http::Handler> behind, std::function<bool()> may_write);

}  // namespace kopper::runtime
