#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/client/options.h"
#include "kopper/client/request.h"
#include "kopper/client/resource.h"
#include "kopper/http/handler.h"
#include "kopper/json/value.h"
#include "kopper/rt/task.h"

namespace kopper::client {

struct ClientOptions {
  std::string field_manager = "kopper";
  std::string user_agent = "kopper";
  // Called with each distinct warning a server sends, once. Default: a log line.
  std::function<void(std::string_view)> on_warning;
  // Of one call, its retries and the reading of its body included; of a stream until its headers are there, and of a
  // list between any two pieces of it. 0: none.
  std::chrono::milliseconds timeout = std::chrono::seconds(60);
  int max_retries = 5;  // of 429, 5xx and broken connections, where repeating is safe (retry.h)
  double qps = 0;       // calls a second that this client allows itself; 0: as many as the server takes
  double burst = 0;     // calls at once, with qps; 0: twice the qps
};

template <class T>
class Api;
struct PartialObject;  // partial_object.h

// The door to one API server: a transport (which knows the address and the credentials) and the manners of a good
// client. Loop-confined; cheap to copy: copies share everything. Tasks keep what they need alive.
class Client {
 public:
  explicit Client(std::shared_ptr<http::Handler> transport, ClientOptions options = ClientOptions());

  // Include kopper/client/api.h for these.
  // Typed: `client.of<Pod>()`.
  template <Object T>
  Api<T> of() const;
  // Dynamic: any resource, objects as json::Value.
  Api<json::Value> of(Resource resource) const;
  // Only apiVersion, kind and metadata travel.
  Api<PartialObject> metadata_of(Resource resource) const;

  // One call, retried where that is safe. Returns the body; a status of 300 and more is thrown as Error (status.h).
  Task<std::string> call(http::Request request) const;
  // The same without reading the body: lists, watches, logs.
  Task<http::Response> stream(http::Request request) const;
  Task<std::unique_ptr<http::WebSocket>> connect(http::Request request, std::vector<std::string> subprotocols) const;

  const ClientOptions& options() const;
  // In [0, 1): for jitter.
  double random() const;

 private:
  struct State;
  static Task<http::Response> attempt(std::shared_ptr<State> state, http::Request request);
  template <class Result>
  static Task<Result> retried(std::shared_ptr<State> state, http::Request request);
  static Task<std::unique_ptr<http::WebSocket>> connected(std::shared_ptr<State> state, http::Request request,
                                                          std::vector<std::string> subprotocols);

  std::shared_ptr<State> state_;
};

}  // namespace kopper::client
