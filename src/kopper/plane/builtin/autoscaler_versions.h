#pragma once

#include "kopper/json/value.h"

// HorizontalPodAutoscalers are kept as autoscaling/v2. The first version knows one metric, the use of CPU; what else
// there is, it carries in annotations, so that nothing is lost on the way there and back.
namespace kopper::plane::builtin {

json::Value autoscaler_to_v1(const json::Value& v2);
json::Value autoscaler_to_v2(const json::Value& v1);

}  // namespace kopper::plane::builtin
