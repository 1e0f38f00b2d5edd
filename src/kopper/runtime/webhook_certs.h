#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/gen/core_v1.h"
#include "kopper/base/key.h"
#include "kopper/client/client.h"
#include "kopper/metrics/metrics.h"
#include "kopper/rt/file.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/tls.h"

// Where the serving certificate of the webhooks comes from: made and renewed by the program itself (KeptCerts), or
// files that somebody else replaces (CertFiles).
namespace kopper::runtime {

// What the certificates must be like.
struct CertPolicy {
  std::vector<std::string> dns_names = {};
  std::vector<std::string> ip_addresses = {};
  std::chrono::seconds ca_lifetime = std::chrono::days(730);
  std::chrono::seconds lifetime = std::chrono::days(90);
  // Both are renewed when a third of their life is left. A new CA is made known first, and signs nothing before API
  // servers have had so long to learn of it.
  std::chrono::seconds settle = std::chrono::minutes(10);
};

// <service>.<namespace>.svc and the shorter and longer names that it has.
std::vector<std::string> service_dns_names(std::string_view service, std::string_view namespace_);

// A CA and what it signed, all PEM.
struct Certs {
  std::string ca_bundle;  // every CA to be trusted, the newest first
  std::string ca_key;     // of the newest
  std::string cert;       // to serve with
  std::string key;

  friend bool operator==(const Certs&, const Certs&) = default;
};

// Certs as a Secret (kubernetes.io/tls, plus ca.crt and ca.key) holds them, and back. What is absent is empty.
std::map<std::string, Bytes> to_secret_data(const Certs& certs);
Certs from_secret_data(const std::map<std::string, Bytes>& data);

// The next step of these certificates' life, or nothing when all is well: one pure function, for every replica the
// same. Empty or broken parts are made anew; CAs that still live stay trusted.
std::optional<Certs> renewed(const Certs& certs, const CertPolicy& policy, std::chrono::sys_seconds now);

// Keeps Certs in a Secret that the replicas share. Whoever is first writes, the others take what is there: a write is
// conditional on what was read. `publish` makes the CA bundle known to API servers (caBundle); it is called with what
// the Secret says, in every round, before a certificate is used that needs it.
class KeptCerts {
 public:
  using Publish = std::function<Task<>(std::string ca_bundle)>;
  static constexpr rt::Duration kRound = std::chrono::minutes(1);

  KeptCerts(client::Client client, Key secret, CertPolicy policy, Publish publish);

  // One round: read, renew, publish, use. Throws Error when the Secret cannot be read or written, or publishing fails;
  // what was in use stays in use.
  Task<> ensure();
  // A round each kRound, and sooner after a failure, which is logged. Until cancelled.
  Task<> run();

  // For new connections. Throws Error{Unavailable} before there is a certificate.
  rt::TlsContext tls() const;
  bool ready() const { return tls_.has_value(); }
  const Certs& current() const { return current_; }

 private:
  Task<Certs> agreed();
  void use(const Certs& certs);

  const client::Client client_;
  const Key secret_;
  const CertPolicy policy_;
  const Publish publish_;
  Certs current_;
  std::optional<rt::TlsContext> tls_;
};

// A certificate and key in two files, as cert-manager or a mounted Secret replaces them. Looked at for each new
// connection. A pair that does not fit (one file is new, the other not yet) is passed over: the last good one stays.
class CertFiles {
 public:
  // `metrics`, if any, outlives this and gets certwatcher_read_certificate_{total,errors_total}.
  CertFiles(std::string cert_file, std::string key_file, metrics::Registry* metrics = nullptr);

  // Throws when there never was a good pair.
  rt::TlsContext tls();

 private:
  rt::RotatedFile cert_, key_;
  std::optional<rt::TlsContext> tls_;
  metrics::Counter* reads_ = nullptr;
  metrics::Counter* errors_ = nullptr;
};

}  // namespace kopper::runtime
