#pragma once

#include <functional>
#include <string>

#include "kopper/json/value.h"
#include "kopper/plane/core.h"

// How an object gets into its table: the one path that creates, updates, patches, and the server's own controllers
// take.
namespace kopper::plane {

struct Saved {
  StoredRef stored;   // null on a dry run, and when the update ended a deletion: `value` is then what it was
  json::Value value;  // in the version of the request
  bool created = false;
};

// Makes an object: names it, fills in defaults, asks admission, validates, stores. `object` is decoded already.
// `tracked`: managedFields follow from it; false: it has them (apply).
Task<Saved> save_new(Core& core, Call& call, json::Value object, bool tracked = true);

// How a present object is to change: gets it in the version of the request (null: there is none, make one), returns
// what it should be. Called again when somebody else was faster.
using Edit = std::function<json::Value(const json::Value* current)>;

// How admission sees an object of which a subresource shows a part: as a Scale.
struct Face {
  Attempt::Kind kind;
  std::function<json::Value(const json::Value& object)> show;
  // What admission made of the part, back in the object.
  std::function<void(json::Value& object, const json::Value& shown)> take;
};

struct SaveOptions {
  bool create = false;         // when there is none
  bool tracked = true;         // managedFields follow from the change; false: `edit` has set them (apply)
  std::string subresource;     // "status": only the status changes; "scale" and others for who keeps track
  const Face* face = nullptr;  // outlives the task
};
Task<Saved> save(Core& core, Call& call, Edit edit, SaveOptions options);

// The same for the server's own purposes: no admission, no tracking, no validation. Null when there is no such object
// any more: before, or because the edit took away the last thing that its deletion waited for.
StoredRef save_raw(Core& core, Table& table, const StoredRef& current, const std::function<void(json::Value&)>& edit);

// Whether an object that is being deleted waits for nothing any more: no finalizer, no grace.
bool deletion_is_due(const Table& table, const json::Value& object);

}  // namespace kopper::plane
