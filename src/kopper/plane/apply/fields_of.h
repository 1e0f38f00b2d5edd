#pragma once

#include "kopper/json/value.h"
#include "kopper/plane/apply/field_set.h"
#include "kopper/plane/schema.h"

namespace kopper::plane {

// The fields that a value mentions: leaves (scalars, atomic objects and lists, empty objects, nulls), and with them the
// items of sets and map lists and the members of maps, which are owned apart from what is in them.
FieldSet fields_of(const json::Value& value, const Schema& schema);

// What a write did, field by field. No field is in two of them.
struct Changes {
  FieldSet removed;
  FieldSet modified;
  FieldSet added;

  bool empty() const { return removed.empty() && modified.empty() && added.empty(); }
};
// `before` is null of an object that is being created.
Changes changes(const json::Value& before, const json::Value& after, const Schema& schema);

// FieldsV1 of what `changes` says of an object that is created, without `reset` and all below it (null: nothing), and
// without `untracked`.
json::Object written_by_create(const json::Value& object, const Schema& schema, const FieldSet* reset,
                               const FieldSet& untracked);

// With every named member on the way to a field as a member of the set: who has .spec.replicas has .spec.
FieldSet with_named(FieldSet fields, const Schema& schema);

// A set that was made when parts of the schema were not atomic yet: what is inside such a part becomes the part.
void join_atomic(FieldSet& fields, const Schema& schema);

}  // namespace kopper::plane
