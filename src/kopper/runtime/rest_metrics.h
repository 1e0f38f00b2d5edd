#pragma once

#include <memory>
#include <string>

#include "kopper/http/handler.h"
#include "kopper/metrics/metrics.h"

namespace kopper::runtime {

// A transport that counts: rest_client_requests_total{code,method,host} ("<error>" when no answer came) and
// rest_client_request_duration_seconds{verb,host}, to the answer's headers. Each try of a call that is retried counts.
// `metrics` outlives it.
std::shared_ptr<http::Handler> counted(std::shared_ptr<http::Handler> inner, metrics::Registry& metrics,
                                       std::string host);

}  // namespace kopper::runtime
