#pragma once

#include <optional>
#include <string>
#include <string_view>

// The messages of gRPC's health service, grpc.health.v1.Health/Check. Pure.
namespace kopper::workloads {

// The body of a request about a service of the server; "": the server itself.
std::string health_request(std::string_view service);

// The status in the body of an answer: 1 is SERVING. Nothing when it is no such message.
std::optional<int> health_status(std::string_view body);

// "NOT_SERVING"
std::string health_status_name(int status);

}  // namespace kopper::workloads
