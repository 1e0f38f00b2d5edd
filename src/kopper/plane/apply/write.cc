// The two writes: update and apply.

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "kopper/plane/apply/fields_of.h"
#include "kopper/plane/apply/managers.h"
#include "kopper/plane/apply/merge.h"

namespace kopper::plane {
namespace {

using Operation = ManagedEntry::Operation;

constexpr std::size_t kMaxUpdaters = 10;
constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

// What identifies an entry, as text: it also gives the order in which conflicts are told.
std::string identifier(const ManagedEntry& entry) {
  json::Object out{{"manager", entry.manager}, {"operation", entry.operation == Operation::Apply ? "Apply" : "Update"}};
  if (entry.operation == Operation::Update) out["apiVersion"] = entry.api_version;
  if (!entry.subresource.empty()) out["subresource"] = entry.subresource;
  return json::dump(out);
}

// The object below `name`, or null. Adds nothing, unlike operator[].
json::Object* object_in(json::Object* parent, std::string_view name) {
  json::Value* found = parent == nullptr ? nullptr : parent->find(name);
  return found == nullptr ? nullptr : found->as_object();
}

json::Value take_managed_fields(json::Value& object) {
  json::Object* members = object_in(object.as_object(), "metadata");
  json::Value* found = members == nullptr ? nullptr : members->find("managedFields");
  if (found == nullptr) return {};
  json::Value out = std::move(*found);
  members->erase("managedFields");
  return out;
}

void put_managed_fields(json::Value& object, const Managers& managers) {
  json::Value encoded = managers.encode();
  if (encoded.is_null()) {
    take_managed_fields(object);
  } else {
    object["metadata"]["managedFields"] = std::move(encoded);
  }
}

// How a request with managedFields asks to forget them.
bool is_reset(const json::Value& managed_fields) {
  const json::Array* entries = managed_fields.as_array();
  if (entries == nullptr || entries->size() > 1) return false;
  if (entries->empty()) return true;
  const json::Object* only = entries->front().as_object();
  return only != nullptr && std::ranges::all_of(*only, [](const auto& member) {
           return member.second.is_null() || (member.second.is_string() && member.second.as_string()->empty());
         });
}

Managers managers_of(const json::Value& object) {
  return Managers::decode(object["metadata"]["managedFields"]).value_or(Managers());
}

Managers managers_to_start_from(const json::Value& before, const json::Value& sent, const FieldWrite& write) {
  if (!write.subresource.empty()) return managers_of(before);
  if (is_reset(sent)) return {};
  auto own = Managers::decode(sent);
  return own && !own->empty() ? std::move(*own) : managers_of(before);
}

Changes narrowed_changes(const json::Value& before, const json::Value& after, const Schema& schema,
                         const FieldWrite& write) {
  Changes out = changes(before, after, schema);
  write.filter.narrow(out.removed);
  write.filter.narrow(out.modified);
  write.filter.narrow(out.added);
  return out;
}

// The same two objects in every version that some entry is written in.
class ByVersion {
 public:
  explicit ByVersion(const FieldWrite& write) : write_(write) {}

  // Null: not served any more.
  const Schema* schema(std::string_view version) const {
    if (is_own(version)) return &write_.schema;
    return write_.versions->schema(version);
  }
  json::Value convert(json::Value object, std::string_view version) const {
    if (write_.versions == nullptr || !write_.versions->convert || object.text("apiVersion") == version) return object;
    return write_.versions->convert(object, version);
  }
  bool is_own(std::string_view version) const {
    return write_.versions == nullptr || !write_.versions->schema || version == write_.api_version;
  }

 private:
  const FieldWrite& write_;
};

// Drops entries in versions that are gone, and joins what the schema has made atomic since.
void reconcile(Managers& managers, const ByVersion& versions) {
  std::erase_if(managers.entries(), [&](ManagedEntry& entry) {
    const Schema* schema = versions.schema(entry.api_version);
    if (schema == nullptr) return true;
    if (schema->builtin == nullptr) join_atomic(entry.fields, *schema);
    return false;
  });
}

struct Difference {
  FieldSet written;  // modified or added
  FieldSet removed;
};

// What happened between two objects, as seen in the version of each entry.
class Differences {
 public:
  Differences(const json::Value& before, const json::Value& after, const FieldWrite& write, const ByVersion& versions)
      : before_(before), after_(after), write_(write), versions_(versions), own_(make(before, after, write.schema)) {}

  const Difference& own() const { return own_; }
  const Difference& in(const std::string& version) {
    if (versions_.is_own(version)) return own_;
    const auto known = others_.find(version);
    if (known != others_.end()) return known->second;
    const json::Value before = before_.is_null() ? json::Value() : versions_.convert(before_, version);
    Difference made = make(before, versions_.convert(after_, version), *versions_.schema(version));
    return others_.emplace(version, std::move(made)).first->second;
  }

 private:
  Difference make(const json::Value& before, const json::Value& after, const Schema& schema) const {
    Changes all = narrowed_changes(before, after, schema, write_);
    return {.written = std::move(all.modified) | std::move(all.added), .removed = std::move(all.removed)};
  }

  const json::Value& before_;
  const json::Value& after_;
  const FieldWrite& write_;
  const ByVersion& versions_;
  Difference own_;
  std::map<std::string, Difference> others_;
};

ManagedEntry identity_of(const FieldWrite& write, Operation operation) {
  return {.manager = std::string(write.manager.empty() ? "unknown" : write.manager),
          .operation = operation,
          .api_version = std::string(write.api_version),
          .subresource = std::string(write.subresource)};
}

void drop_empty(Managers& managers) {
  std::erase_if(managers.entries(), [](const ManagedEntry& entry) { return entry.fields.empty(); });
}

// Joins the oldest updaters, by version, until no more than kMaxUpdaters are left.
void cap_updaters(Managers& managers) {
  std::vector<ManagedEntry>& entries = managers.entries();
  const auto is_updater = [](const ManagedEntry& e) { return e.operation == Operation::Update; };
  auto updaters = static_cast<std::size_t>(std::ranges::count_if(entries, is_updater));
  if (updaters <= kMaxUpdaters) return;
  const auto age = [](const ManagedEntry& e) {
    const std::int64_t seconds = e.time ? e.time.point().time_since_epoch().count() : 0;
    return std::tuple(e.operation == Operation::Apply, seconds, identifier(e));
  };
  std::ranges::sort(entries, {}, age);  // the oldest updater first; the order of entries is of no meaning here
  const std::vector<ManagedEntry> oldest(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(updaters));
  std::map<std::string, const ManagedEntry*> first_of;
  const auto erase = [&](const ManagedEntry& identity) {
    std::erase_if(entries, [&](const ManagedEntry& e) { return e.same_identity(identity); });
  };
  for (const ManagedEntry& old : oldest) {
    if (updaters <= kMaxUpdaters) break;
    const auto [first, is_first] = first_of.emplace(old.api_version, &old);
    if (is_first) continue;
    ManagedEntry bucket{.manager = "ancient-changes", .api_version = old.api_version};
    if (managers.find(bucket) == nullptr) {
      bucket.fields = first->second->fields;
      erase(*first->second);
      entries.push_back(bucket);
    }
    const ManagedEntry& joins = bucket.same_identity(old) ? *first->second : old;
    managers.find(bucket)->fields |= joins.fields;
    managers.find(bucket)->time = old.time;
    erase(joins);
    --updaters;
  }
}

// `before` → `after` by `self`; the object itself is final.
void record_update(Managers& managers, const json::Value& before, const json::Value& after, const FieldWrite& write) {
  const ByVersion versions(write);
  reconcile(managers, versions);
  Differences differences(before, after, write, versions);
  for (ManagedEntry& entry : managers.entries()) {
    const Difference& difference = differences.in(entry.api_version);
    entry.fields -= difference.written;
    entry.fields -= difference.removed;
  }
  drop_empty(managers);
  FieldSet written = differences.own().written;
  written -= untracked_fields();
  if (!written.empty()) {
    ManagedEntry self = identity_of(write, Operation::Update);
    ManagedEntry* there = managers.find(self);
    if (there == nullptr) there = &managers.entries().emplace_back(std::move(self));
    there->fields |= std::move(written);
    // A Scale is of another version than its object, and the time is lost between the two.
    there->time = write.subresource == "scale" ? api::Time() : write.now;
  }
  cap_updaters(managers);
}

// The same of an object that is created and has no managers: they are this one, of all that is in it.
void record_create(json::Value& object, const FieldWrite& write) {
  json::Object fields = written_by_create(object, write.schema, write.filter.reset, untracked_fields());
  if (fields.empty()) return;
  ManagedEntry self = identity_of(write, Operation::Update);
  self.time = write.now;
  json::Array entries;
  entries.push_back(self.encode(std::move(fields)));
  object["metadata"]["managedFields"] = std::move(entries);
}

// ---- apply ----------------------------------------------------------------------------------------------------------

// "apps/v1, Kind=Deployment", "/v1, Kind=Pod"
std::string kind_of(const json::Value& object) {
  const std::string_view version = object.text("apiVersion");
  return fmt::format("{}{}, Kind={}", version.contains('/') ? "" : "/", version, object.text("kind"));
}

// Takes from `merged` what the manager applied last time and does not any more, unless others own it.
json::Value prune(json::Value merged, const Managers& managers, const ManagedEntry& last, const FieldWrite& write,
                  const ByVersion& versions) {
  const Schema* schema = versions.schema(last.api_version);
  if (schema == nullptr) return merged;
  merged = versions.convert(std::move(merged), last.api_version);
  const FieldSet last_named = with_named(last.fields, *schema);
  json::Value pruned = without(merged, last_named, *schema);

  std::map<std::string_view, FieldSet> managed;
  for (const ManagedEntry& entry : managers.entries()) {
    const std::string_view version = versions.is_own(entry.api_version) ? write.api_version : entry.api_version;
    managed[version] |= entry.fields;
  }
  const auto add_back = [&](std::string_view version, const FieldSet& owned) {
    const Schema* own = versions.schema(version);
    if (own == nullptr) return;
    merged = versions.convert(std::move(merged), version);
    pruned = versions.convert(std::move(pruned), version);
    const FieldSet all = with_named(fields_of(merged, *own), *own);
    const FieldSet kept = with_named(fields_of(pruned, *own), *own) | with_named(owned, *own);
    pruned = without(merged, all - kept, *own);
  };
  const std::string_view last_version = versions.is_own(last.api_version) ? write.api_version : last.api_version;
  if (const auto same = managed.find(last_version); same != managed.end()) {
    add_back(last_version, same->second);
    managed.erase(same);
  }
  for (const auto& [version, owned] : managed) add_back(version, owned);

  // What is gone by now and was never this manager's comes back.
  merged = versions.convert(std::move(merged), last.api_version);
  pruned = versions.convert(std::move(pruned), last.api_version);
  const FieldSet gone =
      with_named(fields_of(merged, *schema), *schema) - with_named(fields_of(pruned, *schema), *schema);
  return versions.convert(without(std::move(merged), gone & last_named, *schema), write.api_version);
}

void check(const json::Value& config, const FieldWrite& write) {
  const bool other_kind = !write.kind.empty() && config.text("kind") != write.kind;
  if (other_kind || config.text("apiVersion") != write.api_version)
    throw bad_request(fmt::format("invalid object type: {}", kind_of(config)));
  if (config["metadata"]["managedFields"].is_array()) throw bad_request("metadata.managedFields must be nil");
  const std::string problems = check_config(config, write.schema);
  if (!problems.empty())
    throw failed(fmt::format("failed to create typed patch object ({}/{}; {}): {}",
                             config["metadata"].text("namespace"), config["metadata"].text("name"), kind_of(config),
                             problems));
}

// Fields that client-side apply set last and that nobody has changed since.
FieldSet untouched_since_client_side_apply(const json::Value& live, const FieldWrite& write) {
  const std::string_view text = live["metadata"]["annotations"].text(kLastApplied);
  if (text.empty()) return {};
  const auto config = json::parse(text);
  if (!config || config->text("apiVersion") != write.api_version) return {};
  if (!check_config(*config, write.schema).empty()) return {};
  const Changes since = changes(*config, live, write.schema);
  return fields_of(*config, write.schema) - since.modified - since.added - since.removed;
}

void refresh_last_applied(json::Value& object, json::Value config) {
  json::Object* annotations = object_in(object_in(object.as_object(), "metadata"), "annotations");
  json::Value* last = annotations == nullptr ? nullptr : annotations->find(kLastApplied);
  if (last == nullptr || !last->is_string() || last->as_string()->empty()) return;
  if (json::Object* own = object_in(object_in(config.as_object(), "metadata"), "annotations")) own->erase(kLastApplied);
  constexpr std::size_t kMaxAnnotations = std::size_t{256} << 10U;
  std::string text = json::dump(config) + "\n";
  std::size_t size = text.size();
  for (const auto& [name, value] : *annotations)
    size += name.size() + (&value == last || !value.is_string() ? 0 : value.as_string()->size());
  if (size > kMaxAnnotations) {
    annotations->erase(kLastApplied);
  } else {
    *last = std::move(text);
  }
}

Applied apply_once(const json::Value& live, const json::Value& config, const FieldWrite& write, bool force,
                   Managers managers) {
  const ByVersion versions(write);
  reconcile(managers, versions);
  auto merged = merge(live, config, write.schema);
  if (!merged) throw failed(fmt::format("failed to merge config: {}", merged.error()));

  ManagedEntry self = identity_of(write, Operation::Apply);
  self.fields = fields_of(config, write.schema);
  write.filter.narrow(self.fields);
  ManagedEntry last;
  if (ManagedEntry* there = managers.find(self)) {
    last = *there;
    self.time = there->time;
    *there = self;
  } else {
    managers.entries().push_back(self);
  }
  json::Value object = std::move(*merged);
  const bool same_version = versions.is_own(last.api_version);
  if (!last.fields.empty() && !(same_version && (last.fields - self.fields).empty()))
    object = prune(std::move(object), managers, last, write, versions);

  Applied out;
  Differences differences(live, object, write, versions);
  std::vector<std::pair<ManagedEntry*, FieldSet>> taken;
  for (ManagedEntry& entry : managers.entries()) {
    if (entry.same_identity(self)) continue;
    FieldSet both = entry.fields & differences.in(entry.api_version).written;
    if (!both.empty()) taken.emplace_back(&entry, std::move(both));
  }
  if (!force && !taken.empty()) {
    std::ranges::sort(taken, {}, [](const auto& pair) { return identifier(*pair.first); });
    for (const auto& [entry, fields] : taken) {
      ManagedEntry owner{.manager = entry->manager,
                         .operation = entry->operation,
                         .api_version = entry->api_version,
                         .subresource = entry->subresource,
                         .time = entry->time};
      fields.each([&](FieldPath path) {
        out.conflicts.push_back({.owner = owner, .path = std::vector(path.begin(), path.end())});
      });
    }
    return out;
  }
  for (auto& [entry, fields] : taken) entry->fields -= fields;
  for (ManagedEntry& entry : managers.entries()) {
    if (!entry.same_identity(self)) entry.fields -= differences.in(entry.api_version).removed;
  }
  ManagedEntry& own = *managers.find(self);
  own.fields -= untracked_fields();
  if (live.is_null() || object != live) own.time = write.now;
  drop_empty(managers);
  put_managed_fields(object, managers);
  out.object = std::move(object);
  return out;
}

}  // namespace

void update_managers(const json::Value& before, json::Value& after, const FieldWrite& write) {
  const json::Value sent = take_managed_fields(after);
  Managers managers = managers_to_start_from(before, sent, write);
  // An object that was there and has no managers is not tracked before its first apply.
  if (managers.empty() && !before["metadata"].text("uid").empty()) return;
  if (managers.empty() && before.is_null() && write.subresource.empty() && write.filter.only == nullptr)
    return record_create(after, write);
  record_update(managers, before, after, write);
  put_managed_fields(after, managers);
}

Applied apply_config(const json::Value& live, const json::Value& config, const FieldWrite& write, bool force) {
  auto decoded = Managers::decode(live["metadata"]["managedFields"]);
  if (!decoded) throw failed(fmt::format("failed to decode managed fields: {}", decoded.error().what));
  Managers managers = std::move(*decoded);
  check(config, write);
  if (managers.empty() && !live.is_null()) {
    FieldWrite first = write;
    first.manager = "before-first-apply";
    record_update(managers, json::Value(), live, first);
  }
  Applied out = apply_once(live, config, write, force, managers);
  // kubectl moves from client-side to server-side apply without a word.
  if (write.manager == "kubectl" && !out.conflicts.empty()) {
    const FieldSet allowed = untouched_since_client_side_apply(live, write);
    std::erase_if(out.conflicts, [&](const FieldConflict& conflict) { return allowed.contains(conflict.path); });
    if (out.conflicts.empty()) out = apply_once(live, config, write, true, std::move(managers));
  }
  if (write.manager == "kubectl" && out.conflicts.empty()) refresh_last_applied(out.object, config);
  return out;
}

}  // namespace kopper::plane
