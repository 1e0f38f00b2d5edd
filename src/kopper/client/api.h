#pragma once

#include <concepts>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/client/client.h"
#include "kopper/client/codec.h"
#include "kopper/client/partial_object.h"
#include "kopper/client/raw_api.h"
#include "kopper/client/watch.h"
#include "kopper/meta/encode_over.h"

namespace kopper::client {

template <class T>
struct List {
  std::vector<T> items;
  std::string resource_version;  // a watch goes on from here
  std::vector<Error> bad;        // one line for each object that T cannot hold
};

namespace detail {

template <class T>
T decoded(std::string_view json) {
  auto object = from_json<T>(json);
  if (!object) throw_error(object.error(), "the server's answer");
  return std::move(*object);
}

template <class T>
Task<T> decode_later(Task<std::string> json) {
  const auto text = co_await json;
  co_return decoded<T>(text);
}

template <class T>
Task<std::optional<T>> decode_later(Task<std::optional<std::string>> json) {
  const auto text = co_await json;
  if (!text) co_return std::nullopt;
  co_return decoded<T>(*text);
}

template <class T>
Task<std::expected<T, Conflict>> decode_later(Task<std::expected<std::string, Conflict>> json) {
  auto text = co_await json;
  if (!text) co_return std::unexpected(std::move(text.error()));
  co_return decoded<T>(*text);
}

template <class T>
Task<T> decode_or_throw(Task<std::expected<std::string, Conflict>> json) {
  auto text = co_await json;
  if (!text) throw std::move(text.error().error);
  co_return decoded<T>(*text);
}

template <class T>
Task<WatchStream<T>> watch_later(Task<http::Response> response) {
  co_return WatchStream<T>(co_await response);
}

// Without metadata.managedFields, which no apply may carry: so that an object that was read can be applied.
std::string appliable(std::string json);

// Decodes one object of a list, or reports it.
template <class T>
std::function<void(std::string_view)> each_decoded(Resource resource, std::function<void(T)> good,
                                                   std::function<void(Error)> bad) {
  return [resource = std::move(resource), good = std::move(good), bad = std::move(bad)](std::string_view json) {
    auto object = from_item<T>(json, resource);
    if (object)
      good(std::move(*object));
    else if (bad)
      bad(undecodable(head_of(json).key, object.error()));
  };
}

template <class T>
Task<List<T>> collect(RawApi api, ListOptions options) {
  List<T> all;
  auto item = each_decoded<T>(
      api.resource(), [&all](T object) { all.items.push_back(std::move(object)); },
      [&all](Error error) { all.bad.push_back(std::move(error)); });
  std::function<void()> restart = [&all] { all = {}; };
  all.resource_version = co_await api.for_each(std::move(options), std::move(item), std::move(restart));
  co_return all;
}

}  // namespace detail

// Objects that may be written whole: all but those of which we hold the metadata only.
template <class T>
concept Whole = !std::same_as<T, PartialObject>;

// The objects of one resource. A value: copy it, keep it, make it anew for each call.
// T is a struct with a `kind`, json::Value, or PartialObject. Every call throws Error, but what the signature shows as
// a value.
template <class T>
class Api {
 public:
  explicit Api(RawApi raw) : raw_(std::move(raw)) {}

  Task<T> get(Key key, GetOptions options = GetOptions()) const {
    return detail::decode_later<T>(raw_.get(std::move(key), std::move(options)));
  }
  // Nothing when there is no such object. A kind that the server does not know is still an error.
  Task<std::optional<T>> find(Key key, GetOptions options = GetOptions()) const {
    return detail::decode_later<T>(raw_.find(std::move(key), std::move(options)));
  }
  // Everything, page by page.
  Task<List<T>> list(ListOptions options = ListOptions()) const { return detail::collect<T>(raw_, std::move(options)); }
  // The same, an object at a time while the answer downloads; returns the list's resourceVersion. An object that T
  // cannot hold goes to `bad` and stops nothing. When a list must begin anew (its token expired), `restart` is called
  // first.
  Task<std::string> for_each(ListOptions options, std::function<void(T)> each, std::function<void(Error)> bad = nullptr,
                             std::function<void()> restart = nullptr) const {
    if (!restart) restart = [] {};
    return raw_.for_each(std::move(options), detail::each_decoded<T>(raw_.resource(), std::move(each), std::move(bad)),
                         std::move(restart));
  }
  // One watch, which ends. Watcher (watcher.h) goes on.
  Task<WatchStream<T>> watch(WatchOptions options = WatchOptions()) const {
    return detail::watch_later<T>(raw_.watch(std::move(options)));
  }

  Task<T> create(T object, WriteOptions options = WriteOptions()) const
    requires Whole<T>
  {
    return detail::decode_later<T>(raw_.create(key_of(object), to_json(object), std::move(options)));
  }
  // Nothing when it is there already.
  Task<std::optional<T>> create_if_absent(T object, WriteOptions options = WriteOptions()) const
    requires Whole<T>
  {
    return detail::decode_later<T>(raw_.create_if_absent(key_of(object), to_json(object), std::move(options)));
  }

  // Replaces the object. A Conflict when it is not at `metadata.resourceVersion` any more; without one, whatever is
  // there is replaced. A struct knows fewer fields than the server may: those it does not know are kept from the live
  // object.
  Task<std::expected<T, Conflict>> update(T object, WriteOptions options = WriteOptions()) const
    requires Whole<T>
  {
    auto key = key_of(object);
    if constexpr (std::same_as<T, json::Value>) {
      return detail::decode_later<T>(raw_.replace(std::move(key), to_json(object), std::move(options)));
    } else {
      const bool any_version = object.metadata.resourceVersion.empty();
      RawApi::Change change = [object = std::move(object), any_version](std::string_view live) mutable {
        // Custom resources are not replaced without a version.
        if (any_version) object.metadata.resourceVersion = head_of(live).resource_version;
        return over(live, object);
      };
      return detail::decode_later<T>(
          raw_.change(std::move(key), std::move(change), std::move(options), any_version ? kAttempts : 1));
    }
  }

  // Reads the object, lets `fn` change it, and writes it; again when somebody else was faster. Writes nothing when `fn`
  // changes nothing. `fn` may be called several times.
  Task<T> modify(Key key, std::function<void(T&)> fn, WriteOptions options = WriteOptions()) const
    requires Whole<T>
  {
    RawApi::Change change = [fn = std::move(fn)](std::string_view live) -> std::optional<std::string> {
      auto object = detail::decoded<T>(live);
      const auto before = to_json(object);
      fn(object);
      if (to_json(object) == before) return std::nullopt;
      return over(live, object);
    };
    return detail::decode_or_throw<T>(raw_.change(std::move(key), std::move(change), std::move(options), kAttempts));
  }

  // Json: an array of operations. Merge: null removes. Strategic: lists are merged by their keys; built-in kinds only.
  Task<T> patch(Key key, PatchType type, json::Value patch, PatchOptions options = PatchOptions()) const {
    return detail::decode_later<T>(raw_.patch(std::move(key), type, json::dump(patch), std::move(options)));
  }

  // Server-side apply: makes the object so, whatever is there. Fields that another manager owns and that differ are an
  // Error{Conflict} whose causes name field and manager (manager_of() in status.h); `force` takes them.
  Task<T> apply(T desired, ApplyOptions options = ApplyOptions()) const
    requires Whole<T>
  {
    auto key = key_of(desired);
    return detail::decode_later<T>(raw_.apply(std::move(key), detail::appliable(to_json(desired)), std::move(options)));
  }

  // False when there is no such object. A precondition that does not hold is Error{Conflict}.
  Task<bool> remove(Key key, DeleteOptions options = DeleteOptions()) const {
    return raw_.remove(std::move(key), options);
  }
  // All that `which` selects, in one call.
  Task<> remove_all(ListOptions which, DeleteOptions options = DeleteOptions()) const {
    return raw_.remove_all(std::move(which), std::move(options));
  }

  Task<ScaleView> scale(Key key) const { return raw_.scale(std::move(key)); }
  Task<ScaleView> set_scale(Key key, std::int64_t replicas) const { return raw_.set_scale(std::move(key), replicas); }

  const Resource& resource() const { return raw_.resource(); }
  const RawApi& raw() const { return raw_; }

 private:
  static constexpr int kAttempts = 10;  // of a write that others may be faster with

  static std::string over(std::string_view live, const T& object) {
    if constexpr (std::same_as<T, json::Value>) {
      return to_json(object);
    } else {
      auto merged = meta::encode_over(live, object);
      if (!merged) throw_error(merged.error(), "the live object");
      return std::move(*merged);
    }
  }

  RawApi raw_;
};

template <Object T>
Api<T> Client::of() const {
  return Api<T>(RawApi(*this, resource_of<T>()));
}

}  // namespace kopper::client
