#include "kopper/client/credentials.h"

#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/client/detail/text.h"

namespace kopper::client {
namespace {

constexpr std::size_t kMaxTokenBytes = std::size_t{1} << 20U;

// Who a request comes from: a header, or a certificate that the connection shows.
struct Identity {
  std::string authorization;
  std::string certificate;

  friend bool operator==(const Identity&, const Identity&) = default;
};

class Source {
 public:
  virtual ~Source() = default;
  virtual Task<Identity> get() = 0;
  virtual bool renewable() const { return false; }
  // A server refused `refused`; the same again means that there is no other.
  virtual Task<Identity> renew(Identity refused) { co_return refused; }
};

class Fixed final : public Source {
 public:
  explicit Fixed(std::string authorization) : authorization_(std::move(authorization)) {}
  Task<Identity> get() override {
    Identity identity{authorization_, ""};
    co_return identity;
  }

 private:
  std::string authorization_;
};

class FromFile final : public Source {
 public:
  FromFile(std::string path, std::string fallback) : file_(std::move(path)), fallback_(std::move(fallback)) {}
  Task<Identity> get() override {
    Identity identity{bearer(false), ""};
    co_return identity;
  }
  bool renewable() const override { return true; }
  Task<Identity> renew(Identity) override {
    Identity identity{bearer(true), ""};
    co_return identity;
  }

 private:
  // A kubeconfig may have both: the file wins as soon as it can be read.
  std::string bearer(bool again) {
    try {
      return fmt::format("Bearer {}", again ? file_.reread() : file_.get());
    } catch (const Error&) {
      if (fallback_.empty()) throw;
      return fmt::format("Bearer {}", fallback_);
    }
  }

  TokenFile file_;
  std::string fallback_;
};

class FromPlugin final : public Source {
 public:
  explicit FromPlugin(std::shared_ptr<ExecPlugin> plugin) : plugin_(std::move(plugin)) {}
  Task<Identity> get() override {
    const auto credential = co_await plugin_->get();
    co_return identity(*credential);
  }
  bool renewable() const override { return true; }
  Task<Identity> renew(Identity refused) override {
    // Only if what we hand out now is what was refused: another call may have renewed it meanwhile.
    const auto now = plugin_->current();
    if (now && identity(*now) != refused) co_return identity(*now);
    const auto renewed = co_await plugin_->renew(now);
    co_return identity(*renewed);
  }

 private:
  static Identity identity(const ExecCredential& credential) {
    return {credential.token.empty() ? "" : "Bearer " + credential.token, credential.client_certificate};
  }

  std::shared_ptr<ExecPlugin> plugin_;
};

std::unique_ptr<Source> make_source(const Config& config, std::shared_ptr<ExecPlugin> plugin) {
  if (!config.token_file.empty()) return std::make_unique<FromFile>(config.token_file, config.token);
  if (!config.token.empty()) return std::make_unique<Fixed>("Bearer " + config.token);
  if (!config.username.empty() || !config.password.empty()) {
    const auto pair = fmt::format("{}:{}", config.username, config.password);
    return std::make_unique<Fixed>("Basic " + detail::to_base64(pair));
  }
  if (plugin) return std::make_unique<FromPlugin>(std::move(plugin));
  return std::make_unique<Fixed>("");
}

// The key of an extra may hold what the name of a header may not: those bytes, and '%', are written %XX.
std::string escape_key(std::string_view key) {
  constexpr std::string_view kLegal = "!#$&'*+-.^_`|~";
  std::string out;
  for (const char c : key) {
    const bool legal = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       kLegal.find(c) != std::string_view::npos;
    out += legal ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

http::Headers impersonation_headers(const Impersonation& as) {
  http::Headers headers;
  if (as.user.empty()) return headers;
  headers.add("Impersonate-User", as.user);
  if (!as.uid.empty()) headers.add("Impersonate-Uid", as.uid);
  for (const auto& group : as.groups) headers.add("Impersonate-Group", group);
  for (const auto& [key, values] : as.extra) {
    const auto name = "Impersonate-Extra-" + escape_key(key);
    for (const auto& value : values) headers.add(name, value);
  }
  return headers;
}

class Authenticated final : public http::Handler {
 public:
  Authenticated(std::shared_ptr<http::Handler> inner, const Impersonation& as, std::unique_ptr<Source> source)
      : inner_(std::move(inner)), impersonate_(impersonation_headers(as)), source_(std::move(source)) {}

  Task<http::Response> handle(http::Request request) override {
    impersonate(request);
    if (request.headers.get("Authorization")) co_return co_await inner_->handle(std::move(request));
    const auto identity = co_await source_->get();
    if (!source_->renewable()) {
      sign(request, identity);
      co_return co_await inner_->handle(std::move(request));
    }
    auto first_try = request;
    sign(first_try, identity);
    auto response = co_await inner_->handle(std::move(first_try));
    if (response.status != 401) co_return response;
    const auto other = co_await renewed(identity);
    if (other == identity) co_return response;
    response.body.reset();  // gives the stream up before the next one starts
    sign(request, other);
    co_return co_await inner_->handle(std::move(request));
  }

  Task<std::unique_ptr<http::WebSocket>> connect(http::Request request, std::vector<std::string> protocols) override {
    impersonate(request);
    if (request.headers.get("Authorization")) co_return co_await inner_->connect(std::move(request), protocols);
    const auto identity = co_await source_->get();
    std::exception_ptr refusal;
    try {
      auto first_try = request;
      sign(first_try, identity);
      co_return co_await inner_->connect(std::move(first_try), protocols);
    } catch (const Error& error) {
      if (error.http_status != 401) throw;
      refusal = std::current_exception();
    }
    const auto other = co_await renewed(identity);
    if (other == identity) std::rethrow_exception(refusal);
    sign(request, other);
    co_return co_await inner_->connect(std::move(request), protocols);
  }

 private:
  void impersonate(http::Request& request) const {
    if (request.headers.get("Impersonate-User")) return;
    for (const auto& [name, value] : impersonate_) request.headers.add(name, value);
  }

  static void sign(http::Request& request, const Identity& identity) {
    if (!identity.authorization.empty()) request.headers.set("Authorization", identity.authorization);
  }

  // The server's 401 says more than a plugin that fails now: then it stays.
  Task<Identity> renewed(Identity refused) {
    std::string problem;
    try {
      co_return co_await source_->renew(refused);
    } catch (const Error& error) {
      problem = error.what();
    }
    log::warn("credentials refused and not renewed", {{"error", problem}});
    co_return refused;
  }

  // constant after construction
  std::shared_ptr<http::Handler> inner_;
  http::Headers impersonate_;
  std::unique_ptr<Source> source_;
};

std::string read_token(rt::RotatedFile& file) {
  auto token = detail::trimmed(file.read());
  const auto path = file.path().string();
  if (token.empty()) throw Error(Code::Unauthorized, fmt::format("token file {}: empty", path));
  if (token.size() > kMaxTokenBytes || !detail::is_token(token)) {
    throw Error(Code::Unauthorized, fmt::format("token file {}: not a token", path));
  }
  return token;
}

}  // namespace

const std::string& TokenFile::get() {
  if (!token_.empty() && !file_.changed()) return token_;
  try {
    token_ = read_token(file_);
    failing_ = false;
  } catch (Error& error) {
    if (token_.empty()) {
      error.code = Code::Unauthorized;
      throw;
    }
    if (!std::exchange(failing_, true)) log::warn("token not re-read, using the last one", {{"error", error.what()}});
  }
  return token_;
}

const std::string& TokenFile::reread() {
  file_ = rt::RotatedFile(file_.path());
  return get();
}

std::shared_ptr<ExecPlugin> make_plugin(const Config& config) {
  const bool identified = !config.token.empty() || !config.token_file.empty() || !config.username.empty() ||
                          !config.password.empty() || !config.client_cert.empty();
  return config.exec && !identified ? std::make_shared<ExecPlugin>(config) : nullptr;
}

std::shared_ptr<http::Handler> with_credentials(std::shared_ptr<http::Handler> inner, const Config& config,
                                                std::shared_ptr<ExecPlugin> plugin) {
  return std::make_shared<Authenticated>(std::move(inner), config.impersonate, make_source(config, std::move(plugin)));
}

}  // namespace kopper::client
