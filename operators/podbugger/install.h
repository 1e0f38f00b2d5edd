#pragma once

#include <string>

#include "kopper/kopper.h"

namespace podbugger {

// Appends an ephemeral container to a pod, and to none that was made under its name since. Nothing happens when it has
// one of that name. Servers from 1.22 on show the pod itself at its subresource, older ones a list of their own: which
// one it is, the answer tells. What became of the pod is in the cache at once.
kopper::Task<> install(kopper::client::Client client, kopper::Pod pod,
                       kopper::api::corev1::EphemeralContainer container,
                       kopper::cache::Cache& cache);  // outlives: the manager has it

// What a person can do about a refusal.
std::string explain(const kopper::Error& error);

}  // namespace podbugger
