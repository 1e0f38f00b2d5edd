#include "kopper/runtime/run.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "kopper/api/owner.h"
#include "kopper/base/stable_hash.h"
#include "kopper/client/api.h"
#include "kopper/client/raw_api.h"
#include "kopper/json/value.h"
#include "kopper/json/writer.h"
#include "kopper/meta/decode.h"
#include "kopper/meta/encode.h"
#include "kopper/rt/loop.h"

namespace kopper::runtime {

std::string fingerprint(std::string_view json) { return fmt::format("{:016x}", stable_hash(json)); }

namespace {

std::string child_id(const client::Resource& resource, const Key& key) {
  return fmt::format("{} {}", resource.name(), key.str());
}

// What of an object we need besides the cache's record.
struct MetadataOnly {
  api::metav1::ObjectMeta metadata;
};

std::shared_ptr<const api::metav1::ObjectMeta> metadata_of(std::string_view json, const Key& key) {
  auto object = meta::decode<MetadataOnly>(json);
  if (!object) throw_error(object.error(), key.str());
  return std::make_shared<const api::metav1::ObjectMeta>(std::move(object->metadata));
}

}  // namespace

bool AppliedVersions::knows(const client::Resource& resource, const Key& key, std::string_view fingerprint,
                            std::string_view version) const {
  const auto found = versions_.find(child_id(resource, key));
  return found != versions_.end() && found->second.fingerprint == fingerprint && found->second.version == version;
}

void AppliedVersions::remember(const client::Resource& resource, const Key& key, std::string fingerprint,
                               std::string version) {
  versions_[child_id(resource, key)] = {std::move(fingerprint), std::move(version)};
}

void AppliedVersions::forget(const client::Resource& resource, const Key& key) {
  if (!versions_.empty()) versions_.erase(child_id(resource, key));
}

Run::Run(RunTarget& target, const cache::Store& store, cache::RecordRef record, const Decode& decode)
    : target_(target),
      store_(store),
      decode_(decode),
      client_(target.cluster.client),
      record_(std::move(record)),
      key_(record_->key()),
      owner_(read()) {
  if (owner_) return;
  std::string scratch;
  owner_ = metadata_of(record_->json(scratch), key_);
}

std::shared_ptr<const api::metav1::ObjectMeta> Run::read() {
  try {
    auto decoded = decode_(store_, record_);
    object_ = std::move(decoded.object);
    return std::move(decoded.metadata);
  } catch (Error& error) {
    error.reason = "Undecodable";
    undecodable_ = std::move(error);
    return nullptr;
  }
}

const std::shared_ptr<const void>& Run::object() {
  if (!object_ && !undecodable_) read();
  if (undecodable_) throw Error(*undecodable_);
  return object_;
}

void Run::trace(const TraceContext& parent) {
  const auto& cluster = target_.cluster;
  client_ = client::Client(traced(cluster.transport, cluster.tracer, parent, cluster.name), client_.options());
}

void Run::adopt(api::metav1::ObjectMeta& child, bool namespaced, const ChildOptions& options) const {
  if (namespaced && child.namespace_.empty()) child.namespace_ = key_.namespace_;
  if (options.owned) api::set_controller(child, target_.kind, *owner_);
}

void Run::check_ours(const client::Resource& resource, const api::metav1::ObjectMeta& live,
                     const ChildOptions& options) const {
  if (!options.owned || api::is_controlled_by(live, owner_->uid)) return;
  const auto* other = api::controller_of(live);
  if (other == nullptr && options.adopt) return;
  Error error(Code::Conflict,
              fmt::format("{} {} is not ours: {}", resource.kind, Key(live.namespace_, live.name).str(),
                          other != nullptr ? fmt::format("{} {} ({}) controls it", other->kind, other->name, other->uid)
                                           : "it was there before, and nobody controls it"));
  error.reason = "NameConflict";
  throw std::move(error);
}

bool Run::settled(const client::Resource& resource, const api::metav1::ObjectMeta& live, std::string_view fingerprint,
                  bool covered) const {
  const auto before = live.annotations.find(std::string(kAppliedAnnotation));
  if (before == live.annotations.end() || before->second != fingerprint) return false;
  return covered || target_.applied.knows(resource, api::key_of(live), fingerprint, live.resourceVersion);
}

void Run::applied(const client::Resource& resource, const api::metav1::ObjectMeta& live, std::string fingerprint,
                  bool covered) {
  if (covered) {
    target_.applied.forget(resource, api::key_of(live));
  } else {
    target_.applied.remember(resource, api::key_of(live), std::move(fingerprint), live.resourceVersion);
  }
}

Task<std::string> Run::apply(client::Resource resource, Key key, std::string body, bool force) {
  const client::RawApi api(client_, resource);
  client::ApplyOptions options;
  options.field_manager = target_.field_manager;
  options.force = force;
  ++writes;
  auto answer = co_await api.apply(std::move(key), std::move(body), options);
  target_.cluster.cache.note_write(resource, answer);
  co_return answer;
}

Task<std::string> Run::create(client::Resource resource, Key key, std::string body, ChildOptions options) {
  const client::RawApi api(client_, resource);
  client::WriteOptions write;
  write.field_manager = target_.field_manager;
  ++writes;
  auto made = co_await api.create_if_absent(key, std::move(body), write);
  if (!made) {
    made = co_await api.get(key, client::GetOptions());
    auto object = meta::decode<MetadataOnly>(*made);
    if (!object) throw_error(object.error(), key.str());
    check_ours(resource, object->metadata, options);
  }
  target_.cluster.cache.note_write(resource, *made);
  co_return std::move(*made);
}

Task<std::optional<std::string>> Run::patch(client::Resource resource, Key key, std::string uid, json::Value patch) {
  auto& metadata = patch["metadata"];
  if (!metadata.is_object()) metadata = json::Object{};
  metadata["uid"] = std::move(uid);
  const client::RawApi api(client_, resource);
  client::PatchOptions options;
  options.field_manager = target_.field_manager;
  ++writes;
  try {
    auto answer = co_await api.patch(std::move(key), client::PatchType::Merge, json::dump(patch), options);
    target_.cluster.cache.note_write(resource, answer);
    co_return std::move(answer);
  } catch (const Error& error) {
    if (error.code != Code::NotFound) throw;
  }
  co_return std::nullopt;
}

Task<bool> Run::set_owners(client::Resource resource, api::metav1::ObjectMeta seen,
                           std::vector<api::metav1::OwnerReference> owners) {
  // With the version that was seen: the list is replaced whole, and others have theirs in it.
  json::Value body = json::Object{};
  auto& metadata = body["metadata"];
  metadata = json::Object{};
  metadata["resourceVersion"] = seen.resourceVersion;
  json::Array list;
  for (const auto& owner : owners) list.push_back(json::parse(meta::encode(owner)).value());
  metadata["ownerReferences"] = std::move(list);
  const auto answer = co_await patch(std::move(resource), api::key_of(seen), seen.uid, std::move(body));
  co_return answer.has_value();
}

Task<bool> Run::may_adopt() {
  const client::RawApi api(client_, target_.resource);
  const auto live = co_await api.find(key_, client::GetOptions());
  if (!live) co_return false;
  const auto metadata = metadata_of(*live, key_);
  co_return metadata->uid == owner_->uid && !metadata->deletionTimestamp.is_set();
}

Task<bool> Run::remove_one(client::Resource resource, Key key, std::string uid) {
  const client::RawApi api(client_, resource);
  client::DeleteOptions options;
  options.propagation = client::Propagation::Background;
  options.uid = std::move(uid);
  ++writes;
  const auto answer = co_await api.remove_with_answer(key, options);
  target_.applied.forget(resource, key);
  if (answer) target_.cluster.cache.note_delete(resource, key, *answer);
  co_return answer.has_value();
}

Task<bool> Run::remove(client::Resource resource, Key key, bool foreign) {
  const client::RawApi api(client_, resource);
  auto* informer = target_.cluster.cache.find(resource);
  if (informer != nullptr && informer->synced()) {
    if (!informer->store().get(key)) co_return false;
  }
  const auto live = co_await api.find(key, client::GetOptions());
  if (!live) co_return false;
  auto object = meta::decode<MetadataOnly>(*live);
  if (!object) throw_error(object.error(), key.str());
  if (object->metadata.deletionTimestamp.is_set()) co_return true;
  if (!foreign) check_ours(resource, object->metadata, ChildOptions());
  co_return co_await remove_one(resource, key, object->metadata.uid);
}

void Run::saw(std::string_view json) {
  target_.cluster.cache.note_write(target_.resource, json);
  auto newer = store_.get(key_);
  if (!newer || newer == record_) return;
  record_ = std::move(newer);
  object_ = nullptr;
  undecodable_.reset();
}

Task<> Run::apply_status(std::string status) {
  const client::RawApi api(client_, target_.resource);
  client::ApplyOptions options;
  options.field_manager = target_.field_manager;
  options.force = true;
  options.subresource = "status";
  std::string text;
  json::Writer body(text);
  body.begin_object().key("apiVersion").value(target_.resource.api_version()).key("kind").value(target_.resource.kind);
  body.key("metadata").begin_object().key("name").value(key_.name);
  if (target_.resource.namespaced) body.key("namespace").value(key_.namespace_);
  body.key("uid").value(owner_->uid).end_object();  // not of one that was made anew under this name
  body.key("status").raw(status).end_object();
  ++writes;
  const auto answer = co_await api.apply(key_, std::move(text), options);
  saw(answer);
}

Task<> Run::set_finalizer(std::string name, bool present) {
  if (api::has_finalizer(*owner_, name) == present) co_return;
  auto wanted = owner_->finalizers;
  if (present) {
    wanted.push_back(name);
  } else {
    std::erase(wanted, name);
  }
  // With the version that we saw: the list is replaced whole, and others have theirs in it.
  json::Value patch = json::Object{};
  auto& metadata = patch["metadata"];
  metadata = json::Object{};
  metadata["uid"] = owner_->uid;
  metadata["resourceVersion"] = owner_->resourceVersion;
  metadata["finalizers"] = json::Array(wanted.begin(), wanted.end());
  const client::RawApi api(client_, target_.resource);
  client::PatchOptions options;
  options.field_manager = target_.field_manager;
  ++writes;
  const auto answer = co_await api.patch(key_, client::PatchType::Merge, json::dump(patch), options);
  owner_ = metadata_of(answer, key_);
  if (owner_->deletionTimestamp.is_set() && owner_->finalizers.empty()) {
    target_.cluster.cache.note_gone(target_.resource, key_, owner_->uid);
  } else {
    saw(answer);
  }
}

void Run::event(EventType type, std::string reason, std::string message) {
  api::corev1::ObjectReference object;
  object.apiVersion = target_.resource.api_version();
  object.kind = target_.resource.kind;
  object.namespace_ = key_.namespace_;
  object.name = key_.name;
  object.uid = owner_->uid;
  object.resourceVersion = owner_->resourceVersion;
  EventNote note;
  note.type = type;
  note.reason = std::move(reason);
  note.message = std::move(message);
  target_.cluster.events.record(std::move(object), std::move(note));
}

void Run::log(log::Level level, std::string_view message, std::initializer_list<log::Field> fields) const {
  if (!log::enabled(level)) return;
  std::vector<log::Field> all{{"controller", target_.controller}, {"object", key_.str()}, {"run", id}};
  all.insert(all.end(), fields.begin(), fields.end());
  log::write(level, message, all);
}

api::Time Run::now() const {
  const auto wall = rt::Loop::current().wall_now();
  return wall;
}

}  // namespace kopper::runtime
