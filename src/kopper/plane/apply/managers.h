#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/time.h"
#include "kopper/base/error.h"
#include "kopper/json/value.h"
#include "kopper/plane/apply/field_set.h"
#include "kopper/plane/apply/reset_fields.h"
#include "kopper/plane/schema.h"
#include "kopper/plane/status.h"

// Who owns which field of an object: metadata.managedFields, and the two writes that change it. All pure: an object in,
// an object out, the time passed in.
namespace kopper::plane {

// One entry of managedFields. Its identity is all but time and fields; of an Apply the apiVersion is no part of it.
struct ManagedEntry {
  enum class Operation : std::uint8_t { Apply, Update };

  std::string manager;
  Operation operation = Operation::Update;
  std::string api_version;
  std::string subresource;
  api::Time time;  // may be unset
  FieldSet fields;

  bool same_identity(const ManagedEntry& other) const;
  // As it stands in managedFields, with these fields in place of its own.
  json::Value encode(json::Value fields_v1) const;
  // How a conflict names it: `"kubectl" using apps/v1`, `"helm" with subresource "status"`.
  std::string str() const;
};

class Managers {
 public:
  Managers() = default;
  // Of the array in metadata.managedFields; null gives none.
  static std::expected<Managers, DecodeError> decode(const json::Value& managed_fields);
  // The array, in the server's order; null when there are no entries.
  json::Value encode() const;

  bool empty() const { return entries_.empty(); }
  const std::vector<ManagedEntry>& entries() const { return entries_; }
  std::vector<ManagedEntry>& entries() { return entries_; }
  ManagedEntry* find(const ManagedEntry& identity);

 private:
  std::vector<ManagedEntry> entries_;
};

// Other versions of the same resource, in which entries may have been written. Without one, all versions are alike: so
// it is with the built-in kinds.
struct VersionLookup {
  // Null: no longer served; entries in it are dropped.
  std::function<const Schema*(std::string_view api_version)> schema;
  std::function<json::Value(const json::Value& object, std::string_view api_version)> convert;
};

// A write as the request says it.
struct FieldWrite {
  const Schema& schema;          // of the object in api_version
  std::string_view manager;      // "": "unknown"
  std::string_view api_version;  // of the request, "apps/v1"
  std::string_view kind = {};    // of the object; "": not checked
  std::string_view subresource = {};
  api::Time now = {};
  FieldFilter filter = {};  // what this endpoint writes (reset_fields.h)
  const VersionLookup* versions = nullptr;
};

// Create, update and the patches that are no apply: sets metadata.managedFields of `after`. Who writes owns what has
// changed since `before`; what is gone is nobody's. `before` is null of a create. To be called when `after` has its
// defaults, and before admission and whatever the server itself sets: that belongs to nobody.
// An `after` with managedFields [] or [{}] clears them; other managedFields are taken as they are when they can be
// read.
void update_managers(const json::Value& before, json::Value& after, const FieldWrite& write);

struct FieldConflict {
  ManagedEntry owner;  // without its fields
  std::vector<PathElement> path;

  std::string field() const { return to_string(path); }  // ".spec.replicas"
};

struct Applied {
  json::Value object;                    // with managedFields; defaults are still to be set
  std::vector<FieldConflict> conflicts;  // not empty: the object is null
};

// Server-side apply of `config` on `live`, which is null when the object does not exist yet. Throws Refusal for a
// config that does not fit the schema or that carries managedFields.
Applied apply_config(const json::Value& live, const json::Value& config, const FieldWrite& write, bool force);

// 409: `Apply failed with 1 conflict: conflict with "kubectl" using apps/v1: .spec.replicas`.
Refusal apply_conflict(const std::vector<FieldConflict>& conflicts);

// True when `after` differs from `before` by nothing but the times in managedFields, which are then put back: such a
// write does not happen. To be called last, when `after` has its defaults again.
bool keep_times(const json::Value& before, json::Value& after);

// What nobody ever owns: apiVersion, kind, metadata.name …
const FieldSet& untracked_fields();

}  // namespace kopper::plane
