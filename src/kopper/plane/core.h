#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>

#include "kopper/api/time.h"
#include "kopper/plane/admission.h"
#include "kopper/plane/call.h"
#include "kopper/plane/render.h"
#include "kopper/plane/resource.h"
#include "kopper/plane/state.h"
#include "kopper/rt/loop.h"

namespace kopper::plane {

// What the verbs share. One a server; all of it on one loop.
struct Core {
  Core(Storage* storage, StateOptions options) : state(storage, options) {}

  Catalog catalog;
  State state;
  Converter* converter = nullptr;  // never null once the server runs
  // The server's own admission, before any webhook is asked; may change `attempt.object`. `call` and `attempt` outlive
  // the task.
  std::function<Task<>(Call& call, Attempt& attempt)> admit;
  Admission* admission = nullptr;  // null: none
  // The last word on an object before it is validated: addresses of services and the like. `old`: null when it is
  // created.
  std::function<void(const Call& call, json::Value& object, const json::Value* old)> complete;
  rt::Duration too_large_wait = std::chrono::seconds(3);  // for a resourceVersion that is not there yet

  api::Time now() const { return api::Time(rt::Loop::current().wall_now()); }
  std::string new_uid();
  // Five characters that Kubernetes uses after generateName.
  std::string suffix();

 private:
  std::mt19937_64 random_{std::random_device{}()};
};

// The answer of a verb: JSON with the warnings of the call, formatted as asked for.
http::Response answer(const Call& call, int status, std::string json, const Output& output);
http::Response answer(const Call& call, int status, const json::Value& value);
http::Response refused(const Refusal& refusal, const Call* call);

// Which objects a list, a watch or a deletecollection is about.
class Selection {
 public:
  // Throws Refusal (400) for selectors that cannot be understood, or that name a field the kind does not have.
  Selection(const Call& call);

  bool matches(const Stored& object) const;
  const std::string& in() const { return namespace_; }

 private:
  struct Impl;
  ResourceRef resource_;
  std::string namespace_;
  std::shared_ptr<const Impl> impl_;
};

// One file a verb. `core` and `call` outlive the task.
Task<http::Response> get(Core& core, Call& call);
Task<http::Response> list(Core& core, Call& call);
Task<http::Response> watch(Core& core, Call& call);
Task<http::Response> create(Core& core, Call& call);
Task<http::Response> update(Core& core, Call& call);
Task<http::Response> patch(Core& core, Call& call);
Task<http::Response> remove(Core& core, Call& call);
Task<http::Response> remove_collection(Core& core, Call& call);

// The resourceVersion of an object as a number. Throws Refusal (500).
std::uint64_t parse_revision(std::string_view text);
// The parameter resourceVersion of a request; 0 when it is not given. Throws Refusal (500).
std::uint64_t asked_revision(const Call& call);

}  // namespace kopper::plane
