#pragma once

#include "kopper/plane/builtin/check.h"

// The rules of the kinds that are about traffic. `old` is null on create.
namespace kopper::plane::builtin {

void check_service(Check& check, const Value& object, const Value* old);
void check_endpoints(Check& check, const Value& object, const Value* old);
void check_endpoint_slice(Check& check, const Value& object, const Value* old);
void check_ingress_class(Check& check, const Value& object, const Value* old);
void check_ingress(Check& check, const Value& object, const Value* old);
void check_network_policy(Check& check, const Value& object, const Value* old);

}  // namespace kopper::plane::builtin
