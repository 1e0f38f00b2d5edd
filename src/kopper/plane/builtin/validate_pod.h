#pragma once

#include "kopper/plane/builtin/check.h"

namespace kopper::plane::builtin {

// The spec of a pod or of a template. `more_volumes` are there beside its own: the claims of a StatefulSet.
void check_pod_spec(Check& check, const Path& path, const Value& spec, const Value& more_volumes = Value());
// A template: labels, annotations and spec.
void check_pod_template(Check& check, const Path& path, const Value& pod_template, const Value& more_volumes = Value());
void check_pod_update(Check& check, const Value& pod, const Value& old);
// They are only ever added, and by their own path.
void check_ephemeral_containers(Check& check, const Value& pod, const Value& old);
// Requests and limits: of containers, and of nothing else.
void check_claim_spec(Check& check, const Path& path, const Value& spec);
// Non-negative, and whole when the resource is counted.
void check_amount(Check& check, const Path& path, std::string_view resource, const Value& amount);
void check_resource_name(Check& check, const Path& path, std::string_view name);

}  // namespace kopper::plane::builtin
