#include "kopper/plane/webhooks/webhook_caller.h"

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/meta/base64.h"
#include "kopper/rt/scope.h"

namespace kopper::plane {
namespace {

constexpr rt::Duration kKeep = std::chrono::minutes(2);
constexpr std::size_t kMaxAnswer = std::size_t{16} << 20U;

struct Address {
  std::string ip;
  std::int64_t port = 0;
};

const json::Array& items(const json::Value& value) {
  static const json::Array none;
  return value.as_array() != nullptr ? *value.as_array() : none;
}

std::int64_t port_called(const json::Value& ports, std::string_view name) {
  for (const json::Value& port : items(ports))
    if (port.text("name") == name && port["port"].as_int() != nullptr) return *port["port"].as_int();
  return 0;
}

template <class Visit>
void each_in(Core& core, const std::string& table, const std::string& namespace_, Visit visit) {
  const auto& objects = core.state.table(table).objects();
  for (auto at = objects.lower_bound(Table::Place(namespace_, ""));
       at != objects.end() && at->first.first == namespace_; ++at)
    visit(*at->second);
}

std::vector<Address> addresses_of(Core& core, const std::string& namespace_, const std::string& service,
                                  std::string_view port_name) {
  std::vector<Address> out;
  each_in(core, "endpointslices.discovery.k8s.io", namespace_, [&](const Stored& stored) {
    const json::Value slice = stored.value();
    if (slice["metadata"]["labels"].text("kubernetes.io/service-name") != service) return;
    const std::int64_t port = port_called(slice["ports"], port_name);
    if (port == 0) return;
    for (const json::Value& endpoint : items(slice["endpoints"])) {
      const bool* ready = endpoint["conditions"]["ready"].as_bool();
      if (ready != nullptr && !*ready) continue;
      for (const json::Value& address : items(endpoint["addresses"]))
        if (address.is_string()) out.push_back({.ip = *address.as_string(), .port = port});
    }
  });
  if (!out.empty()) return out;
  const StoredRef endpoints = core.state.table("endpoints").find(namespace_, service);
  if (!endpoints) return out;
  const json::Value value = endpoints->value();
  for (const json::Value& subset : items(value["subsets"])) {
    const std::int64_t port = port_called(subset["ports"], port_name);
    if (port == 0) continue;
    for (const json::Value& address : items(subset["addresses"]))
      out.push_back({.ip = std::string(address.text("ip")), .port = port});
  }
  return out;
}

// What clients of Kubernetes say of an answer that is not a success.
std::string meaning_of(int status, const std::string& body) {
  if (const auto parsed = json::parse(body);
      parsed && parsed->text("kind") == "Status" && !parsed->text("message").empty())
    return std::string(parsed->text("message"));
  switch (status) {
    case 400: return "the server rejected our request for an unknown reason";
    case 401: return "the server has asked for the client to provide credentials";
    case 403: return "forbidden: " + body;
    case 404: return "the server could not find the requested resource";
    case 405: return "the server does not allow this method on the requested resource";
    case 415: return "the body of the request was in an unknown format";
    case 429: return "the server has received too many requests and has asked us to try again later";
    case 503: return "the server is currently unable to handle the request";
    case 504: return "the server was unable to return a response in the time allotted";
    default: break;
  }
  const std::string_view text = std::string_view(body).substr(0, body.find_last_not_of(" \n\r\t") + 1);
  if (status >= 500)
    return fmt::format("an error on the server (\"{}\") has prevented the request from succeeding",
                       text.empty() ? "unknown" : text);
  return fmt::format("the server responded with the status code {} but did not return more information", status);
}

// What went wrong on the way, as Go says it: operators look for these words in the events of their users.
std::string go_words(const Error& error, const std::string& address) {
  const std::string_view what = error.what();
  if (error.code == Code::Timeout) return "context deadline exceeded";
  if (what.ends_with("Connection refused")) return fmt::format("dial tcp {}: connect: connection refused", address);
  if (what.ends_with("No route to host")) return fmt::format("dial tcp {}: connect: no route to host", address);
  if (what.ends_with("certificate signed by unknown authority"))
    return "tls: failed to verify certificate: x509: certificate signed by unknown authority";
  return std::string(what);
}

struct Answer {
  int status = 0;
  std::string body;
};

// outlives: the caller keeps the client
Task<Answer> exchange(http::Handler* client, http::Request request) {
  http::Response response = co_await client->handle(std::move(request));
  Answer out;
  out.status = response.status;
  out.body = co_await http::read_all(*response.body, kMaxAnswer);
  co_return out;
}

}  // namespace

WebhookTarget webhook_target(const json::Value& config) {
  const json::Value& service = config["service"];
  WebhookTarget out{.url = std::string(config.text("url")),
                    .service_namespace = std::string(service.text("namespace")),
                    .service_name = std::string(service.text("name")),
                    .service_path = std::string(service.text("path")),
                    .ca_bundle = std::string(config.text("caBundle"))};
  if (const std::int64_t* port = service["port"].as_int()) out.service_port = *port;
  return out;
}

struct WebhookCaller::Client {
  std::unique_ptr<http::Handler> handler;
  rt::TimePoint used;
};

WebhookCaller::WebhookCaller(Core& core, Connect connect) : core_(core), connect_(std::move(connect)) {}

WebhookCaller::~WebhookCaller() = default;

WebhookCaller::Endpoint WebhookCaller::resolve(const WebhookTarget& target) {
  if (!target.url.empty()) {
    auto url = http::parse_url(target.url);
    if (!url) throw Error(Code::Invalid, url.error().what);
    Endpoint out{.origin = *url, .server_name = "", .host = url->authority(), .path = url->path};
    out.origin.path.clear();
    out.origin.query.clear();
    return out;
  }
  const StoredRef stored = core_.state.table("services").find(target.service_namespace, target.service_name);
  if (!stored) throw Error(Code::Unavailable, fmt::format("service \"{}\" not found", target.service_name));
  const json::Value service = stored->value();
  Endpoint out;
  out.server_name = fmt::format("{}.{}.svc", target.service_name, target.service_namespace);
  out.host = fmt::format("{}:{}", out.server_name, target.service_port);
  out.path = target.service_path;
  out.origin.scheme = "https";
  if (service["spec"].text("type") == "ExternalName") {
    out.origin.host = service["spec"].text("externalName");
    out.origin.port = static_cast<std::uint16_t>(target.service_port);
    return out;
  }
  const json::Value* port = nullptr;
  for (const json::Value& one : items(service["spec"]["ports"]))
    if (one["port"] == json::Value(target.service_port)) port = &one;
  if (port == nullptr)
    throw Error(Code::Unavailable,
                fmt::format("no service port {} found for service \"{}\"", target.service_port, target.service_name));
  const std::vector<Address> all =
      addresses_of(core_, target.service_namespace, target.service_name, port->text("name"));
  if (all.empty())
    throw Error(Code::Unavailable, fmt::format("no endpoints available for service \"{}\"", target.service_name));
  const Address& address = all[turn_++ % all.size()];
  out.origin.host = address.ip;
  out.origin.port = static_cast<std::uint16_t>(address.port);
  return out;
}

void WebhookCaller::close_unused() {
  const rt::TimePoint now = rt::Loop::current().now();
  std::erase_if(clients_,
                [&](const auto& entry) { return entry.second.use_count() == 1 && now - entry.second->used > kKeep; });
}

std::shared_ptr<WebhookCaller::Client> WebhookCaller::client(const Endpoint& endpoint, const std::string& ca_bundle) {
  close_unused();
  std::shared_ptr<Client>& kept =
      clients_[fmt::format("{} {} {}", endpoint.origin.host_port(), endpoint.server_name, ca_bundle)];
  if (!kept) {
    kept = std::make_shared<Client>();
    rt::TlsClientOptions tls;
    tls.ca_pem = meta::from_base64(ca_bundle).value_or(ca_bundle);  // what is not base64 is no PEM either: an error
    http::ClientOptions options;
    options.origin = endpoint.origin;
    options.server_name = endpoint.server_name;
    options.tls = [tls] { return tls; };
    kept->handler = connect_(std::move(options));
  }
  kept->used = rt::Loop::current().now();
  return kept;
}

Task<json::Value> WebhookCaller::post(WebhookTarget target, json::Value review, std::chrono::seconds timeout) {
  std::string shown = target.url;
  if (shown.empty())
    shown = fmt::format("https://{}.{}.svc:{}{}", target.service_name, target.service_namespace, target.service_port,
                        target.service_path);
  shown += fmt::format("?timeout={}s", timeout.count());
  Answer answer;
  std::string address;
  try {
    const Endpoint endpoint = resolve(target);
    address = endpoint.origin.host_port();
    const std::shared_ptr<Client> kept = client(endpoint, target.ca_bundle);
    http::Request request;
    request.method = "POST";
    request.target = fmt::format("{}?timeout={}s", endpoint.path.empty() ? "/" : endpoint.path, timeout.count());
    request.headers.set("host", endpoint.host);
    request.headers.set("content-type", "application/json");
    request.headers.set("accept", "application/json, */*");
    request.headers.set("user-agent", "kube-apiserver-admission");
    request.body = json::dump(review);
    answer = co_await rt::timeout(timeout, exchange(kept->handler.get(), std::move(request)));
  } catch (const Error& error) {
    throw Error(error.code, fmt::format("Post \"{}\": {}", shown, go_words(error, address)));
  }
  if (answer.status < 200 || answer.status > 206)
    throw Error(Code::Unavailable, meaning_of(answer.status, answer.body));
  auto parsed = json::parse(answer.body);
  if (!parsed)
    throw Error(Code::Invalid, fmt::format("couldn't get version/kind; json parse error: {}", parsed.error().what));
  co_return std::move(*parsed);
}

}  // namespace kopper::plane
