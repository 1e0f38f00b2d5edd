#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "kopper/http/client.h"
#include "kopper/json/value.h"
#include "kopper/plane/core.h"

namespace kopper::plane {

// A clientConfig: where a webhook is, and who vouches for it.
struct WebhookTarget {
  std::string url;  // this, or a service
  std::string service_namespace;
  std::string service_name;
  std::string service_path;
  std::int64_t service_port = 443;
  std::string ca_bundle;  // base64 as written; empty: the system's roots
};
WebhookTarget webhook_target(const json::Value& client_config);

// Calls webhooks. One client for each endpoint and authority is kept until it has not been used for a while. No
// ClusterIP can be reached from here, so a service stands for the addresses in its EndpointSlices, else its Endpoints,
// in turn.
class WebhookCaller {
 public:
  using Connect = std::function<std::unique_ptr<http::Handler>(http::ClientOptions)>;

  // `core` outlives this.
  explicit WebhookCaller(Core& core, Connect connect = http::make_client);
  ~WebhookCaller();

  // The JSON of the answer. Throws Error in the words of kube-apiserver: `Post "https://…?timeout=10s": …`, or what the
  // server's status means.
  Task<json::Value> post(WebhookTarget target, json::Value review, std::chrono::seconds timeout);

  std::size_t clients() const { return clients_.size(); }

 private:
  struct Client;
  struct Endpoint {
    http::Url origin;
    std::string server_name;  // empty: the origin's host
    std::string host;         // what the request is addressed to
    std::string path;
  };
  Endpoint resolve(const WebhookTarget& target);
  std::shared_ptr<Client> client(const Endpoint& endpoint, const std::string& ca_bundle);
  void close_unused();

  Core& core_;
  const Connect connect_;
  std::map<std::string, std::shared_ptr<Client>> clients_;
  std::size_t turn_ = 0;
};

}  // namespace kopper::plane
