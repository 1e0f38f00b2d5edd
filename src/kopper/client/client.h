#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/base/error.h"
#include "kopper/base/key.h"
#include "kopper/client/options.h"
#include "kopper/client/resource.h"
#include "kopper/http/handler.h"
#include "kopper/json/value.h"
#include "kopper/meta/codec.h"
#include "kopper/rt/task.h"

namespace kopper::client {

// Somebody else wrote first. Read again, decide again, write again: modify() does that.
struct Conflict {
  Error error;
};

// Where a list ended: resume a watch from here.
struct ListMeta {
  std::string resource_version;
};

template <class T>
struct List {
  std::vector<T> items;
  std::string resource_version;
};

struct ClientOptions {
  std::string field_manager = "kopper";
  std::string user_agent = "kopper";
  // Called with each distinct warning a server sends. Default: one log line each, once.
  std::function<void(std::string_view)> on_warning;
  int max_retries = 5;  // of 429 and 5xx answers to calls that are safe to repeat
};

template <class T>
class Api;

// The door to one API server. Loop-confined; cheap to copy (shares the transport).
class Client {
 public:
  explicit Client(std::shared_ptr<http::Handler> transport, ClientOptions options = {});

  // Typed: `client.of<Pod>()`.
  template <Object T>
  Api<T> of() const;
  // Dynamic: any resource, objects as json::Value.
  Api<json::Value> of(Resource resource) const;
  // Only metadata travels: PartialObjectMetadata.
  Api<json::Value> metadata_of(Resource resource) const;

  // One call, retried where that is safe. A status of 400 and more is thrown as Error.
  Task<std::string> call(http::Request request) const;
  // The same without reading the body: watch, logs.
  Task<http::Response> stream(http::Request request) const;
  Task<std::unique_ptr<http::WebSocket>> connect(http::Request request, std::vector<std::string> subprotocols) const;

  const ClientOptions& options() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace kopper::client
