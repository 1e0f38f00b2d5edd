#include "kopper/client/transport.h"

#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/client/credentials.h"
#include "kopper/client/exec_plugin.h"
#include "kopper/http/client.h"
#include "kopper/http/url.h"
#include "kopper/rt/file.h"
#include "kopper/rt/tls.h"

namespace kopper::client {
namespace {

http::Url url_of(std::string_view text, std::string_view field) {
  auto url = http::parse_url(text);
  if (!url) throw Error(Code::Invalid, fmt::format("{}: {}", field, url.error().what));
  return *std::move(url);
}

// The present content of a Pem. A file that cannot be read any more leaves what it last held.
class PemSource {
 public:
  explicit PemSource(const Pem& pem) : data_(pem.data) {
    if (data_.empty() && !pem.file.empty()) file_.emplace(pem.file);
  }

  const std::string& get() {
    if (!file_) return data_;
    try {
      data_ = file_->read();
    } catch (const Error& error) {
      if (data_.empty()) throw Error(Code::Invalid, error.what());
      log::warn("certificate not re-read, using the last one", {{"error", error.what()}});
    }
    return data_;
  }

 private:
  std::string data_;
  std::optional<rt::RotatedFile> file_;
};

// Trust and keys for the next connection.
class TlsSource {
 public:
  TlsSource(const Config& config, std::shared_ptr<ExecPlugin> plugin)
      : insecure_(config.insecure),
        ca_(config.ca),
        cert_(config.client_cert),
        key_(config.client_key),
        plugin_(std::move(plugin)) {}

  rt::TlsClientOptions get() {
    rt::TlsClientOptions options;
    options.insecure = insecure_;
    options.ca_pem = ca_.get();
    options.cert_pem = cert_.get();
    options.key_pem = key_.get();
    if (const auto credential = plugin_ ? plugin_->current() : nullptr) {
      options.cert_pem = credential->client_certificate;
      options.key_pem = credential->client_key;
    }
    return options;
  }

 private:
  bool insecure_;
  PemSource ca_;
  PemSource cert_;
  PemSource key_;
  std::shared_ptr<ExecPlugin> plugin_;
};

// A plugin's certificate belongs to the connection: when it changes, all connections are made anew. Streams that are
// still open on the old ones break, and whoever reads them starts again.
class ByCertificate final : public http::Handler {
 public:
  ByCertificate(http::ClientOptions options, std::shared_ptr<ExecPlugin> plugin)
      : options_(std::move(options)), plugin_(std::move(plugin)) {}

  Task<http::Response> handle(http::Request request) override {
    const auto client = present();
    co_return co_await client->handle(std::move(request));
  }
  Task<std::unique_ptr<http::WebSocket>> connect(http::Request request, std::vector<std::string> protocols) override {
    const auto client = present();
    co_return co_await client->connect(std::move(request), std::move(protocols));
  }

 private:
  std::shared_ptr<http::Handler> present() {
    const auto credential = plugin_->current();
    const auto certificate = credential ? credential->client_certificate : std::string();
    if (!client_ || certificate != certificate_) {
      client_ = http::make_client(options_);
      certificate_ = certificate;
    }
    return client_;
  }

  // constant after construction
  http::ClientOptions options_;
  std::shared_ptr<ExecPlugin> plugin_;
  // this loop only
  std::string certificate_;
  std::shared_ptr<http::Handler> client_;
};

Config without_credentials(const Config& config) {
  Config out;
  out.impersonate = config.impersonate;
  return out;
}

}  // namespace

std::shared_ptr<http::Handler> make_transport(const Config& config) {
  http::ClientOptions options;
  options.origin = url_of(config.server, "server");
  if (!config.proxy_url.empty()) options.proxy = url_of(config.proxy_url, "proxy-url");
  if (options.origin.scheme != "https") {
    // A token sent in the clear is everybody's.
    return with_credentials(http::make_client(std::move(options)), without_credentials(config), nullptr);
  }

  auto plugin = make_plugin(config);
  const auto tls = std::make_shared<TlsSource>(config, plugin);
  (void)rt::TlsContext::client(tls->get());  // a bad certificate is known now, not at the first call
  options.tls = [tls] { return tls->get(); };
  options.server_name = config.tls_server_name;
  std::shared_ptr<http::Handler> client;
  if (plugin) {
    client = std::make_shared<ByCertificate>(std::move(options), plugin);
  } else {
    client = http::make_client(std::move(options));
  }
  return with_credentials(std::move(client), config, std::move(plugin));
}

}  // namespace kopper::client
