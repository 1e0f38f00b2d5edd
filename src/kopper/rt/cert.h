#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kopper::rt {

// Makes certificates for the local cluster, webhooks and tests: ECDSA P-256, PEM. Throws Error{Invalid} for bad input.

struct CertifiedKey {
  std::string cert_pem;
  std::string key_pem;  // a secret: files get mode 0600
};

struct CertificateSpec {
  std::string common_name;                 // a user's name, in a client certificate
  std::vector<std::string> organizations;  // a user's groups
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  bool server = true;
  bool client = true;
  // Default: from five minutes ago (clocks differ) for a year.
  std::optional<std::chrono::sys_seconds> not_before;
  std::optional<std::chrono::sys_seconds> not_after;
};

// A self-signed authority. Default: valid from five minutes ago for ten years.
CertifiedKey make_ca(const std::string& common_name, std::optional<std::chrono::sys_seconds> not_before = {},
                     std::optional<std::chrono::sys_seconds> not_after = {});
CertifiedKey issue(const CertifiedKey& ca, const CertificateSpec& spec);

// What a certificate (the first of the PEM text) says.
struct CertificateInfo {
  std::string common_name;
  std::string issuer_name;  // the common name of who signed it
  std::vector<std::string> organizations;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  std::chrono::sys_seconds not_before;
  std::chrono::sys_seconds not_after;
};
CertificateInfo inspect(std::string_view cert_pem);

}  // namespace kopper::rt
