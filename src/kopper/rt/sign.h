#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace kopper::rt {

// A private key that signs and verifies text: ECDSA P-256 with SHA-256, which JOSE calls ES256. A value: copies share
// the key.
class SigningKey {
 public:
  static SigningKey generate();
  // Throws Error{Invalid} when the PEM text holds no P-256 private key.
  explicit SigningKey(std::string_view pem);

  // 64 bytes: r and s.
  std::string sign(std::string_view text) const;
  bool verify(std::string_view text, std::string_view signature) const;

  std::string pem() const;  // a secret: files get mode 0600
  // The public half: its coordinates (32 bytes each), and the SHA-256 of its DER form, which names it.
  std::string x() const;
  std::string y() const;
  std::string id() const;

 private:
  struct Impl;
  explicit SigningKey(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<const Impl> impl_;
};

// 32 bytes.
std::string sha256(std::string_view text);

}  // namespace kopper::rt
