#include "kopper/runtime/webhook_certs.h"

#include <algorithm>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "kopper/base/log.h"
#include "kopper/client/api.h"
#include "kopper/client/retry.h"
#include "kopper/rt/cert.h"

namespace kopper::runtime {

namespace {

using api::corev1::Secret;
using std::chrono::sys_seconds;

constexpr std::chrono::seconds kClockSkew = std::chrono::minutes(5);
constexpr int kAttempts = 10;  // to write the Secret before somebody else does

rt::TlsContext server_tls(const std::string& cert, const std::string& key) {
  rt::TlsServerOptions options;
  options.cert_pem = cert;
  options.key_pem = key;
  options.alpn = {"h2", "http/1.1"};
  return rt::TlsContext::server(options);
}

std::vector<std::string> split_pem(std::string_view bundle) {
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----\n";
  std::vector<std::string> out;
  for (auto end = bundle.find(kEnd); end != std::string_view::npos; end = bundle.find(kEnd)) {
    out.emplace_back(bundle.substr(0, end + kEnd.size()));
    bundle.remove_prefix(end + kEnd.size());
  }
  return out;
}

std::optional<rt::CertificateInfo> inspected(std::string_view pem) {
  try {
    return rt::inspect(pem);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool due(const rt::CertificateInfo& info, sys_seconds now) {
  return now >= info.not_after - (info.not_after - info.not_before) / 3;
}

bool fits(const std::string& cert, const std::string& key) {
  try {
    server_tls(cert, key);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Named after its birth. Who signed a certificate is told by that name, so no two of a bundle share it.
rt::CertifiedKey new_ca(const CertPolicy& policy, sys_seconds now, const std::vector<std::string>& others) {
  const auto birth = fmt::format("kopper webhooks {:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now.time_since_epoch().count()));
  auto name = birth;
  const auto taken = [&](const std::string& pem) { return rt::inspect(pem).common_name == name; };
  for (int twin = 2; std::ranges::any_of(others, taken); ++twin) name = fmt::format("{} {}", birth, twin);
  return rt::make_ca(name, now - kClockSkew, now + policy.ca_lifetime);
}

rt::CertifiedKey new_certificate(const std::string& ca, const std::string& ca_key, const CertPolicy& policy,
                                 sys_seconds now) {
  rt::CertificateSpec spec;
  // A common name has room for 64 bytes, and nobody looks at it.
  spec.common_name = "kopper webhooks";
  spec.dns_names = policy.dns_names;
  spec.ip_addresses = policy.ip_addresses;
  spec.client = false;
  spec.not_before = now - kClockSkew;
  spec.not_after = now + policy.lifetime;
  return rt::issue({.cert_pem = ca, .key_pem = ca_key}, spec);
}

bool same_names(const rt::CertificateInfo& info, const CertPolicy& policy) {
  return info.dns_names == policy.dns_names && info.ip_addresses == policy.ip_addresses;
}

// A certificate of a CA that API servers may not know is worse than an old one that still works.
bool changes_authority(const Certs& before, const Certs& after, sys_seconds now) {
  const auto old = inspected(before.cert);
  return old && old->not_after > now && rt::inspect(after.cert).issuer_name != old->issuer_name;
}

}  // namespace

std::vector<std::string> service_dns_names(std::string_view service, std::string_view namespace_) {
  const auto svc = fmt::format("{}.{}.svc", service, namespace_);
  return {std::string(service), fmt::format("{}.{}", service, namespace_), svc, svc + ".cluster.local"};
}

std::map<std::string, Bytes> to_secret_data(const Certs& certs) {
  return {
      {"ca.crt", {certs.ca_bundle}}, {"ca.key", {certs.ca_key}}, {"tls.crt", {certs.cert}}, {"tls.key", {certs.key}}};
}

Certs from_secret_data(const std::map<std::string, Bytes>& data) {
  const auto get = [&](const char* name) {
    const auto found = data.find(name);
    return found == data.end() ? std::string() : found->second.data;
  };
  return {.ca_bundle = get("ca.crt"), .ca_key = get("ca.key"), .cert = get("tls.crt"), .key = get("tls.key")};
}

std::optional<Certs> renewed(const Certs& certs, const CertPolicy& policy, sys_seconds now) {
  std::vector<std::string> trusted;
  for (auto& pem : split_pem(certs.ca_bundle))
    if (const auto info = inspected(pem); info && info->not_after > now) trusted.push_back(std::move(pem));

  Certs next = certs;
  if (trusted.empty() || !fits(trusted.front(), certs.ca_key) || due(rt::inspect(trusted.front()), now)) {
    auto ca = new_ca(policy, now, trusted);
    trusted.insert(trusted.begin(), std::move(ca.cert_pem));
    next.ca_key = std::move(ca.key_pem);
  }
  next.ca_bundle.clear();
  for (const auto& pem : trusted) next.ca_bundle += pem;

  const auto newest = rt::inspect(trusted.front());
  const auto serving = inspected(certs.cert);
  const bool usable = serving && serving->not_after > now && fits(certs.cert, certs.key) &&
                      // Signed by one that is still trusted.
                      std::ranges::any_of(trusted, [&](const std::string& pem) {
                        return rt::inspect(pem).common_name == serving->issuer_name;
                      });
  const bool stale =
      !usable || due(*serving, now) || !same_names(*serving, policy) || serving->issuer_name != newest.common_name;
  const bool known = now - kClockSkew >= newest.not_before + policy.settle;  // the newest CA, to all
  if (!usable || (stale && (known || serving->issuer_name == newest.common_name))) {
    auto made = new_certificate(trusted.front(), next.ca_key, policy, now);
    next.cert = std::move(made.cert_pem);
    next.key = std::move(made.key_pem);
  }
  return next == certs ? std::nullopt : std::optional(std::move(next));
}

KeptCerts::KeptCerts(client::Client client, Key secret, CertPolicy policy, Publish publish)
    : client_(std::move(client)),
      secret_(std::move(secret)),
      policy_(std::move(policy)),
      publish_(std::move(publish)) {}

rt::TlsContext KeptCerts::tls() const {
  if (!tls_) throw Error(Code::Unavailable, "webhooks: there is no certificate yet");
  return *tls_;
}

void KeptCerts::use(const Certs& certs) {
  if (tls_ && certs.cert == current_.cert) {
    current_ = certs;
    return;
  }
  tls_ = server_tls(certs.cert, certs.key);
  current_ = certs;
  log::info("webhooks: serving with a new certificate",
            {{"expires", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                                     fmt::gmtime(rt::inspect(certs.cert).not_after.time_since_epoch().count()))}});
}

// What the Secret says, after the next step of its life when one is due.
Task<Certs> KeptCerts::agreed() {
  const auto secrets = client_.of<Secret>();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto found = co_await secrets.find(secret_);
    const auto now = std::chrono::floor<std::chrono::seconds>(rt::Loop::current().wall_now());
    const auto certs = found ? from_secret_data(found->data) : Certs();
    const auto next = renewed(certs, policy_, now);
    if (!next) co_return certs;
    Secret secret = found ? std::move(*found) : Secret();
    secret.data = to_secret_data(*next);
    if (secret.metadata.name.empty()) {
      secret.metadata.name = secret_.name;
      secret.metadata.namespace_ = secret_.namespace_;
      secret.type = "kubernetes.io/tls";
      const auto created = co_await secrets.create_if_absent(std::move(secret));
      if (created) co_return *next;
    } else {
      if (changes_authority(certs, *next, now)) co_await publish_(certs.ca_bundle);
      const auto updated = co_await secrets.update(std::move(secret));
      if (updated) co_return *next;
    }
  }
  throw Error(Code::Conflict, fmt::format("secret {}: somebody else writes it all the time", secret_.str()));
}

Task<> KeptCerts::ensure() {
  const auto certs = co_await agreed();
  if (!tls_) use(certs);
  co_await publish_(certs.ca_bundle);
  use(certs);
}

Task<> KeptCerts::run() {
  int failures = 0;
  const client::Backoff backoff{.initial = std::chrono::seconds(1), .max = std::chrono::seconds(60)};
  while (true) {
    rt::Duration wait = kRound;
    try {
      co_await ensure();
      failures = 0;
    } catch (const Error& error) {
      wait = backoff.delay(++failures, client_.random());
      log::warn("webhooks: certificates cannot be kept", {{"secret", secret_.str()}, {"error", error.what()}});
    }
    co_await rt::sleep(wait);
  }
}

CertFiles::CertFiles(std::string cert_file, std::string key_file, metrics::Registry* metrics)
    : cert_(std::move(cert_file)), key_(std::move(key_file)) {
  if (metrics == nullptr) return;
  reads_ = &metrics->counter("certwatcher_read_certificate_total", "Total number of certificate reads");
  errors_ = &metrics->counter("certwatcher_read_certificate_errors_total", "Total number of certificate read errors");
}

rt::TlsContext CertFiles::tls() {
  if (tls_ && !cert_.changed() && !key_.changed()) return *tls_;
  if (reads_ != nullptr) reads_->inc();
  try {
    tls_ = server_tls(cert_.read(), key_.read());
  } catch (const Error& error) {
    if (errors_ != nullptr) errors_->inc();
    if (!tls_) throw;
    log::warn("webhooks: the old certificate stays in use", {{"file", cert_.path().string()}, {"error", error.what()}});
  }
  return *tls_;
}

}  // namespace kopper::runtime
