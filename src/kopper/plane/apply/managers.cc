#include "kopper/plane/apply/managers.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace kopper::plane {
namespace {

using Operation = ManagedEntry::Operation;

std::string_view to_string(Operation operation) { return operation == Operation::Apply ? "Apply" : "Update"; }

std::unexpected<DecodeError> wrong(std::string what, std::size_t index) {
  return std::unexpected(
      DecodeError{.what = std::move(what), .path = fmt::format("metadata.managedFields[{}]", index)});
}

std::expected<ManagedEntry, DecodeError> decode_entry(const json::Value& value, std::size_t index) {
  ManagedEntry out{.manager = std::string(value.text("manager")),
                   .api_version = std::string(value.text("apiVersion")),
                   .subresource = std::string(value.text("subresource"))};
  const std::string_view operation = value.text("operation");
  if (operation != "Apply" && operation != "Update") return wrong("operation must be `Apply` or `Update`", index);
  if (operation == "Apply") out.operation = Operation::Apply;
  if (out.api_version.empty()) return wrong("apiVersion must not be empty", index);
  const std::string_view type = value.text("fieldsType");
  if (type.empty()) return wrong(fmt::format("missing fieldsType in managed fields entry {}", index), index);
  if (type != "FieldsV1")
    return wrong(fmt::format("invalid fieldsType \"{}\" in managed fields entry {}", type, index), index);
  if (const std::string* text = value["time"].as_string()) {
    const auto time = api::Time::parse(*text);
    if (!time) return wrong(time.error().what, index);
    out.time = *time;
  }
  auto fields = FieldSet::decode(value["fieldsV1"]);
  if (!fields) return wrong(fields.error().str(), index);
  out.fields = std::move(*fields);
  return out;
}

bool same_but_for_time(const json::Value& a, const json::Value& b) {
  const json::Object* one = a.as_object();
  const json::Object* other = b.as_object();
  if (one == nullptr || other == nullptr) return false;
  const auto in = [](const json::Object& object) {
    return [&object](const json::Object::Member& member) {
      if (member.first == "time") return true;
      const json::Value* there = object.find(member.first);
      return there != nullptr && *there == member.second;
    };
  };
  const auto known = [](const json::Object& object) { return object.size() - (object.contains("time") ? 1 : 0); };
  return known(*one) == known(*other) && std::ranges::all_of(*one, in(*other));
}

std::int64_t seconds(const ManagedEntry& entry) {
  return entry.time ? entry.time.point().time_since_epoch().count() : 0;
}

}  // namespace

bool ManagedEntry::same_identity(const ManagedEntry& other) const {
  return operation == other.operation && manager == other.manager && subresource == other.subresource &&
         (operation == Operation::Apply || api_version == other.api_version);
}

json::Value ManagedEntry::encode(json::Value fields_v1) const {
  std::vector<json::Object::Member> out;
  out.reserve(7);
  out.emplace_back("manager", manager);
  out.emplace_back("operation", to_string(operation));
  out.emplace_back("apiVersion", api_version);
  if (time) out.emplace_back("time", time.str());
  out.emplace_back("fieldsType", "FieldsV1");
  out.emplace_back("fieldsV1", std::move(fields_v1));
  if (!subresource.empty()) out.emplace_back("subresource", subresource);
  return json::Object(std::move(out));
}

std::string ManagedEntry::str() const {
  std::string out = json::dump(manager);
  if (!subresource.empty()) out += fmt::format(" with subresource {}", json::dump(subresource));
  if (operation == Operation::Update) out += fmt::format(" using {}", api_version);
  return out;
}

std::expected<Managers, DecodeError> Managers::decode(const json::Value& managed_fields) {
  Managers out;
  if (managed_fields.is_null()) return out;
  const json::Array* entries = managed_fields.as_array();
  if (entries == nullptr)
    return std::unexpected(DecodeError{.what = "expected an array", .path = "metadata.managedFields"});
  out.entries_.reserve(entries->size() + 1);
  for (std::size_t i = 0; i < entries->size(); ++i) {
    auto entry = decode_entry((*entries)[i], i);
    if (!entry) return std::unexpected(std::move(entry).error());
    if (ManagedEntry* there = out.find(*entry)) {
      *there = std::move(*entry);  // the last of several wins
    } else {
      out.entries_.push_back(std::move(*entry));
    }
  }
  return out;
}

json::Value Managers::encode() const {
  if (entries_.empty()) return {};
  std::vector<const ManagedEntry*> order;
  order.reserve(entries_.size());
  for (const ManagedEntry& entry : entries_) order.push_back(&entry);
  std::ranges::sort(order, {}, [](const ManagedEntry* e) {
    return std::tuple(e->operation, seconds(*e), std::string_view(e->manager), std::string_view(e->api_version),
                      std::string_view(e->subresource));
  });
  json::Array out;
  out.reserve(order.size());
  for (const ManagedEntry* entry : order) out.push_back(entry->encode(entry->fields.encode()));
  return out;
}

ManagedEntry* Managers::find(const ManagedEntry& identity) {
  const auto at = std::ranges::find_if(entries_, [&](const ManagedEntry& e) { return e.same_identity(identity); });
  return at == entries_.end() ? nullptr : &*at;
}

const FieldSet& untracked_fields() {
  static const FieldSet kFields = FieldSet::of({{"apiVersion"},
                                                {"kind"},
                                                {"metadata"},
                                                {"metadata", "name"},
                                                {"metadata", "namespace"},
                                                {"metadata", "creationTimestamp"},
                                                {"metadata", "selfLink"},
                                                {"metadata", "uid"},
                                                {"metadata", "clusterName"},
                                                {"metadata", "generation"},
                                                {"metadata", "managedFields"},
                                                {"metadata", "resourceVersion"}});
  return kFields;
}

Refusal apply_conflict(const std::vector<FieldConflict>& conflicts) {
  std::string message;
  if (conflicts.size() == 1) {
    message = fmt::format("Apply failed with 1 conflict: conflict with {}: {}", conflicts.front().owner.str(),
                          conflicts.front().field());
  } else {
    message = fmt::format("Apply failed with {} conflicts: ", conflicts.size());
    const ManagedEntry* last = nullptr;
    for (const FieldConflict& conflict : conflicts) {
      if (last == nullptr || !last->same_identity(conflict.owner))
        message += fmt::format("{}conflicts with {}:", last == nullptr ? "" : "\n", conflict.owner.str());
      message += fmt::format("\n- {}", conflict.field());
      last = &conflict.owner;
    }
  }
  Refusal out(409, "Conflict", std::move(message));
  json::Array causes;
  for (const FieldConflict& conflict : conflicts)
    causes.emplace_back(json::Object{{"reason", "FieldManagerConflict"},
                                     {"message", fmt::format("conflict with {}", conflict.owner.str())},
                                     {"field", conflict.field()}});
  out.details["causes"] = std::move(causes);
  return out;
}

bool keep_times(const json::Value& before, json::Value& after) {
  const json::Array* old = before["metadata"]["managedFields"].as_array();
  json::Object* root = after.as_object();
  json::Value* metadata = root == nullptr ? nullptr : root->find("metadata");
  json::Object* members = metadata == nullptr ? nullptr : metadata->as_object();
  json::Value* fields = members == nullptr ? nullptr : members->find("managedFields");
  json::Array* now = fields == nullptr ? nullptr : fields->as_array();
  if (old == nullptr || now == nullptr) return before == after;
  if (!std::ranges::equal(*old, *now, same_but_for_time)) return false;
  json::Array entries = std::exchange(*now, *old);
  if (before == after) return true;
  *now = std::move(entries);
  return false;
}

}  // namespace kopper::plane
