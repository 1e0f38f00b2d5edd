#include "kopper/rt/tls.h"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "kopper/base/error.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/detail/x509.h"

namespace kopper::rt {

struct TlsContext::Impl {
  std::unique_ptr<SSL_CTX, FreeWith<SSL_CTX_free>> ctx;
  std::string alpn;  // in wire form: each name after its length
  bool verify = false;
};

namespace {

constexpr std::size_t kReadBuffer = std::size_t{64} << 10U;
// So much is encrypted before it is written: large bodies are not held twice.
constexpr std::size_t kWriteChunk = std::size_t{256} << 10U;

std::string alpn_wire(const std::vector<std::string>& names) {
  std::string wire;
  for (const auto& name : names) {
    if (name.empty() || name.size() > 255) throw Error(Code::Invalid, "ALPN name must have 1 to 255 bytes");
    wire += static_cast<char>(name.size());
    wire += name;
  }
  return wire;
}

const unsigned char* bytes_of(const std::string& text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::shared_ptr<TlsContext::Impl> new_context(const SSL_METHOD* method, const std::vector<std::string>& alpn) {
  auto impl = std::make_shared<TlsContext::Impl>();
  impl->ctx.reset(SSL_CTX_new(method));
  if (!impl->ctx) throw Error(Code::Internal, "OpenSSL gives no TLS context");
  impl->alpn = alpn_wire(alpn);
  auto* ctx = impl->ctx.get();
  SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
  SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);  // no resumption: connections of operators live long
  SSL_CTX_set_num_tickets(ctx, 0);
  return impl;
}

void use_key(SSL_CTX* ctx, const std::string& cert_pem, const std::string& key_pem, std::string_view whose) {
  const auto chain = read_certificates(cert_pem, fmt::format("{} certificate", whose));
  const auto key = read_key(key_pem, fmt::format("{} key", whose));
  bool ok = SSL_CTX_use_certificate(ctx, chain.front().get()) == 1;
  for (std::size_t i = 1; i < chain.size(); ++i) ok = ok && SSL_CTX_add1_chain_cert(ctx, chain[i].get()) == 1;
  if (!ok) {
    ERR_clear_error();
    throw Error(Code::Invalid, fmt::format("{} certificate cannot be used (weak key or signature)", whose));
  }
  if (SSL_CTX_use_PrivateKey(ctx, key.get()) != 1 || SSL_CTX_check_private_key(ctx) != 1) {
    ERR_clear_error();
    throw Error(Code::Invalid, fmt::format("{} key does not belong to the certificate", whose));
  }
}

void trust(SSL_CTX* ctx, const std::string& ca_pem, std::string_view what) {
  auto* store = SSL_CTX_get_cert_store(ctx);
  for (const auto& certificate : read_certificates(ca_pem, what)) {
    X509_STORE_add_cert(store, certificate.get());
    SSL_CTX_add_client_CA(ctx, certificate.get());  // a server tells clients whom it trusts
  }
  // As Go does: an intermediate, or the server's own certificate, may be the thing that is trusted.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
}

int select_alpn(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                unsigned int offered_size, void* arg) {
  const auto& ours = *static_cast<const std::string*>(arg);
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, bytes_of(ours), static_cast<unsigned>(ours.size()), offered,
                            offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

bool is_ip(const std::string& name) {
  unsigned char bytes[16];
  return ::inet_pton(AF_INET, name.c_str(), bytes) == 1 || ::inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

// Why a certificate was refused, in words.
std::string refusal(int error, X509* certificate, const std::string& expected_name) {
  const auto info = certificate != nullptr ? inspect(certificate) : CertificateInfo{};
  switch (error) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE: return "certificate signed by unknown authority";
    case X509_V_ERR_CERT_HAS_EXPIRED: return fmt::format("certificate expired at {}", utc(info.not_after));
    case X509_V_ERR_CERT_NOT_YET_VALID: return fmt::format("certificate is not valid before {}", utc(info.not_before));
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: {
      auto names = info.dns_names;
      names.insert(names.end(), info.ip_addresses.begin(), info.ip_addresses.end());
      if (names.empty()) return fmt::format("certificate names no host, so not {}", expected_name);
      return fmt::format("certificate is for {}, not for {}", fmt::join(names, ", "), expected_name);
    }
    case X509_V_ERR_INVALID_PURPOSE: return "certificate is not for this use (extended key usage)";
    default: return fmt::format("certificate refused: {}", X509_verify_cert_error_string(error));
  }
}

}  // namespace

TlsContext TlsContext::client(const TlsClientOptions& options) {
  const auto impl = new_context(TLS_client_method(), options.alpn);
  auto* ctx = impl->ctx.get();
  impl->verify = !options.insecure;
  if (!options.ca_pem.empty()) {
    trust(ctx, options.ca_pem, "certificate authority");
  } else if (impl->verify) {
    SSL_CTX_set_default_verify_paths(ctx);
  }
  if (!options.cert_pem.empty() || !options.key_pem.empty()) use_key(ctx, options.cert_pem, options.key_pem, "client");
  return TlsContext(impl);
}

TlsContext TlsContext::offering(const std::vector<std::string>& alpn) const {
  const auto impl = std::make_shared<Impl>();
  SSL_CTX_up_ref(impl_->ctx.get());
  impl->ctx.reset(impl_->ctx.get());
  impl->alpn = alpn_wire(alpn);
  impl->verify = impl_->verify;
  return TlsContext(impl);
}

TlsContext TlsContext::server(const TlsServerOptions& options) {
  const auto impl = new_context(TLS_server_method(), options.alpn);
  auto* ctx = impl->ctx.get();
  use_key(ctx, options.cert_pem, options.key_pem, "server");
  if (!options.client_ca_pem.empty()) {
    impl->verify = true;
    trust(ctx, options.client_ca_pem, "client certificate authority");
  }
  if (options.require_client_cert && !impl->verify) {
    throw Error(Code::Invalid, "client certificates are required but no authority for them is given");
  }
  SSL_CTX_set_verify(ctx, options.require_client_cert ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0, nullptr);
  if (!impl->alpn.empty()) SSL_CTX_set_alpn_select_cb(ctx, select_alpn, &impl->alpn);
  return TlsContext(impl);
}

struct TlsStream::Impl {
  Impl(std::unique_ptr<Stream> below, TlsContext with) : lower(std::move(below)), context(std::move(with)) {}

  void open(const std::string& server_name, bool as_client);
  Task<> handshake();
  Task<> flush();
  Task<> fill();
  std::string who() const;
  // The reason of OpenSSL's last failed call.
  Error error(int ssl_error) const;

  const std::unique_ptr<Stream> lower;
  const TlsContext context;
  std::unique_ptr<SSL, FreeWith<SSL_free>> ssl;
  std::string name;             // the server's, for a client
  std::string refused;          // why the peer's certificate is not accepted
  std::optional<Error> failed;  // what ended reading
  bool shaking_hands = true;
  std::optional<PeerIdentity> peer;

  std::unique_ptr<char[]> in;  // encrypted bytes that came and OpenSSL has not taken
  std::size_t in_begin = 0;
  std::size_t in_end = 0;

  std::string out;       // encrypted bytes to write
  std::string sending;   // those being written
  Semaphore writing{1};  // a read may have to write too
  bool torn = false;     // a write was given up half-way
};

namespace {

// OpenSSL reads from and writes to the buffers of the stream: no system calls, and one copy fewer than its memory BIO.
template <class Impl>
struct BufferBio {
  static int read(BIO* bio, char* into, int size) {
    auto& impl = *static_cast<Impl*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    const auto n = std::min(static_cast<std::size_t>(size), impl.in_end - impl.in_begin);
    if (n == 0) {
      BIO_set_retry_read(bio);
      return -1;
    }
    std::memcpy(into, impl.in.get() + impl.in_begin, n);
    impl.in_begin += n;
    return static_cast<int>(n);
  }
  static int write(BIO* bio, const char* bytes, int size) {
    static_cast<Impl*>(BIO_get_data(bio))->out.append(bytes, static_cast<std::size_t>(size));
    return size;
  }
  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  static BIO* make(Impl* impl) {
    static BIO_METHOD* const method = [] {
      auto* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "kopper");
      BIO_meth_set_read(made, read);
      BIO_meth_set_write(made, write);
      BIO_meth_set_ctrl(made, control);
      return made;
    }();
    auto* bio = BIO_new(method);
    BIO_set_data(bio, impl);
    BIO_set_init(bio, 1);
    return bio;
  }
};

template <class Impl>
int on_verify(int ok, X509_STORE_CTX* store) {
  if (ok == 1) return 1;
  const auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto& impl = *static_cast<Impl*>(SSL_get_app_data(ssl));
  if (impl.refused.empty()) {
    impl.refused = refusal(X509_STORE_CTX_get_error(store), X509_STORE_CTX_get_current_cert(store), impl.name);
  }
  return 0;
}

}  // namespace

void TlsStream::Impl::open(const std::string& server_name, bool as_client) {
  name = server_name;
  ssl.reset(SSL_new(context.impl_->ctx.get()));
  if (!ssl) throw Error(Code::Internal, "OpenSSL gives no TLS session");
  auto* s = ssl.get();
  auto* bio = BufferBio<Impl>::make(this);
  SSL_set_bio(s, bio, bio);
  SSL_set_app_data(s, this);
  const int mode = context.impl_->verify ? SSL_VERIFY_PEER | SSL_get_verify_mode(s) : SSL_VERIFY_NONE;
  SSL_set_verify(s, mode, on_verify<Impl>);
  if (!as_client) return SSL_set_accept_state(s);
  SSL_set_connect_state(s);
  const auto& alpn = context.impl_->alpn;
  if (!alpn.empty()) SSL_set_alpn_protos(s, bytes_of(alpn), static_cast<unsigned>(alpn.size()));
  auto* param = SSL_get0_param(s);
  X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  bool ok = true;
  if (is_ip(name)) {
    ok = X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str()) == 1;
  } else {
    ok = !name.empty() && SSL_set_tlsext_host_name(s, name.c_str()) == 1 &&
         X509_VERIFY_PARAM_set1_host(param, name.data(), name.size()) == 1;
  }
  if (!ok) throw Error(Code::Invalid, fmt::format("TLS: \"{}\" is not a server name", name));
}

namespace {

// What an error of OpenSSL means to a person.
Error meaning(unsigned long code) {
  switch (ERR_GET_REASON(code)) {
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: return {Code::Unauthorized, "the client showed no certificate"};
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED: return {Code::Unauthorized, "the peer requires a client certificate"};
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return {Code::Unauthorized, "the peer refused our certificate: unknown authority"};
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return {Code::Unauthorized, "the peer refused our certificate: expired"};
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN: return {Code::Unauthorized, "the peer refused our certificate"};
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_UNSUPPORTED_PROTOCOL: return {Code::Unavailable, "no TLS version in common (1.2 or 1.3 is needed)"};
    case SSL_R_NO_APPLICATION_PROTOCOL:
    case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: return {Code::Unavailable, "no application protocol in common"};
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_WRONG_VERSION_NUMBER: return {Code::Unavailable, "the peer does not speak TLS"};
    default: break;
  }
  const char* text = code != 0 ? ERR_reason_error_string(code) : nullptr;
  return {Code::Unavailable, text != nullptr ? text : "protocol error"};
}

}  // namespace

std::string TlsStream::Impl::who() const { return name.empty() ? "TLS" : fmt::format("TLS with {}", name); }

Error TlsStream::Impl::error(int ssl_error) const {
  const auto code = ssl_error == SSL_ERROR_SSL ? ERR_peek_error() : 0;
  ERR_clear_error();
  auto found = refused.empty() ? meaning(code) : Error(Code::Unauthorized, refused);
  found.with(who());
  return found;
}

Task<> TlsStream::Impl::flush() {
  if (out.empty()) co_return;
  const auto permit = co_await writing.acquire();
  while (!out.empty()) {
    if (torn) throw Error(Code::Unavailable, "connection closed");
    sending.clear();
    std::swap(sending, out);
    torn = true;
    co_await lower->write(sending);
    torn = false;
  }
}

// More encrypted bytes for OpenSSL.
Task<> TlsStream::Impl::fill() {
  co_await flush();
  if (!in) in = std::make_unique_for_overwrite<char[]>(kReadBuffer);
  const std::span<char> room(in.get(), kReadBuffer);
  const auto n = co_await lower->read(room);
  if (n == 0) {
    Error error(Code::Unavailable, shaking_hands ? "connection closed by the peer during the handshake"
                                                 : "connection closed by the peer without a TLS goodbye");
    throw std::move(error).with(who());
  }
  in_begin = 0;
  in_end = n;
}

Task<> TlsStream::Impl::handshake() {
  for (;;) {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl.get());
    if (result == 1) break;
    const int kind = SSL_get_error(ssl.get(), result);
    if (kind != SSL_ERROR_WANT_READ) {
      const auto why = error(kind);
      try {
        co_await flush();  // tells the peer why, as far as that is possible
      } catch (const Error&) {
      }
      throw why;
    }
    co_await fill();
  }
  co_await flush();
  shaking_hands = false;
  auto* certificate = SSL_get0_peer_certificate(ssl.get());
  if (certificate == nullptr || !context.impl_->verify) co_return;
  auto info = inspect(certificate);
  peer.emplace();
  peer->common_name = std::move(info.common_name);
  peer->organizations = std::move(info.organizations);
}

TlsStream::TlsStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsStream::~TlsStream() = default;

Task<std::unique_ptr<TlsStream>> TlsStream::client(std::unique_ptr<Stream> lower, TlsContext context,
                                                   std::string server_name) {
  auto impl = std::make_unique<Impl>(std::move(lower), std::move(context));
  impl->open(server_name, true);
  co_await impl->handshake();
  co_return std::unique_ptr<TlsStream>(new TlsStream(std::move(impl)));
}

Task<std::unique_ptr<TlsStream>> TlsStream::server(std::unique_ptr<Stream> lower, TlsContext context) {
  auto impl = std::make_unique<Impl>(std::move(lower), std::move(context));
  impl->open({}, false);
  co_await impl->handshake();
  co_return std::unique_ptr<TlsStream>(new TlsStream(std::move(impl)));
}

Task<std::size_t> TlsStream::read(std::span<char> into) {
  auto* ssl = impl_->ssl.get();
  std::size_t total = 0;
  for (;;) {
    ERR_clear_error();
    std::size_t n = 0;
    const int result = SSL_read_ex(ssl, into.data() + total, into.size() - total, &n);
    total += n;
    if (total == into.size()) co_return total;
    if (result == 1) continue;  // a record gives at most 16 KB: take all that came
    const int kind = SSL_get_error(ssl, result);
    const bool broken = kind != SSL_ERROR_WANT_READ && kind != SSL_ERROR_ZERO_RETURN;
    if (broken && !impl_->failed) impl_->failed = impl_->error(kind);
    if (total > 0) co_return total;  // first what came before the end
    if (broken) throw *impl_->failed;
    if (kind == SSL_ERROR_ZERO_RETURN) co_return 0;
    co_await impl_->fill();
  }
}

Task<> TlsStream::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto chunk = bytes.substr(0, kWriteChunk);
    ERR_clear_error();
    std::size_t n = 0;
    const int result = SSL_write_ex(impl_->ssl.get(), chunk.data(), chunk.size(), &n);
    if (result != 1) throw impl_->error(SSL_get_error(impl_->ssl.get(), result));
    bytes.remove_prefix(n);
    co_await impl_->flush();
  }
}

Task<> TlsStream::shutdown() {
  ERR_clear_error();
  SSL_shutdown(impl_->ssl.get());
  ERR_clear_error();
  co_await impl_->flush();
  co_await impl_->lower->shutdown();
}

void TlsStream::close() noexcept { impl_->lower->close(); }

std::string_view TlsStream::alpn() const {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(impl_->ssl.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

const std::optional<PeerIdentity>& TlsStream::peer() const { return impl_->peer; }

}  // namespace kopper::rt
