#include "kopper/client/exec_plugin.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kopper/api/time.h"
#include "kopper/client/detail/text.h"
#include "kopper/json/value.h"
#include "kopper/rt/file.h"
#include "kopper/rt/process.h"
#include "kopper/rt/scope.h"

namespace kopper::client {
namespace {

constexpr auto kTimeLimit = std::chrono::seconds(60);
constexpr std::size_t kMaxOutput = std::size_t{4} << 20U;
constexpr std::size_t kMaxWords = 1000;

std::string ca_of(const Pem& ca) {
  if (!ca.data.empty() || ca.file.empty()) return ca.data;
  try {
    return rt::read_file(ca.file);
  } catch (const Error& error) {
    throw Error(Code::Invalid, error.what());  // not "not found", which is about the plugin
  }
}

json::Object cluster_info(const Config& config) {
  json::Object cluster;
  cluster["server"] = config.server;
  if (!config.tls_server_name.empty()) cluster["tls-server-name"] = config.tls_server_name;
  if (config.insecure) cluster["insecure-skip-tls-verify"] = true;
  const auto ca = ca_of(config.ca);
  if (!ca.empty()) cluster["certificate-authority-data"] = detail::to_base64(ca);
  if (!config.proxy_url.empty()) cluster["proxy-url"] = config.proxy_url;
  if (config.disable_compression) cluster["disable-compression"] = true;
  cluster["config"] = config.exec->cluster_config;
  return cluster;
}

// What a program wrote to standard error as one line, the end of it when it is long: the cause stands last.
std::string one_line(std::string_view words) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto end = words.find_last_not_of(kSpace);
  words = words.substr(0, end == words.npos ? 0 : end + 1);
  const bool cut = words.size() > kMaxWords;
  if (cut) words.remove_prefix(words.size() - kMaxWords);
  std::string out = cut ? "…" : "";
  for (const char c : words) {
    const auto byte = static_cast<unsigned char>(c);
    const bool space = byte <= 0x20 || byte == 0x7f;  // terminal escapes lose their ESC here
    if (!space) out += c;
    if (space && !out.empty() && out.back() != ' ') out += ' ';
  }
  return out;
}

std::string joined(std::string_view what, std::string_view more) {
  return more.empty() ? std::string(what) : fmt::format("{}: {}", what, more);
}

Error refused(std::string what) { return {Code::Unauthorized, std::move(what)}; }

}  // namespace

std::string exec_info(const Config& config) {
  json::Object spec;
  if (config.exec->provide_cluster_info) spec["cluster"] = cluster_info(config);
  spec["interactive"] = false;
  json::Object info;
  info["kind"] = "ExecCredential";
  info["apiVersion"] = config.exec->api_version;
  info["spec"] = std::move(spec);
  return json::dump(info);
}

std::expected<ExecCredential, Error> parse_exec_credential(std::string_view output, std::string_view api_version) {
  const auto root = json::parse(output, {.depth = 32, .bytes = kMaxOutput});
  if (!root) return std::unexpected(refused(fmt::format("its output is not JSON: {}", root.error().str())));
  if (root->text("kind") != "ExecCredential") return std::unexpected(refused("its output is not an ExecCredential"));
  if (root->text("apiVersion") != api_version) {
    return std::unexpected(
        refused(fmt::format("apiVersion: expected \"{}\", found \"{}\"", api_version, root->text("apiVersion"))));
  }
  const auto& status = (*root)["status"];
  if (!status.is_object()) return std::unexpected(refused("status: missing"));

  ExecCredential out;
  const std::pair<std::string_view, std::string*> fields[] = {
      {"token", &out.token},
      {"clientCertificateData", &out.client_certificate},
      {"clientKeyData", &out.client_key},
  };
  for (const auto& [name, text] : fields) {
    const auto& value = status[name];
    if (!value.is_null() && !value.is_string()) {
      return std::unexpected(refused(fmt::format("status.{}: expected a string", name)));
    }
    *text = status.text(name);
  }
  if (!detail::is_token(out.token)) return std::unexpected(refused("status.token: not a token"));
  if (out.client_certificate.empty() != out.client_key.empty()) {
    return std::unexpected(refused("status: clientCertificateData and clientKeyData come together"));
  }
  if (out.token.empty() && out.client_certificate.empty()) {
    return std::unexpected(refused("status: has neither a token nor a client certificate"));
  }
  if (const auto& expires = status["expirationTimestamp"]; !expires.is_null()) {
    const auto time = api::Time::parse(status.text("expirationTimestamp"));
    if (!time) return std::unexpected(refused("status.expirationTimestamp: not a time"));
    if (time->is_set()) out.expires = time->point();
  }
  return out;
}

bool ExecPlugin::fresh() const {
  return current_ && (!current_->expires || rt::Loop::current().wall_now() < *current_->expires);
}

Task<ExecPlugin::Credential> ExecPlugin::get() {
  if (fresh()) co_return current_;
  co_return co_await run();
}

Task<ExecPlugin::Credential> ExecPlugin::renew(Credential refused_one) {
  if (refused_one != current_ && fresh()) co_return current_;
  co_return co_await run();
}

// Runs the plugin, or waits for the run that is under way and shares its outcome. When the one who runs it is
// cancelled, the next in line runs it.
Task<ExecPlugin::Credential> ExecPlugin::run() {
  const auto seen = runs_;
  while (running_) co_await rt::Waiter(waiting_);
  if (runs_ != seen) {
    if (failure_) std::rethrow_exception(failure_);
    co_return current_;
  }
  struct Running {
    ExecPlugin& plugin;
    explicit Running(ExecPlugin& p) : plugin(p) { plugin.running_ = true; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() {
      plugin.running_ = false;
      plugin.waiting_.wake_all();
    }
  } const running(*this);

  try {
    auto credential = co_await execute();
    current_ = std::make_shared<const ExecCredential>(std::move(credential));
    failure_ = nullptr;
  } catch (const Error&) {
    failure_ = std::current_exception();
  }
  ++runs_;
  if (failure_) std::rethrow_exception(failure_);
  co_return current_;
}

Task<ExecCredential> ExecPlugin::execute() const {
  const auto& spec = *config_.exec;
  try {
    if (spec.interactive_mode == InteractiveMode::Always) {
      throw refused("interactiveMode is Always, and there is no terminal for it");
    }
    rt::ProcessSpec process;
    process.argv.push_back(spec.command);
    process.argv.insert(process.argv.end(), spec.args.begin(), spec.args.end());
    process.env = spec.env;
    process.env.emplace_back("KUBERNETES_EXEC_INFO", exec_info(config_));
    process.output_limit = kMaxOutput;
    const auto result = co_await rt::timeout(kTimeLimit, rt::run_process(std::move(process)));
    if (!result.status.ok()) throw refused(joined(result.status.str(), one_line(result.err)));
    auto credential = parse_exec_credential(result.out, spec.api_version);
    if (!credential) throw credential.error();
    co_return *std::move(credential);
  } catch (Error& error) {
    if (error.code == Code::NotFound) {
      const auto hint = one_line(spec.install_hint);
      error = refused(joined("not found", hint));
    }
    throw std::move(error).with(fmt::format("exec plugin {}", spec.command));
  }
}

}  // namespace kopper::client
