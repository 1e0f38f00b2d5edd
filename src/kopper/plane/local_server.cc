#include "kopper/plane/local_server.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "kopper/json/yaml.h"
#include "kopper/meta/base64.h"
#include "kopper/plane/addresses.h"
#include "kopper/plane/body.h"
#include "kopper/plane/faults.h"
#include "kopper/plane/sqlite_storage.h"
#include "kopper/plane/status.h"
#include "kopper/rt/cert.h"
#include "kopper/rt/file.h"

namespace kopper::plane {
namespace {

std::string base64(std::string_view bytes) {
  std::string out;
  meta::append_base64(out, bytes);
  return out;
}

// A pair of files, made when they are not there yet.
rt::CertifiedKey kept(const std::filesystem::path& folder, const std::string& name,
                      const std::function<rt::CertifiedKey()>& make) {
  if (folder.empty()) return make();
  const std::filesystem::path cert = folder / (name + ".crt");
  const std::filesystem::path key = folder / (name + ".key");
  if (std::filesystem::exists(cert) && std::filesystem::exists(key)) return {rt::read_file(cert), rt::read_file(key)};
  std::filesystem::create_directories(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  rt::CertifiedKey made = make();
  rt::write_file_atomic(cert, made.cert_pem, 0600);
  rt::write_file_atomic(key, made.key_pem, 0600);
  return made;
}

// To what does not get to the plane, in the words of the real server.
http::Response refusal(int status) {
  switch (status) {
    case 408: return http::text_response(status, "408 Request Timeout");
    case 413: return refused(too_large(fmt::format("Request entity too large: limit is {}", kMaxBody)), nullptr);
    case 429: return refused(too_many("Too many requests, please try again later.", std::chrono::seconds(1)), nullptr);
    case 417: return http::text_response(status, "417 Expectation Failed");
    case 431: return http::text_response(status, "431 Request Header Fields Too Large");
    case 501: return http::text_response(status, "Unsupported transfer encoding");
    case 505: return http::text_response(status, "505 HTTP Version Not Supported: unsupported protocol version");
    default: return http::text_response(status, "400 Bad Request");
  }
}

rt::Listener listen(std::uint16_t port) {
  try {
    return rt::Listener::tcp("127.0.0.1", port);
  } catch (Error& error) {
    throw std::move(error.with(fmt::format("cannot listen on 127.0.0.1:{}", port)));
  }
}

}  // namespace

struct LocalServer::Impl {
  explicit Impl(LocalServerOptions o) : options(std::move(o)), listener(listen(options.port)) {
    const std::filesystem::path pki = options.data_dir.empty() ? std::filesystem::path() : options.data_dir / "pki";
    ca = kept(pki, "ca", [] { return rt::make_ca("kopper-ca"); });
    const std::string service_ip = ServiceRange(options.plane.service_network).at(1);
    const auto issue_serving = [&] {
      rt::CertificateSpec spec;
      spec.common_name = "kube-apiserver";
      spec.dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
                        "kubernetes.default.svc.cluster.local"};
      spec.ip_addresses = {"127.0.0.1", service_ip};
      spec.client = false;
      return rt::issue(ca, spec);
    };
    serving = kept(pki, "serving", issue_serving);
    // What was kept may be from a server with another range.
    const auto ips = rt::inspect(serving.cert_pem).ip_addresses;
    if (std::ranges::find(ips, service_ip) == ips.end()) serving = issue_serving();
    admin = kept(pki, "admin", [&] {
      rt::CertificateSpec spec;
      spec.common_name = "kopper-admin";
      spec.organizations = {"system:masters"};
      spec.server = false;
      return rt::issue(ca, spec);
    });
    service_accounts = kept(pki, "service-accounts", [] { return rt::make_ca("kopper-service-accounts"); });
    port = listener->port();
    AuthOptions& auth = options.plane.auth;
    auth.required = true;
    if (!options.token_file.empty()) auth.tokens = rt::read_file(options.token_file);
    auth.service_account_key = service_accounts.key_pem;
    auth.address = fmt::format("https://127.0.0.1:{}", port);
    auth.ca = ca.cert_pem;
    auth.pod_service_accounts = true;
    if (!options.data_dir.empty()) {
      storage.emplace(options.data_dir);
      options.plane.storage = &*storage;
    }
    plane.emplace(options.plane);
    if (options.debug_faults) serve_debug(*plane, faults.emplace(*plane, true));
  }

  LocalServerOptions options;
  std::optional<rt::Listener> listener;
  std::uint16_t port = 0;
  rt::CertifiedKey ca;
  rt::CertifiedKey serving;
  rt::CertifiedKey admin;
  rt::CertifiedKey service_accounts;  // only its key is used
  std::optional<SqliteStorage> storage;

  std::optional<Plane> plane;
  std::optional<Faults> faults;
  std::optional<http::Server> server;
};

LocalServer::LocalServer(LocalServerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

LocalServer::~LocalServer() = default;

Plane& LocalServer::plane() { return *impl_->plane; }

Task<> LocalServer::start() {
  try {
    co_await impl_->plane->start();
  } catch (Error& error) {
    if (!impl_->storage) throw;
    throw std::move(error.with(fmt::format("cannot go on from {}", (impl_->options.data_dir / "objects.db").string())));
  }
  rt::TlsServerOptions tls;
  tls.cert_pem = impl_->serving.cert_pem;
  tls.key_pem = impl_->serving.key_pem;
  tls.client_ca_pem = impl_->ca.cert_pem;
  tls.alpn = {"h2", "http/1.1"};
  const rt::TlsContext context = rt::TlsContext::server(tls);
  http::ServerOptions server;
  server.tls = [context] { return context; };
  // Besides sockets there are files and pipes of our own.
  const std::size_t files = rt::raise_open_files();
  server.max_connections = std::clamp<std::size_t>(files, 100, 4100) - 64;
  server.h2.max_body_bytes = kMaxBody;
  server.h2.max_header_bytes = std::size_t{1} << 20U;  // Go's, so that long selectors pass
  server.refusal = refusal;
  server.upgrade_to = "SPDY/3.1";
  server.upgrade = [this](http::Request request) { return impl_->plane->upgrade(std::move(request)); };
  http::Handler& handler = impl_->faults ? static_cast<http::Handler&>(*impl_->faults) : *impl_->plane;
  impl_->server.emplace(std::move(*impl_->listener), handler, std::move(server));
  impl_->listener.reset();
}

Task<> LocalServer::stop(rt::Duration grace) {
  if (impl_->server) co_await impl_->server->stop(grace);
}

std::string LocalServer::url() const { return fmt::format("https://127.0.0.1:{}", impl_->port); }

std::string LocalServer::kubeconfig() const {
  const json::Object cluster{{"server", url()}, {"certificate-authority-data", base64(impl_->ca.cert_pem)}};
  const json::Object user{{"client-certificate-data", base64(impl_->admin.cert_pem)},
                          {"client-key-data", base64(impl_->admin.key_pem)}};
  const json::Object context{{"cluster", "kopper"}, {"user", "kopper-admin"}, {"namespace", "default"}};
  return json::to_yaml(json::Object{
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"clusters", json::Array{json::Object{{"name", "kopper"}, {"cluster", cluster}}}},
      {"users", json::Array{json::Object{{"name", "kopper-admin"}, {"user", user}}}},
      {"contexts", json::Array{json::Object{{"name", "kopper"}, {"context", context}}}},
      {"current-context", "kopper"},
  });
}

}  // namespace kopper::plane
