#pragma once

#include <string>
#include <string_view>

#include "kopper/json/value.h"
#include "kopper/plane/call.h"
#include "kopper/rt/task.h"

namespace kopper::plane {

// What is about to happen to an object.
struct Attempt {
  enum class Operation : std::uint8_t { Create, Update, Delete, Connect };
  struct Kind {
    std::string_view group;
    std::string_view version;
    std::string_view kind;  // "": the resource's own
  };

  Operation operation = Operation::Create;
  ResourceRef resource;
  std::string namespace_;
  std::string name;
  std::string subresource;
  Kind kind = {};       // of what a subresource takes, when that is no object of the resource: an Eviction, a Scale
  json::Value object;   // null when it is deleted
  json::Value old;      // null when it is created
  json::Value options;  // CreateOptions, UpdateOptions, PatchOptions or DeleteOptions
  bool dry_run = false;
};

std::string_view to_string(Attempt::Operation operation);

// Asks others what they think of it: webhooks.
class Admission {
 public:
  virtual ~Admission() = default;
  // May change `attempt.object`; throws Refusal. Both outlive the task.
  virtual Task<> mutate(Call& call, Attempt& attempt) = 0;
  virtual Task<> validate(Call& call, const Attempt& attempt) = 0;
};

}  // namespace kopper::plane
