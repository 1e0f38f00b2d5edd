#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kopper/json/value.h"
#include "kopper/plane/storage.h"
#include "kopper/rt/task.h"
#include "kopper/rt/wait_list.h"

// What the server knows: all objects, the order in which they changed, and who waits for changes.
namespace kopper::plane {

// An object as it is stored: immutable, shared by the table, the history and the answers under way.
struct Stored {
  std::string namespace_;
  std::string name;
  std::uint64_t revision = 0;  // its resourceVersion
  std::string uid;
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::string> owners;  // uids
  bool deleting = false;            // has a deletionTimestamp
  std::string json;                 // the whole object, resourceVersion and managedFields included

  json::Value value() const;
};
using StoredRef = std::shared_ptr<const Stored>;

struct Change {
  std::uint64_t revision = 0;
  StoredRef before;  // null: created
  StoredRef after;   // null: deleted; `last` then is the object as it was, with the revision of its end
  StoredRef last;

  const StoredRef& object() const { return after ? after : last; }
};

class State;

// All objects of one kind, whatever their version, in order of namespace and name; and its newest changes.
class Table {
 public:
  using Place = std::pair<std::string, std::string>;  // namespace, name

  Table(State& state, std::string name) : state_(state), name_(std::move(name)) {}
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  const std::string& name() const { return name_; }
  StoredRef find(std::string_view namespace_, std::string_view name) const;
  const std::map<Place, StoredRef, std::less<>>& objects() const { return objects_; }
  std::size_t bytes() const { return bytes_; }

  // The objects as they were at `revision`, from `after` on in order; nothing when that is forgotten.
  // `visit` returns false to stop.
  template <class Visit>
  bool at_revision(std::uint64_t revision, const Place& after, const std::string& namespace_, Visit visit) const;

  // Changes after this revision are all remembered.
  std::uint64_t forgotten() const { return forgotten_; }
  // The first remembered change after `revision`, or the end.
  std::deque<Change>::const_iterator changes_after(std::uint64_t revision) const;
  std::deque<Change>::const_iterator changes_end() const { return history_.end(); }
  // Woken at each change.
  rt::WaitList& changed() { return changed_; }
  // Drops the history, as compaction would.
  void forget();

 private:
  friend class State;
  void remember(Change change);

  State& state_;
  const std::string name_;
  std::map<Place, StoredRef, std::less<>> objects_;
  std::size_t bytes_ = 0;
  std::deque<Change> history_;
  std::size_t history_bytes_ = 0;
  std::uint64_t forgotten_ = 0;
  rt::WaitList changed_;
};

struct StateOptions {
  std::size_t history = 10'000;                       // changes remembered, a table
  std::size_t history_bytes = std::size_t{8} << 20U;  // and the bytes of what they replaced or deleted
};

class State {
 public:
  // `storage`, if any, outlives this.
  explicit State(Storage* storage = nullptr, StateOptions options = StateOptions());

  // Reads what the storage has.
  Task<> load();

  Table& table(const std::string& name);
  Table* find_table(std::string_view name);
  const std::map<std::string, std::unique_ptr<Table>, std::less<>>& tables() const { return tables_; }
  std::uint64_t revision() const { return revision_; }

  // Stores `object` under its metadata's namespace and name, as the next revision, which it is given. The caller has
  // made sure that it replaces what it should.
  StoredRef put(Table& table, json::Value& object);
  StoredRef put(Table& table, json::Value&& object) { return put(table, object); }
  // Null when it is not there.
  StoredRef erase(Table& table, std::string_view namespace_, std::string_view name);
  // Nothing may leave the server before what it shows is durable.
  Task<> durable(std::uint64_t revision);
  // The same object with another resourceVersion.
  static StoredRef at_revision(const StoredRef& object, std::uint64_t revision);

  // Where objects are that name `uid` as an owner.
  std::vector<std::pair<Table*, StoredRef>> owned_by(const std::string& uid) const;
  // Null when there is none.
  std::pair<Table*, StoredRef> find_uid(const std::string& uid) const;
  bool exists(const std::string& uid) const { return uids_.contains(uid); }
  // Told of every change, before anybody else runs.
  void on_change(std::function<void(Table&, const Change&)> listener) { listeners_.push_back(std::move(listener)); }
  const StateOptions& options() const { return options_; }

 private:
  void index(Table& table, const StoredRef& before, const StoredRef& after);
  void publish(Table& table, Change change);

  Storage* const storage_;
  const StateOptions options_;
  std::map<std::string, std::unique_ptr<Table>, std::less<>> tables_;
  std::uint64_t revision_ = 0;
  std::uint64_t loaded_ = 0;  // what happened before this is not remembered
  std::unordered_map<std::string, std::set<std::pair<Table*, Table::Place>>> owned_;  // by owner's uid
  std::unordered_map<std::string, std::pair<Table*, StoredRef>> uids_;
  std::vector<std::function<void(Table&, const Change&)>> listeners_;
};

template <class Visit>
bool Table::at_revision(std::uint64_t revision, const Place& after, const std::string& namespace_, Visit visit) const {
  if (revision < forgotten_) return false;
  // What has changed since then, as it was then.
  std::map<Place, StoredRef> then;
  for (auto change = changes_after(revision); change != history_.end(); ++change) {
    const StoredRef& object = change->object();
    then.try_emplace({object->namespace_, object->name}, change->before);
  }
  auto now = objects_.upper_bound(after);
  auto old = then.upper_bound(after);
  if (!namespace_.empty() && after.first < namespace_) {
    now = objects_.lower_bound(Place(namespace_, ""));
    old = then.lower_bound(Place(namespace_, ""));
  }
  const auto outside = [&](const Place& place) { return !namespace_.empty() && place.first != namespace_; };
  while (now != objects_.end() || old != then.end()) {
    const bool from_old = now == objects_.end() || (old != then.end() && old->first <= now->first);
    const Place& place = from_old ? old->first : now->first;
    if (outside(place)) break;
    const StoredRef object = from_old ? old->second : now->second;
    if (from_old) {
      if (now != objects_.end() && now->first == old->first) ++now;
      ++old;
    } else {
      ++now;
    }
    if (object && !visit(object)) break;
  }
  return true;
}

}  // namespace kopper::plane
