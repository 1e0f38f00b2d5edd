#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "kopper/base/error.h"
#include "kopper/base/key.h"
#include "kopper/client/client.h"
#include "kopper/client/options.h"
#include "kopper/client/request.h"
#include "kopper/client/resource.h"
#include "kopper/rt/task.h"

namespace kopper::client {

// Somebody else wrote first. Read again, decide again, write again: modify() does that.
struct Conflict {
  Error error;
};

// The /scale subresource, which every scalable kind serves in the same form.
struct ScaleView {
  std::int64_t replicas = 0;          // wanted: spec
  std::int64_t current_replicas = 0;  // there: status
  std::string selector;               // of the pods
};

// The verbs of one resource with objects as JSON text: all that Api<T> does but decode and encode. A value; tasks keep
// a copy, so that a temporary may make them.
class RawApi {
 public:
  RawApi(Client client, Resource resource, View view = View::Whole)
      : client_(std::move(client)), resource_(std::move(resource)), view_(view) {}

  Task<std::string> get(Key key, GetOptions options) const;
  Task<std::optional<std::string>> find(Key key, GetOptions options) const;
  // All pages; returns the list's resourceVersion. When the continue token expires, `restart` is called and the list
  // begins anew, once, in one page.
  Task<std::string> for_each(ListOptions options, std::function<void(std::string_view)> item,
                             std::function<void()> restart) const;
  Task<http::Response> watch(WatchOptions options) const;

  Task<std::string> create(Key key, std::string body, WriteOptions options) const;
  Task<std::optional<std::string>> create_if_absent(Key key, std::string body, WriteOptions options) const;
  Task<std::expected<std::string, Conflict>> replace(Key key, std::string body, WriteOptions options) const;
  // Reads the live object, lets `change` make the new one of it, and writes that; again when somebody else was faster,
  // up to `attempts` times. Nothing from `change`: nothing to write, and the live object is the result.
  using Change = std::function<std::optional<std::string>(std::string_view live)>;
  Task<std::expected<std::string, Conflict>> change(Key key, Change change, WriteOptions options, int attempts) const;
  Task<std::string> patch(Key key, PatchType type, std::string body, PatchOptions options) const;
  Task<std::string> apply(Key key, std::string body, ApplyOptions options) const;

  Task<bool> remove(Key key, DeleteOptions options) const;
  // The same with the server's answer: a Status when the object is gone, else the object, which waits for finalizers or
  // its grace period. Nothing when there is no such object.
  Task<std::optional<std::string>> remove_with_answer(Key key, DeleteOptions options) const;
  Task<> remove_all(ListOptions which, DeleteOptions options) const;

  Task<ScaleView> scale(Key key) const;
  Task<ScaleView> set_scale(Key key, std::int64_t replicas) const;

  const Client& client() const { return client_; }
  const Resource& resource() const { return resource_; }
  View view() const { return view_; }

 private:
  std::string manager(std::string given) const;

  Client client_;
  Resource resource_;
  View view_;
};

}  // namespace kopper::client
