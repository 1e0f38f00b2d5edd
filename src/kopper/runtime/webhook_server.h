#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kopper/base/key.h"
#include "kopper/client/client.h"
#include "kopper/http/server.h"
#include "kopper/metrics/metrics.h"
#include "kopper/rt/file.h"
#include "kopper/runtime/webhook.h"
#include "kopper/runtime/webhook_certs.h"
#include "kopper/runtime/webhook_config.h"
#include "kopper/runtime/webhook_handler.h"

namespace kopper::runtime {

struct WebhookServerOptions {
  std::string address = "0.0.0.0";
  std::uint16_t port = 9443;  // 0: one that is free, see port()

  // How the API server reaches us. In `url`, "{port}" stands for the port that we got.
  WebhookConfigOptions config = {};
  // Tell the API server ourselves: the configurations and spec.conversion of the CRDs are server-side applied, and put
  // right when somebody changed them. False: somebody else installs them (--print-…).
  bool install = true;

  // Made and renewed by us, and kept in this Secret; its namespace is the service's when empty.
  Key secret = {"", "operator-manager-webhook-certs"};
  CertPolicy certs = {};  // without names: those of the service, or the host of the URL
  // Or files, read again when they are replaced. Their CA is in a third file, or else `config` says who knows it
  // (ca_bundle, inject_ca_from).
  std::string cert_file = {};
  std::string key_file = {};
  std::string ca_file = {};
};

// Serves webhooks over TLS, HTTP/2 or HTTP/1.1, and keeps the API server told. Listens from construction on; answers
// once it has a certificate. Every replica serves, leader or not.
class WebhookServer {
 public:
  // `metrics`, if any, outlives the server. Throws Error when it cannot listen or the files do not hold a certificate.
  WebhookServer(Webhooks webhooks, client::Client client, WebhookServerOptions options,
                metrics::Registry* metrics = nullptr);

  // One round of certificates and configurations. Throws what went wrong.
  Task<> ensure();
  // Rounds until cancelled; a failure is logged and tried again.
  Task<> run();
  // Lets requests in flight finish for `grace`.
  Task<> stop(rt::Duration grace);

  // There is a certificate: for a readiness check.
  bool ready() const;
  std::uint16_t port() const { return server_.port(); }
  // As given, with the port and, when we make the certificates, the CA filled in.
  WebhookConfigOptions config() const;
  // What is in use; empty with files.
  Certs certs() const { return kept_ ? kept_->current() : Certs(); }
  const Webhooks& webhooks() const { return handler_.webhooks(); }

 private:
  Task<> publish(std::string ca_bundle);
  template <class Configuration>
  Task<> put_right(std::optional<Configuration> wanted);
  Task<> put_right(json::Value crd);
  rt::TlsContext tls();
  std::string ca_of_files();

  // constant after construction
  const client::Client client_;
  WebhookServerOptions options_;
  // this loop only
  WebhookHandler handler_;
  std::optional<CertFiles> files_;
  std::optional<rt::RotatedFile> ca_file_;
  std::optional<KeptCerts> kept_;
  http::Server server_;
};

}  // namespace kopper::runtime
