#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "kopper/rt/cert.h"

namespace kopper::rt {

template <auto Free>
struct FreeWith {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using BioPtr = std::unique_ptr<BIO, FreeWith<BIO_free_all>>;
using X509Ptr = std::unique_ptr<X509, FreeWith<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;

// These throw Error{Invalid}. `what` names the input in the message.
std::vector<X509Ptr> read_certificates(std::string_view pem, std::string_view what);  // at least one
KeyPtr read_key(std::string_view pem, std::string_view what);

CertificateInfo inspect(X509* certificate);
std::string utc(std::chrono::sys_seconds time);

}  // namespace kopper::rt
