#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/base/key.h"
#include "kopper/cache/informer.h"
#include "kopper/cache/store.h"
#include "kopper/client/client.h"
#include "kopper/client/resource.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/task.h"

namespace kopper::cache {

namespace detail {
// Throws when an answer would be a lie: the namespace is not watched, or nothing was read yet.
void check_readable(const Informer& informer, std::string_view namespace_);
}  // namespace detail

// Reads the typed objects of one informer. A value; the cache outlives it. What it returns may be held for ever.
// Throws Error{Unavailable} while the informer is not synced, and Error{Invalid} for a namespace that is not watched.
template <class T>
class Reader {
 public:
  explicit Reader(const Informer& informer) : informer_(&informer) {}

  // Null when there is none. Throws Error{Invalid} when T cannot hold it.
  std::shared_ptr<const T> get(const Key& key) const {
    detail::check_readable(*informer_, key.namespace_);
    return store().template view<T>(store().get(key));
  }
  // Sorted by key. Objects that T cannot hold are left out: get() says why.
  std::vector<std::shared_ptr<const T>> list(const Filter& filter = Filter()) const {
    detail::check_readable(*informer_, filter.namespace_);
    return views(store().list(filter));
  }
  std::vector<std::shared_ptr<const T>> by_index(std::string_view index, std::string_view value,
                                                 const Filter& filter = Filter()) const {
    detail::check_readable(*informer_, filter.namespace_);
    return views(store().by_index(index, value, filter));
  }

  const Store& store() const { return informer_->store(); }
  const Informer& informer() const { return *informer_; }

 private:
  std::vector<std::shared_ptr<const T>> views(const std::vector<RecordRef>& records) const {
    std::vector<std::shared_ptr<const T>> out;
    out.reserve(records.size());
    for (const auto& record : records) {
      if (auto view = store().template try_view<T>(record)) out.push_back(std::move(view));
    }
    return out;
  }

  const Informer* informer_;
};

// The informers of a program, one for each resource (and selectors), shared by all who ask. Nothing is ever watched
// because somebody read: reading what nobody asked for is an Error that says what to add. Loop-confined.
class Cache {
 public:
  // `defaults`: of informers that are asked for without options.
  explicit Cache(client::Client client, InformerOptions defaults = InformerOptions());

  // The shared one; made when it is asked for first, and started at once when the cache runs. Its namespaces are those
  // of all who asked; its options otherwise those of the first, but it keeps whole objects unless all want
  // the same part of them (which must be known before the cache runs).
  template <client::Object T>
  Informer& informer() {
    return informer(client::resource_of<T>(), defaults_);
  }
  template <client::Object T>
  Informer& informer(InformerOptions options) {
    return informer(client::resource_of<T>(), std::move(options));
  }
  Informer& informer(client::Resource resource) { return informer(std::move(resource), defaults_); }
  Informer& informer(client::Resource resource, InformerOptions options);

  // Null when nobody asked for it. Without selectors: the one without, or the only one.
  Informer* find(const client::Resource& resource) const;

  template <client::Object T>
  Reader<T> reader() const {
    return Reader<T>(readable(client::resource_of<T>()));
  }
  template <class T = json::Value>
  Reader<T> reader(const client::Resource& resource) const {
    return Reader<T>(readable(resource));
  }

  // Read-your-own-writes (informer.h), for all informers of the resource.
  void note_write(const client::Resource& resource, std::string_view answer);
  void note_delete(const client::Resource& resource, const Key& key, std::string_view answer);
  void note_gone(const client::Resource& resource, const Key& key, std::string_view uid);

  // Runs all informers, also those asked for later, until it is cancelled.
  Task<> run();
  // Until each is synced, or its kind known to be missing.
  Task<> wait_synced();

  std::vector<Informer*> informers() const;
  const client::Client& client() const { return client_; }
  const InformerOptions& defaults() const { return defaults_; }

 private:
  const Informer& readable(const client::Resource& resource) const;

  client::Client client_;
  InformerOptions defaults_;
  std::vector<std::unique_ptr<Informer>> informers_;  // in the order in which they were asked for
  rt::Scope* running_ = nullptr;
};

}  // namespace kopper::cache
