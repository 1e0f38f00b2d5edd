#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/rt/stream.h"

namespace kopper::rt {

struct TlsClientOptions {
  std::string ca_pem;    // who may sign the server's certificate; empty: the system's roots
  std::string cert_pem;  // our own certificate and what signed it, if the server asks
  std::string key_pem;
  bool insecure = false;  // do not check the server's certificate at all
  std::vector<std::string> alpn;
};

struct TlsServerOptions {
  std::string cert_pem;
  std::string key_pem;
  std::string client_ca_pem;         // ask clients for a certificate signed by one of these; empty: do not ask
  bool require_client_cert = false;  // refuse clients without one
  std::vector<std::string> alpn;     // in order of preference
};

// Keys and trust of many connections. Cheap to copy, immutable. Throws Error{Invalid} naming the part that is wrong,
// never its bytes. TLS 1.2 and 1.3 only.
class TlsContext {
 public:
  static TlsContext client(const TlsClientOptions& options);
  static TlsContext server(const TlsServerOptions& options);

  // The same keys and trust for a client that offers other protocols: to make a context takes a millisecond.
  TlsContext offering(const std::vector<std::string>& alpn) const;

  struct Impl;

 private:
  friend class TlsStream;
  explicit TlsContext(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// Who is at the other end, as a verified certificate says.
struct PeerIdentity {
  std::string common_name;
  std::vector<std::string> organizations;
};

// TLS over any stream. A broken rule of the protocol, an untrusted certificate (Error{Unauthorized}) or an end of the
// lower stream without a TLS goodbye is an Error whose message names the cause.
class TlsStream final : public Stream {
 public:
  // Handshakes. `server_name` is what the certificate must be for: a DNS name (also sent as SNI) or an IP address.
  static Task<std::unique_ptr<TlsStream>> client(std::unique_ptr<Stream> lower, TlsContext context,
                                                 std::string server_name);
  static Task<std::unique_ptr<TlsStream>> server(std::unique_ptr<Stream> lower, TlsContext context);
  ~TlsStream() override;

  Task<std::size_t> read(std::span<char> into) override;
  Task<> write(std::string_view bytes) override;
  Task<> shutdown() override;
  void close() noexcept override;

  // The protocol agreed on, "h2"; empty when none was.
  std::string_view alpn() const;
  // Nothing when the peer showed no certificate, or it was not checked.
  const std::optional<PeerIdentity>& peer() const;

 private:
  struct Impl;
  explicit TlsStream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kopper::rt
