#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kopper/api/conditions.h"
#include "kopper/api/object.h"
#include "kopper/api/owner.h"
#include "kopper/cache/cache.h"
#include "kopper/client/api.h"
#include "kopper/meta/compare.h"
#include "kopper/meta/encode.h"
#include "kopper/rt/task.h"
#include "kopper/runtime/run.h"

namespace kopper::runtime {

namespace detail {
// The type of T's status; void of kinds without one.
template <class T>
struct StatusOf {
  using type = void;
};
template <class T>
  requires requires(T object) { object.status; }
struct StatusOf<T> {
  using type = decltype(T::status);
};
}  // namespace detail

// What a reconcile function works with: the object it is called for, as it was read, and what can be done about it.
// A handle; copies are the same run. Every call throws Error; let it fly: the run is then tried again, later and later.
template <api::ObjectType T>
class Context {
 public:
  Context(std::shared_ptr<const T> object, std::shared_ptr<Run> run)
      : object_(std::move(object)), run_(std::move(run)) {}

  const T& operator*() const { return *object_; }
  const T* operator->() const { return object_.get(); }
  const Key& key() const { return run_->key(); }

  // Makes a child as it should be, by server-side apply, and returns it as it is. Without a namespace it goes into the
  // object's; the object becomes its controller. Nothing is sent when the child is so already. An object of that name
  // that is not ours is Error{Conflict}, reason NameConflict: it is never taken over.
  template <api::ObjectType C>
  Task<C> apply(C desired, ChildOptions options = ChildOptions()) const {
    return apply_child<C>(run_, std::move(desired), options);
  }
  // Makes a child that is not there yet and is not to be changed afterwards: one of many. One of that name that is ours
  // is the answer; somebody else's is Error{Conflict}, reason NameConflict.
  template <api::ObjectType C>
  Task<C> create(C desired, ChildOptions options = ChildOptions()) const {
    return create_child<C>(run_, std::move(desired), options);
  }
  // Changes this child by a merge patch, and not another that was made under its name since; nothing when it is gone.
  template <api::ObjectType C>
  Task<std::optional<C>> patch(const C& child, json::Value patch) const {  // outlives: it is read before this returns
    return decoded<C>(run_->patch(client::resource_of<C>(), api::key_of(child), child.metadata.uid, std::move(patch)));
  }
  // Deletes this child, and not another that was made under its name since; false when it is gone.
  template <api::ObjectType C>
  Task<bool> remove(const C& child) const {  // outlives: it is read before this returns
    return run_->remove_one(client::resource_of<C>(), api::key_of(child), child.metadata.uid);
  }
  // Deletes a child of ours; false when there is none.
  template <api::ObjectType C>
  Task<bool> remove(std::string name) const {
    return run_->remove(client::resource_of<C>(), child_key<C>(std::move(name)), false);
  }

  // From the cache; the controller must own or watch C. Null when there is none.
  template <api::ObjectType C>
  std::shared_ptr<const C> find(std::string name) const {
    return run_->cluster().cache.template reader<C>().get(child_key<C>(std::move(name)));
  }
  template <api::ObjectType C>
  std::shared_ptr<const C> find(const Key& key) const {
    return run_->cluster().cache.template reader<C>().get(key);
  }
  // All of C that the object controls, sorted by name.
  template <api::ObjectType C>
  std::vector<std::shared_ptr<const C>> children() const {
    cache::Filter filter;
    filter.namespace_ = key().namespace_;
    return run_->cluster().cache.template reader<C>().by_index(kControllerIndex, object_->metadata.uid, filter);
  }
  // The children that `selector` matches, in the object's namespace and sorted by name, after the object took over
  // those that nobody controls, and let go of those that it no longer matches.
  template <api::ObjectType C>
  Task<std::vector<std::shared_ptr<const C>>> claim(api::Selector selector) const {
    return claim_children<C>(*this, std::move(selector));
  }
  // In the object's namespace, or as the filter says.
  template <api::ObjectType C>
  std::vector<std::shared_ptr<const C>> list(cache::Filter filter) const {
    return run_->cluster().cache.template reader<C>().list(filter);
  }
  // By labels, in the object's namespace.
  template <api::ObjectType C>
  std::vector<std::shared_ptr<const C>> list(const api::Labels& labels) const {
    cache::Filter filter;
    filter.namespace_ = key().namespace_;
    filter.labels = api::Selector::of(labels);
    return list<C>(std::move(filter));
  }

  // Server-side apply of /status. Nothing is sent when it is so already. Conditions keep their transition times, and
  // get the generation that was seen; so does an `observedGeneration` of the status.
  template <class S = detail::StatusOf<T>::type>
  Task<> set_status(S status) const {
    static_assert(std::is_same_v<S, std::remove_cvref_t<decltype(T::status)>>);
    return set_status_of(object_, run_, std::move(status));
  }

  // For what the cache does not hold. Writes through it are not seen by the cache before the watch brings them.
  const client::Client& client() const { return run_->client(); }
  template <api::ObjectType C>
  client::Api<C> live() const {
    return run_->client().template of<C>();
  }

  // Seen by `kubectl describe`. Repeated ones are counted, not repeated. No secrets.
  template <class... Args>
  void event(std::string reason, fmt::format_string<Args...> message, Args&&... args) const {
    run_->event(EventType::Normal, std::move(reason), fmt::format(message, std::forward<Args>(args)...));
  }
  template <class... Args>
  void warning(std::string reason, fmt::format_string<Args...> message, Args&&... args) const {
    run_->event(EventType::Warning, std::move(reason), fmt::format(message, std::forward<Args>(args)...));
  }
  // With the controller, the object and the run in each line.
  void log(std::string_view message, std::initializer_list<log::Field> fields = {}) const {
    run_->log(log::Level::Info, message, fields);
  }

  // Why it runs: "created; Deployment default/demo updated".
  const Reasons& reasons() const { return run_->reasons; }
  // How often in a row it failed before.
  unsigned tries() const { return run_->tries; }
  Run& run() const { return *run_; }

  static constexpr std::string_view kControllerIndex = "controller";

 private:
  template <class C>
  Key child_key(std::string name) const {
    return {C::kind.scope == Scope::Cluster ? std::string() : key().namespace_, std::move(name)};
  }

  template <class C>
  static Task<C> apply_child(std::shared_ptr<Run> run, C desired, ChildOptions options) {
    const auto resource = client::resource_of<C>();
    run->adopt(desired.metadata, resource.namespaced, options);
    const auto mark = fingerprint(meta::encode(desired));
    desired.metadata.annotations.insert_or_assign(std::string(kAppliedAnnotation), mark);
    const auto key = api::key_of(desired);

    std::shared_ptr<const C> live;
    const auto* informer = run->cluster().cache.find(resource);
    if (informer != nullptr && informer->synced() && informer->watches(key.namespace_)) {
      live = informer->store().template view<C>(informer->store().get(key));
    }
    // What the cache does not have may be there all the same, and be somebody's.
    if (!live) {
      auto found = co_await run->client().template of<C>().find(key);
      if (found) live = std::make_shared<const C>(std::move(*found));
    }
    if (live) {
      run->check_ours(resource, live->metadata, options);
      if (run->settled(resource, live->metadata, mark, meta::covers(*live, desired))) co_return *live;
    }
    const auto answer = co_await run->apply(resource, key, meta::encode(desired), options.force);
    auto made = client::from_json<C>(answer);
    if (!made) throw_error(made.error(), "the server's answer");
    run->applied(resource, made->metadata, mark, meta::covers(*made, desired));
    co_return std::move(*made);
  }

  template <class C>
  static Task<std::optional<C>> decoded(Task<std::optional<std::string>> call) {
    const auto answer = co_await call;
    if (!answer) co_return std::nullopt;
    auto object = client::from_json<C>(*answer);
    if (!object) throw_error(object.error(), "the server's answer");
    co_return std::move(*object);
  }

  template <class C>
  static Task<C> create_child(std::shared_ptr<Run> run, C desired, ChildOptions options) {
    const auto resource = client::resource_of<C>();
    run->adopt(desired.metadata, resource.namespaced, options);
    const auto answer = co_await run->create(resource, api::key_of(desired), client::to_json(desired), options);
    auto made = client::from_json<C>(answer);
    if (!made) throw_error(made.error(), "the server's answer");
    co_return std::move(*made);
  }

  template <class C>
  static Task<std::vector<std::shared_ptr<const C>>> claim_children(Context self, api::Selector selector) {
    auto& run = *self.run_;
    const auto resource = client::resource_of<C>();
    const auto& owner = run.owner();
    // Who is about to go neither takes nor gives.
    const bool stays = !owner.deletionTimestamp.is_set();
    for (const auto& child : self.children<C>()) {
      if (!stays || child->metadata.deletionTimestamp.is_set() || selector.matches(child->metadata.labels)) continue;
      auto owners = child->metadata.ownerReferences;
      std::erase_if(owners, [&owner](const auto& reference) { return reference.uid == owner.uid; });
      co_await run.set_owners(resource, child->metadata, std::move(owners));
    }
    cache::Filter filter;
    filter.namespace_ = self.key().namespace_;
    filter.labels = selector;
    bool asked = false;
    bool may_adopt = stays;
    for (const auto& found : self.list<C>(filter)) {
      if (api::controller_of(found->metadata) != nullptr || found->metadata.deletionTimestamp.is_set()) continue;
      if (!asked && may_adopt) may_adopt = co_await run.may_adopt();
      asked = true;
      if (!may_adopt) break;
      auto metadata = found->metadata;
      run.adopt(metadata, resource.namespaced, ChildOptions());
      co_await run.set_owners(resource, found->metadata, metadata.ownerReferences);
    }
    auto all = self.children<C>();
    std::erase_if(all, [&selector](const auto& child) { return !selector.matches(child->metadata.labels); });
    co_return all;
  }

  template <class S>
  static Task<> set_status_of(std::shared_ptr<const T> object, std::shared_ptr<Run> run, S status) {
    if constexpr (requires { status.observedGeneration = object->metadata.generation; }) {
      status.observedGeneration = object->metadata.generation;
    }
    if constexpr (requires { api::settle_conditions(status.conditions, status.conditions, run->now(), 1); }) {
      // Kubernetes 1.20 takes a required text that is applied empty for null, and refuses it.
      for (auto& condition : status.conditions) {
        if (condition.message.empty()) condition.message = condition.reason;
      }
      api::settle_conditions(status.conditions, object->status.conditions, run->now(), object->metadata.generation);
    }
    if (meta::equal(status, object->status)) co_return;
    co_await run->apply_status(meta::encode(status));
  }

  std::shared_ptr<const T> object_;
  std::shared_ptr<Run> run_;
};

}  // namespace kopper::runtime
