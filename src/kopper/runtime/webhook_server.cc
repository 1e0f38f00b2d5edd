#include "kopper/runtime/webhook_server.h"

#include <utility>

#include <fmt/format.h>

#include "kopper/base/log.h"
#include "kopper/client/api.h"
#include "kopper/client/retry.h"
#include "kopper/http/url.h"
#include "kopper/meta/compare.h"

namespace kopper::runtime {

namespace {

const client::Resource kCrds{.group = "apiextensions.k8s.io",
                             .version = "v1",
                             .plural = "customresourcedefinitions",
                             .kind = "CustomResourceDefinition",
                             .namespaced = false};

// Of our own, so that these applies never give up fields that another part of the program applies to the same object.
client::ApplyOptions as_webhooks() {
  client::ApplyOptions options;
  options.field_manager = "kopper-webhooks";
  options.force = true;
  return options;
}

void fill_names(CertPolicy& policy, const WebhookConfigOptions& config) {
  if (!policy.dns_names.empty() || !policy.ip_addresses.empty()) return;
  if (config.url.empty()) {
    policy.dns_names = service_dns_names(config.service_name, config.service_namespace);
    return;
  }
  const auto url = http::parse_url(config.url);
  if (!url) throw_error(url.error(), "the URL of the webhooks");
  const bool numeric =
      url->host.find(':') != std::string::npos || url->host.find_first_not_of("0123456789.") == std::string::npos;
  (numeric ? policy.ip_addresses : policy.dns_names) = {url->host};
}

WebhookServerOptions completed(WebhookServerOptions options, std::uint16_t port) {
  constexpr std::string_view kPort = "{port}";
  if (const auto at = options.config.url.find(kPort); at != std::string::npos)
    options.config.url.replace(at, kPort.size(), std::to_string(port));
  if (options.secret.namespace_.empty()) options.secret.namespace_ = options.config.service_namespace;
  if (options.cert_file.empty()) fill_names(options.certs, options.config);
  return options;
}

http::ServerOptions server_options(std::function<rt::TlsContext()> tls) {
  http::ServerOptions options;
  options.tls = std::move(tls);
  options.h2.max_body_bytes = WebhookHandler::kMaxBody;
  return options;
}

// Whether everything in `wanted` is so in `live`. Lists must be the same.
bool holds(const json::Value& live, const json::Value& wanted) {
  const auto* members = wanted.as_object();
  if (members == nullptr) return live == wanted;
  for (const auto& [name, value] : *members)
    if (!holds(live[name], value)) return false;
  return true;
}

}  // namespace

WebhookServer::WebhookServer(Webhooks webhooks, client::Client client, WebhookServerOptions options,
                             metrics::Registry* metrics)
    : client_(std::move(client)),
      options_(std::move(options)),
      handler_(std::move(webhooks), metrics),
      server_(rt::Listener::tcp(options_.address, options_.port), handler_, server_options([this] { return tls(); })) {
  options_ = completed(std::move(options_), server_.port());
  if (!options_.cert_file.empty()) {
    files_.emplace(options_.cert_file, options_.key_file, metrics);
    files_->tls();  // to fail early
    if (!options_.ca_file.empty()) ca_file_.emplace(options_.ca_file);
  } else {
    kept_.emplace(client_, options_.secret, options_.certs,
                  [this](std::string ca_bundle) { return publish(std::move(ca_bundle)); });
  }
}

rt::TlsContext WebhookServer::tls() { return kept_ ? kept_->tls() : files_->tls(); }

bool WebhookServer::ready() const { return !kept_ || kept_->ready(); }

WebhookConfigOptions WebhookServer::config() const {
  auto config = options_.config;
  if (kept_) config.ca_bundle = kept_->current().ca_bundle;
  return config;
}

Task<> WebhookServer::ensure() {
  if (kept_) return kept_->ensure();
  return publish(ca_of_files());
}

std::string WebhookServer::ca_of_files() { return ca_file_ ? ca_file_->read() : options_.config.ca_bundle; }

Task<> WebhookServer::run() {
  if (kept_) co_return co_await kept_->run();
  int failures = 0;
  const client::Backoff backoff{.initial = std::chrono::seconds(1), .max = std::chrono::seconds(60)};
  while (true) {
    rt::Duration wait = KeptCerts::kRound;
    try {
      co_await ensure();
      failures = 0;
    } catch (const Error& error) {
      wait = backoff.delay(++failures, client_.random());
      log::warn("webhooks: the API server cannot be told", {{"error", error.what()}});
    }
    co_await rt::sleep(wait);
  }
}

Task<> WebhookServer::stop(rt::Duration grace) { return server_.stop(grace); }

Task<> WebhookServer::publish(std::string ca_bundle) {
  if (!options_.install) co_return;
  auto config = options_.config;
  config.ca_bundle = std::move(ca_bundle);
  // Conversion first: while it does not work, not even the objects that the webhooks are about can be read.
  for (auto& crd : conversion_configs(handler_.webhooks(), config)) co_await put_right(std::move(crd));
  auto configs = webhook_configs(handler_.webhooks(), config);
  co_await put_right(std::move(configs.mutating));
  co_await put_right(std::move(configs.validating));
}

template <class Configuration>
Task<> WebhookServer::put_right(std::optional<Configuration> wanted) {
  if (!wanted) co_return;
  const auto api = client_.of<Configuration>();
  const auto live = co_await api.find(Key("", wanted->metadata.name));
  // One too many is one that an earlier release had: nobody would answer it.
  if (live && live->webhooks.size() == wanted->webhooks.size() && meta::covers(*live, *wanted)) co_return;
  co_await api.apply(std::move(*wanted), as_webhooks());
}

Task<> WebhookServer::put_right(json::Value crd) {
  const auto api = client_.of(kCrds);
  const std::string name(crd["metadata"].text("name"));
  const auto live = co_await api.find(Key("", name));
  if (!live) throw Error(Code::NotFound, fmt::format("the CRD {} is not installed", name));
  if (holds(*live, crd)) co_return;
  co_await api.apply(std::move(crd), as_webhooks());
}

}  // namespace kopper::runtime
