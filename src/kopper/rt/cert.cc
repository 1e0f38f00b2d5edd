#include "kopper/rt/cert.h"

#include <ctime>

#include <arpa/inet.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "kopper/base/error.h"
#include "kopper/rt/detail/x509.h"

namespace kopper::rt {

namespace {

using namespace std::chrono_literals;

BioPtr bio_over(std::string_view bytes) {
  return BioPtr(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}

[[noreturn]] void fail(std::string_view what) {
  const auto code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  throw Error(Code::Invalid, reason != nullptr ? fmt::format("{}: {}", what, reason) : std::string(what));
}

void check(bool ok, std::string_view what) {
  if (!ok) fail(what);
}

int no_password(char*, int, int, void*) { return -1; }

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

KeyPtr new_key() {
  KeyPtr key(EVP_EC_gen("P-256"));
  check(key != nullptr, "generate a key");
  return key;
}

std::string to_pem(X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  check(PEM_write_bio_X509(bio.get(), certificate) == 1, "write a certificate");
  return text_of(bio.get());
}

std::string to_pem(EVP_PKEY* key) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  check(PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1, "write a key");
  return text_of(bio.get());
}

void add_entry(X509_NAME* name, const char* field, const std::string& value) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(value.data());
  check(X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, bytes, static_cast<int>(value.size()), -1, 0) == 1,
        fmt::format("certificate subject {}={}", field, value));
}

void add_extension(X509* certificate, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str()));
  check(extension && X509_add_ext(certificate, extension.get(), -1) == 1, "certificate extension " + value);
}

// Built by hand, not from OpenSSL's configuration syntax, in which a comma in a name would start another name.
void add_names(X509* certificate, const CertificateSpec& spec) {
  if (spec.dns_names.empty() && spec.ip_addresses.empty()) return;
  const std::unique_ptr<GENERAL_NAMES, FreeWith<GENERAL_NAMES_free>> names(sk_GENERAL_NAME_new_null());
  const auto add = [&](int type, const void* bytes, std::size_t size) {
    auto* value = ASN1_STRING_type_new(type == GEN_DNS ? V_ASN1_IA5STRING : V_ASN1_OCTET_STRING);
    ASN1_STRING_set(value, bytes, static_cast<int>(size));
    auto* name = GENERAL_NAME_new();
    GENERAL_NAME_set0_value(name, type, value);
    sk_GENERAL_NAME_push(names.get(), name);
  };
  for (const auto& dns : spec.dns_names) add(GEN_DNS, dns.data(), dns.size());
  for (const auto& ip : spec.ip_addresses) {
    unsigned char bytes[16];
    if (::inet_pton(AF_INET, ip.c_str(), bytes) == 1) {
      add(GEN_IPADD, bytes, 4);
    } else if (::inet_pton(AF_INET6, ip.c_str(), bytes) == 1) {
      add(GEN_IPADD, bytes, 16);
    } else {
      throw Error(Code::Invalid, fmt::format("certificate for {}: not an IP address", ip));
    }
  }
  check(X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) == 1, "certificate names");
}

void set_time(ASN1_TIME* field, std::chrono::sys_seconds time) {
  check(ASN1_TIME_set(field, time.time_since_epoch().count()) != nullptr, "certificate validity");
}

X509Ptr new_certificate(EVP_PKEY* key, const CertificateSpec& spec) {
  X509Ptr certificate(X509_new());
  auto* x = certificate.get();
  X509_set_version(x, X509_VERSION_3);
  unsigned char serial[16];
  check(RAND_bytes(serial, sizeof serial) == 1, "random bytes");
  serial[0] &= 0x7f;
  const std::unique_ptr<BIGNUM, FreeWith<BN_free>> number(BN_bin2bn(serial, sizeof serial, nullptr));
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(x));
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  set_time(X509_getm_notBefore(x), spec.not_before.value_or(now - 5min));
  set_time(X509_getm_notAfter(x), spec.not_after.value_or(now + 24h * 365));
  auto* subject = X509_get_subject_name(x);
  for (const auto& organization : spec.organizations) add_entry(subject, "O", organization);
  if (!spec.common_name.empty()) add_entry(subject, "CN", spec.common_name);
  X509_set_pubkey(x, key);
  return certificate;
}

void sign(X509* certificate, EVP_PKEY* key) {
  check(X509_sign(certificate, key, EVP_sha256()) > 0, "sign a certificate");
}

std::string text_of(const ASN1_STRING* value) {
  unsigned char* utf8 = nullptr;
  const auto size = ASN1_STRING_to_UTF8(&utf8, value);
  if (size < 0) return {};
  std::string text(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(size));
  OPENSSL_free(utf8);
  return text;
}

std::vector<std::string> entries(const X509_NAME* name, int id) {
  std::vector<std::string> found;
  for (int at = X509_NAME_get_index_by_NID(name, id, -1); at >= 0; at = X509_NAME_get_index_by_NID(name, id, at)) {
    found.push_back(text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at))));
  }
  return found;
}

std::chrono::sys_seconds time_of(const ASN1_TIME* field) {
  std::tm broken_down{};
  ASN1_TIME_to_tm(field, &broken_down);
  return std::chrono::sys_seconds(std::chrono::seconds(::timegm(&broken_down)));
}

}  // namespace

std::vector<X509Ptr> read_certificates(std::string_view pem, std::string_view what) {
  const auto bio = bio_over(pem);
  std::vector<X509Ptr> found;
  while (auto* certificate = PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr))
    found.emplace_back(certificate);
  const auto code = ERR_peek_last_error();
  const bool at_end = ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!at_end) throw Error(Code::Invalid, fmt::format("{}: a certificate cannot be decoded", what));
  if (found.empty()) throw Error(Code::Invalid, fmt::format("{}: no PEM certificate in it", what));
  return found;
}

KeyPtr read_key(std::string_view pem, std::string_view what) {
  const auto bio = bio_over(pem);
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  ERR_clear_error();
  if (!key) throw Error(Code::Invalid, fmt::format("{}: no PEM private key in it, or an encrypted one", what));
  return key;
}

CertifiedKey make_ca(const std::string& common_name, std::optional<std::chrono::sys_seconds> not_before,
                     std::optional<std::chrono::sys_seconds> not_after) {
  const auto key = new_key();
  CertificateSpec spec;
  spec.common_name = common_name;
  spec.not_before = not_before;
  spec.not_after =
      not_after.value_or(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) + 24h * 3650);
  const auto certificate = new_certificate(key.get(), spec);
  auto* x = certificate.get();
  X509_set_issuer_name(x, X509_get_subject_name(x));
  add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign,digitalSignature");
  add_extension(x, x, NID_subject_key_identifier, "hash");
  sign(x, key.get());
  return {to_pem(x), to_pem(key.get())};
}

CertifiedKey issue(const CertifiedKey& ca, const CertificateSpec& spec) {
  const auto ca_certificate = std::move(read_certificates(ca.cert_pem, "CA certificate").front());
  const auto ca_key = read_key(ca.key_pem, "CA key");
  const auto key = new_key();
  const auto certificate = new_certificate(key.get(), spec);
  auto* x = certificate.get();
  X509_set_issuer_name(x, X509_get_subject_name(ca_certificate.get()));
  add_extension(x, ca_certificate.get(), NID_basic_constraints, "critical,CA:FALSE");
  add_extension(x, ca_certificate.get(), NID_key_usage, "critical,digitalSignature");
  std::vector<std::string_view> usages;
  if (spec.server) usages.emplace_back("serverAuth");
  if (spec.client) usages.emplace_back("clientAuth");
  if (!usages.empty()) {
    add_extension(x, ca_certificate.get(), NID_ext_key_usage, fmt::format("{}", fmt::join(usages, ",")));
  }
  add_extension(x, ca_certificate.get(), NID_authority_key_identifier, "keyid:always");
  add_names(x, spec);
  sign(x, ca_key.get());
  return {to_pem(x), to_pem(key.get())};
}

CertificateInfo inspect(X509* certificate) {
  CertificateInfo info;
  const auto* subject = X509_get_subject_name(certificate);
  if (auto names = entries(subject, NID_commonName); !names.empty()) info.common_name = std::move(names.back());
  if (auto names = entries(X509_get_issuer_name(certificate), NID_commonName); !names.empty())
    info.issuer_name = std::move(names.back());
  info.organizations = entries(subject, NID_organizationName);
  const std::unique_ptr<GENERAL_NAMES, FreeWith<GENERAL_NAMES_free>> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int type = 0;
    const auto* value =
        static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &type));
    if (type == GEN_DNS) info.dns_names.push_back(text_of(value));
    const auto size = ASN1_STRING_length(value);
    if (type == GEN_IPADD && (size == 4 || size == 16)) {
      char text[INET6_ADDRSTRLEN] = "";
      ::inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(value), text, sizeof text);
      info.ip_addresses.emplace_back(text);
    }
  }
  info.not_before = time_of(X509_get0_notBefore(certificate));
  info.not_after = time_of(X509_get0_notAfter(certificate));
  return info;
}

CertificateInfo inspect(std::string_view cert_pem) {
  return inspect(read_certificates(cert_pem, "certificate").front().get());
}

std::string utc(std::chrono::sys_seconds time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time.time_since_epoch().count()));
}

}  // namespace kopper::rt
