#pragma once

#include <string_view>

#include "kopper/json/value.h"

// What a kind does to an object between admission and validation, beside defaults: who owns which part of it.
namespace kopper::plane::builtin {

struct KindName {
  std::string_view group;
  std::string_view version;
  std::string_view kind;
};

// Whether its objects carry metadata.generation.
bool has_generation(KindName kind);
// Whether `status` is written through its own path only.
bool has_status(KindName kind);

// What the built-in admission of a server with its usual plugins adds to a new object: a pod's tolerations and
// priority, the protection finalizers of volumes and claims, the taint of a node that is not ready.
void admit_create(KindName kind, json::Value& object);

// A new object that carries its name, namespace, uid and creationTimestamp already: no status but what the server
// itself sets (a pod's phase and qosClass …), generation 1, a namespace's finalizer, a job's generated selector.
void prepare_create(KindName kind, json::Value& object);
// An update of everything but the status: `object` gets the status, the system metadata (uid, creationTimestamp,
// deletionTimestamp …) of `old`, and a generation that moves when the spec did.
void prepare_update(KindName kind, json::Value& object, const json::Value& old);
// An update of the status: everything but it comes from `old`; metadata may change as far as the kind allows.
void prepare_status_update(KindName kind, json::Value& object, const json::Value& old);

// "Guaranteed", "Burstable" or "BestEffort".
std::string_view qos_class(const json::Value& pod);

}  // namespace kopper::plane::builtin
