#include "kopper/plane/state.h"

#include <algorithm>
#include <charconv>

#include "kopper/base/error.h"

namespace kopper::plane {
namespace {

StoredRef make_stored(const json::Value& object, std::uint64_t revision, std::string text) {
  auto out = std::make_shared<Stored>();
  const json::Value& metadata = object["metadata"];
  out->namespace_ = metadata.text("namespace");
  out->name = metadata.text("name");
  out->uid = metadata.text("uid");
  out->revision = revision;
  out->deleting = !metadata.text("deletionTimestamp").empty();
  if (const json::Object* labels = metadata["labels"].as_object())
    for (const auto& [key, value] : *labels)
      if (const std::string* word = value.as_string()) out->labels.emplace_back(key, *word);
  if (const json::Array* owners = metadata["ownerReferences"].as_array())
    for (const json::Value& owner : *owners) out->owners.emplace_back(owner.text("uid"));
  out->json = std::move(text);
  out->json.shrink_to_fit();
  return out;
}

}  // namespace

json::Value Stored::value() const {
  auto parsed = json::parse(json);
  if (!parsed) throw_error(parsed.error(), "stored object " + namespace_ + "/" + name);
  return std::move(*parsed);
}

StoredRef Table::find(std::string_view ns, std::string_view name) const {
  const auto at = objects_.find(Place(ns, name));
  return at == objects_.end() ? nullptr : at->second;
}

std::deque<Change>::const_iterator Table::changes_after(std::uint64_t revision) const {
  return std::ranges::upper_bound(history_, revision, {}, &Change::revision);
}

void Table::remember(Change change) {
  // What is also in the table costs nothing here.
  const auto cost = [](const Change& c) {
    return (c.before ? c.before->json.size() : 0) + (c.last ? c.last->json.size() : 0);
  };
  history_bytes_ += cost(change);
  history_.push_back(std::move(change));
  const StateOptions& limits = state_.options();
  while (history_.size() > limits.history || (history_bytes_ > limits.history_bytes && history_.size() > 1)) {
    history_bytes_ -= cost(history_.front());
    forgotten_ = history_.front().revision;
    history_.pop_front();
  }
}

void Table::forget() {
  history_.clear();
  history_bytes_ = 0;
  forgotten_ = state_.revision();
  changed_.wake_all();
}

State::State(Storage* storage, StateOptions options) : storage_(storage), options_(options) {}

Task<> State::load() {
  if (storage_ == nullptr) co_return;
  const Storage::Loaded loaded = co_await storage_->load();
  revision_ = loaded.revision;
  loaded_ = revision_;
  for (const Write& one : loaded.objects) {
    const auto value = json::parse(*one.json);
    if (!value) throw_error(value.error(), "stored object " + one.table + " " + one.namespace_ + "/" + one.name);
    Table& in = table(one.table);
    const StoredRef object = make_stored(*value, one.revision, *one.json);
    in.objects_[Table::Place(object->namespace_, object->name)] = object;
    in.bytes_ += object->json.size();
    index(in, nullptr, object);
  }
}

Table& State::table(const std::string& name) {
  auto& slot = tables_[name];
  if (!slot) {
    slot = std::make_unique<Table>(*this, name);
    slot->forgotten_ = loaded_;
  }
  return *slot;
}

Table* State::find_table(std::string_view name) {
  const auto at = tables_.find(name);
  return at == tables_.end() ? nullptr : at->second.get();
}

StoredRef State::put(Table& table, json::Value& object) {
  const std::uint64_t revision = ++revision_;
  object["metadata"]["resourceVersion"] = std::to_string(revision);
  const StoredRef after = make_stored(object, revision, json::dump(object));
  StoredRef& slot = table.objects_[Table::Place(after->namespace_, after->name)];
  StoredRef before = std::exchange(slot, after);
  table.bytes_ += after->json.size();
  if (before) table.bytes_ -= before->json.size();
  index(table, before, after);
  if (storage_ != nullptr) {
    Write change{.revision = revision,
                 .table = table.name(),
                 .namespace_ = after->namespace_,
                 .name = after->name,
                 .json = after->json};
    storage_->write(std::move(change));
  }
  publish(table, {.revision = revision, .before = std::move(before), .after = after, .last = nullptr});
  return after;
}

StoredRef State::erase(Table& table, std::string_view ns, std::string_view name) {
  const auto at = table.objects_.find(Table::Place(ns, name));
  if (at == table.objects_.end()) return nullptr;
  const StoredRef before = std::move(at->second);
  table.objects_.erase(at);
  const std::uint64_t revision = ++revision_;
  const StoredRef last = at_revision(before, revision);
  table.bytes_ -= before->json.size();
  index(table, before, nullptr);
  if (storage_ != nullptr) {
    Write change{.revision = revision,
                 .table = table.name(),
                 .namespace_ = before->namespace_,
                 .name = before->name,
                 .json = std::nullopt};
    storage_->write(std::move(change));
  }
  publish(table, {.revision = revision, .before = before, .after = nullptr, .last = last});
  return last;
}

StoredRef State::at_revision(const StoredRef& object, std::uint64_t revision) {
  json::Value value = object->value();
  value["metadata"]["resourceVersion"] = std::to_string(revision);
  return make_stored(value, revision, json::dump(value));
}

Task<> State::durable(std::uint64_t revision) {
  if (storage_ != nullptr) co_await storage_->durable(revision);
}

void State::index(Table& table, const StoredRef& before, const StoredRef& after) {
  if (before) {
    const Table::Place place(before->namespace_, before->name);
    if (!after || after->uid != before->uid) uids_.erase(before->uid);
    for (const std::string& owner : before->owners) {
      const auto of = owned_.find(owner);
      if (of == owned_.end()) continue;
      of->second.erase({&table, place});
      if (of->second.empty()) owned_.erase(of);
    }
  }
  if (!after) return;
  uids_[after->uid] = {&table, after};
  for (const std::string& owner : after->owners) owned_[owner].insert({&table, {after->namespace_, after->name}});
}

void State::publish(Table& table, Change change) {
  for (const auto& listener : listeners_) listener(table, change);
  table.remember(std::move(change));
  table.changed_.wake_all();
}

std::pair<Table*, StoredRef> State::find_uid(const std::string& uid) const {
  const auto at = uids_.find(uid);
  return at == uids_.end() ? std::pair<Table*, StoredRef>() : at->second;
}

std::vector<std::pair<Table*, StoredRef>> State::owned_by(const std::string& uid) const {
  std::vector<std::pair<Table*, StoredRef>> out;
  const auto of = owned_.find(uid);
  if (of == owned_.end()) return out;
  for (const auto& [table, place] : of->second)
    if (StoredRef object = table->find(place.first, place.second)) out.emplace_back(table, std::move(object));
  return out;
}

}  // namespace kopper::plane
