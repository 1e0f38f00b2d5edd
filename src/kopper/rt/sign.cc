#include "kopper/rt/sign.h"

#include <array>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/sha.h>

#include "kopper/base/error.h"
#include "kopper/rt/detail/x509.h"

namespace kopper::rt {
namespace {

constexpr int kSize = 32;  // of a coordinate, and of r and s

using NumberPtr = std::unique_ptr<BIGNUM, FreeWith<BN_free>>;
using ContextPtr = std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>>;
using SignaturePtr = std::unique_ptr<ECDSA_SIG, FreeWith<ECDSA_SIG_free>>;

const unsigned char* bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

void check(bool ok, const char* what) {
  if (ok) return;
  ERR_clear_error();
  throw Error(Code::Internal, what);
}

std::string padded(const BIGNUM* number) {
  std::string out(kSize, '\0');
  check(BN_bn2binpad(number, reinterpret_cast<unsigned char*>(out.data()), kSize) == kSize, "write a number");
  return out;
}

std::string coordinate(EVP_PKEY* key, const char* name) {
  BIGNUM* found = nullptr;
  check(EVP_PKEY_get_bn_param(key, name, &found) == 1, "read a public key");
  const NumberPtr number(found);
  return padded(number.get());
}

}  // namespace

struct SigningKey::Impl {
  KeyPtr key;
};

SigningKey SigningKey::generate() {
  KeyPtr key(EVP_EC_gen("P-256"));
  check(key != nullptr, "generate a key");
  return SigningKey(std::make_shared<const Impl>(std::move(key)));
}

SigningKey::SigningKey(std::string_view pem) {
  KeyPtr key = read_key(pem, "signing key");
  std::array<char, 64> curve{};
  std::size_t length = 0;
  const bool named =
      EVP_PKEY_get_utf8_string_param(key.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve.data(), curve.size(), &length) == 1;
  ERR_clear_error();
  if (!named || std::string_view(curve.data(), length) != "prime256v1")
    throw Error(Code::Invalid, "signing key: not an ECDSA key of the curve P-256");
  impl_ = std::make_shared<const Impl>(std::move(key));
}

std::string SigningKey::sign(std::string_view text) const {
  const ContextPtr context(EVP_MD_CTX_new());
  std::size_t size = 0;
  check(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, impl_->key.get()) == 1, "sign");
  check(EVP_DigestSign(context.get(), nullptr, &size, bytes(text), text.size()) == 1, "sign");
  std::string der(size, '\0');
  check(
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(der.data()), &size, bytes(text), text.size()) == 1,
      "sign");
  const unsigned char* at = bytes(der);
  const SignaturePtr signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(size)));
  check(signature != nullptr, "sign");
  return padded(ECDSA_SIG_get0_r(signature.get())) + padded(ECDSA_SIG_get0_s(signature.get()));
}

bool SigningKey::verify(std::string_view text, std::string_view signature) const {
  if (signature.size() != std::size_t{2} * kSize) return false;
  const SignaturePtr parts(ECDSA_SIG_new());
  BIGNUM* r = BN_bin2bn(bytes(signature), kSize, nullptr);
  BIGNUM* s = BN_bin2bn(bytes(signature.substr(kSize)), kSize, nullptr);
  check(ECDSA_SIG_set0(parts.get(), r, s) == 1, "verify");  // which takes both
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(parts.get(), &der);
  check(size > 0, "verify");
  const ContextPtr context(EVP_MD_CTX_new());
  check(EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, impl_->key.get()) == 1, "verify");
  const bool good = EVP_DigestVerify(context.get(), der, static_cast<std::size_t>(size), bytes(text), text.size()) == 1;
  OPENSSL_free(der);
  ERR_clear_error();
  return good;
}

std::string SigningKey::pem() const {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  check(PEM_write_bio_PrivateKey(bio.get(), impl_->key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1,
        "write a key");
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string SigningKey::x() const { return coordinate(impl_->key.get(), OSSL_PKEY_PARAM_EC_PUB_X); }
std::string SigningKey::y() const { return coordinate(impl_->key.get(), OSSL_PKEY_PARAM_EC_PUB_Y); }

std::string SigningKey::id() const {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(impl_->key.get(), &der);
  check(size > 0, "write a public key");
  std::string out(SHA256_DIGEST_LENGTH, '\0');
  SHA256(der, static_cast<std::size_t>(size), reinterpret_cast<unsigned char*>(out.data()));
  OPENSSL_free(der);
  return out;
}

std::string sha256(std::string_view text) {
  std::string out(SHA256_DIGEST_LENGTH, '\0');
  SHA256(bytes(text), text.size(), reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

}  // namespace kopper::rt
