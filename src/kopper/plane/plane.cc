#include "kopper/plane/plane.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/json/utf8.h"
#include "kopper/plane/addresses.h"
#include "kopper/plane/auth/reviews.h"
#include "kopper/plane/cluster_objects.h"
#include "kopper/plane/compat.h"
#include "kopper/plane/conversions.h"
#include "kopper/plane/definitions.h"
#include "kopper/plane/expiry.h"
#include "kopper/plane/garbage.h"
#include "kopper/plane/namespaces.h"
#include "kopper/plane/priority.h"
#include "kopper/plane/save.h"
#include "kopper/plane/streams/pod_streams.h"
#include "kopper/plane/subresources.h"
#include "kopper/plane/webhooks/admission_webhooks.h"
#include "kopper/plane/webhooks/conversion_webhook.h"

namespace kopper::plane {
namespace {

bool is_health(const std::string& path) {
  return path == "/healthz" || path == "/livez" || path == "/readyz" || path.starts_with("/healthz/") ||
         path.starts_with("/livez/") || path.starts_with("/readyz/");
}

// Programs and users are named by headers, and objects and answers name them.
void repair_headers(http::Headers& headers) {
  const auto good = [](const http::Headers::Entry& entry) { return json::valid_utf8(entry.second); };
  if (std::ranges::all_of(headers, good)) return;
  http::Headers out;
  for (const auto& [name, value] : headers) out.add(name, json::repaired_utf8(value));
  headers = std::move(out);
}

// For who can refuse only by an Error: the Status is its message.
Error as_error(const Refusal& refusal) {
  Error error(Code::Invalid, json::dump(refusal.status()));
  error.http_status = refusal.code;
  return error;
}

}  // namespace

// Those who ask programs outside.
struct Plane::Webhooks {
  explicit Webhooks(Core& core) : caller(core), conversion(core, caller), admission(core, caller) {}

  WebhookCaller caller;
  ConversionHooks conversion;
  AdmissionWebhooks admission;
};

// They follow each other's changes through the state, and share one queue.
struct Plane::Controllers {
  Controllers(Core& core, bool all, const ServiceRange& services)
      : definitions(core, chores), addresses(core, services) {
    if (!all) return;
    garbage.emplace(core, chores);
    namespaces.emplace(core, chores);
  }

  Chores chores;
  Definitions definitions;
  Addresses addresses;
  std::optional<GarbageCollector> garbage;
  std::optional<NamespaceLifecycle> namespaces;
  std::optional<Expiry> events;
};

Plane::Plane(PlaneOptions options)
    : options_(std::move(options)),
      converter_(std::make_unique<Conversions>()),
      core_(options_.storage, options_.state),
      auth_(core_, options_.auth),
      gate_(options_.gate != nullptr ? *options_.gate : auth_),
      discovery_(core_.catalog, options_.version),
      openapi_(core_.catalog, options_.version),
      webhooks_(std::make_unique<Webhooks>(core_)),
      pod_streams_(std::make_unique<PodStreams>(core_)) {
  converter_->set_webhook(&webhooks_->conversion);
  core_.converter = converter_.get();
  serve_subresources(*this);
  core_.admit = [this](Call& call, Attempt& attempt) {
    admit_priority(core_, attempt);
    return auth_.admit(call, attempt);
  };
  if (minor_of(options_.version) < 22) serve("pods/ephemeralcontainers", old_ephemeral_containers);
  serve_reviews(*this, auth_);
  serve("pods/log", [this](Core&, Call& call) { return pod_streams_->log(call); });
  for (const char* path : {"pods/exec", "pods/attach", "pods/portforward"})
    serve(path, [this](Core&, Call& call) { return pod_streams_->without_upgrade(call); });
}

Plane::~Plane() = default;

Task<> Plane::start() {
  const ServiceRange services(options_.service_network);
  controllers_ = std::make_unique<Controllers>(core_, options_.controllers, services);
  co_await core_.state.load();
  controllers_->definitions.resume();
  controllers_->addresses.resume();
  core_.complete = [this](const Call& call, json::Value& object, const json::Value* old) {
    controllers_->addresses.complete(call, object, old);
  };
  if (controllers_->garbage) controllers_->garbage->resume();
  if (controllers_->namespaces) controllers_->namespaces->resume();
  if (options_.event_ttl.count() > 0) {
    controllers_->events.emplace(core_, "events", options_.event_ttl);
    controllers_->events->resume();
  }
  co_await make_cluster_objects(core_, options_.auth.address, services.at(1));
  co_await auth_.start();
  core_.admission = &webhooks_->admission;  // a webhook that is away does not keep the server from starting
}

Task<http::Response> Plane::handle(http::Request request) {
  Call call;
  try {
    call.info = request_info(request);
    call.request = std::move(request);
    repair_headers(call.request.headers);
    call.user = co_await gate_.authenticate(call.request);
    gate_.authorize(call);
    if (is_health(call.info.path)) co_return http::text_response(200, "ok");  // whatever the method
    if (!call.info.is_resource) co_return co_await dispatch_path(call);
    co_return co_await dispatch(call);
  } catch (const Refusal& refusal) {
    co_return refused(refusal, &call);
  } catch (const Error& error) {
    log::error("request failed", {{"method", call.request.method}, {"path", call.info.path}, {"error", error.what()}});
    co_return refused(internal(fmt::format("Internal error occurred: {}", error.what())), &call);
  }
}

Task<http::Response> Plane::dispatch_path(Call& call) {
  if (auto found = discovery_.answer(call)) co_return std::move(*found);
  if (auto found = openapi_.answer(call)) co_return std::move(*found);
  if (auto document = issuer_document(auth_, call)) co_return std::move(*document);
  if (const auto page = pages_.find(call.info.path); page != pages_.end()) co_return co_await page->second(core_, call);
  co_return no_such_page();
}

Task<http::Response> Plane::dispatch(Call& call) {
  const RequestInfo& info = call.info;
  call.resource = core_.catalog.find(info.group, info.version, info.resource);
  if (!call.resource) {
    // Groups of others are no part of the real server, which then has nothing to say.
    const Catalog::Group* group = core_.catalog.group(info.group);
    if (group == nullptr || group->versions.front().resources.front()->type == nullptr) co_return no_such_page();
    throw no_such_path();
  }
  const Resource& resource = *call.resource;
  if (!resource.namespaced && !info.namespace_.empty() && info.resource != "namespaces") throw no_such_path();
  if (!resource.deprecation.empty()) call.warnings.push_back(resource.deprecation);
  if (!info.subresource.empty()) {
    if (!resource.has(info.subresource)) {
      if (resource.custom) throw not_found(resource.subject(), info.name);
      throw no_such_path();
    }
    const auto special = special_.find(info.resource + "/" + info.subresource);
    if (special != special_.end()) co_return co_await special->second(core_, call);
    if (info.subresource == "scale") co_return co_await scale(core_, call);
    if (info.subresource != "status") throw no_such_path();
  } else if (const auto special = special_.find(info.group + "/" + info.resource); special != special_.end()) {
    co_return co_await special->second(core_, call);
  }
  if (call.request.method == "HEAD") throw method_not_allowed();
  if (info.name == "." || info.name == "..")
    throw bad_request(fmt::format("Name parameter invalid: \"{0}\": may not be '{0}'", info.name));
  const auto allowed = [&](Resource::Verb verb) {
    if ((resource.verbs & verb) == 0) throw method_not_allowed();
  };
  const bool placed = !resource.namespaced || !info.namespace_.empty();  // a write needs to know where
  const bool named = !info.name.empty();
  if (!placed && named) throw no_such_path();
  if (info.verb == "get" && placed) {
    allowed(Resource::Get);
    co_return co_await get(core_, call);
  }
  if (info.verb == "watch") {
    allowed(Resource::Watch);
    co_return co_await watch(core_, call);
  }
  if (info.verb == "list") {
    allowed(Resource::ListVerb);
    co_return co_await list(core_, call);
  }
  if (info.verb == "create" && placed && !named) {
    allowed(Resource::Create);
    co_return co_await create(core_, call);
  }
  if (info.verb == "update" && placed && named) {
    allowed(Resource::Update);
    co_return co_await update(core_, call);
  }
  if (info.verb == "patch" && placed && named) {
    allowed(Resource::Patch);
    co_return co_await patch(core_, call);
  }
  if (info.verb == "delete" && placed && info.subresource.empty()) {
    allowed(Resource::Delete);
    co_return co_await remove(core_, call);
  }
  if (info.verb == "deletecollection" && placed) {
    allowed(Resource::DeleteCollection);
    co_return co_await remove_collection(core_, call);
  }
  throw method_not_allowed();
}

void Plane::set_pod_host(PodHost* host) { pod_streams_->set_host(host); }

// Reaching into a pod is a creation, whatever the method: a WebSocket cannot be asked for but by GET.
Task<Call> Plane::admitted(http::Request request) {
  Call call;
  call.info = request_info(request);
  call.request = std::move(request);
  repair_headers(call.request.headers);
  call.user = co_await gate_.authenticate(call.request);
  gate_.authorize(call);
  call.resource = core_.catalog.find(call.info.group, call.info.version, call.info.resource);
  if (!call.resource || !call.resource->has(call.info.subresource)) throw no_such_path();
  if (call.info.verb != "create" && minor_of(options_.version) >= 35) {
    call.info.verb = "create";
    gate_.authorize(call);
  }
  co_return call;
}

Task<std::unique_ptr<http::WebSocket>> Plane::connect(http::Request request, std::vector<std::string> subprotocols) {
  try {
    const Call call = co_await admitted(std::move(request));
    co_return pod_streams_->connect(call, subprotocols);
  } catch (const Refusal& refusal) {
    throw as_error(refusal);
  }
}

Task<http::Upgraded> Plane::upgrade(http::Request request) {
  try {
    const Call call = co_await admitted(std::move(request));
    co_return pod_streams_->upgrade(call);
  } catch (const Refusal& refusal) {
    throw as_error(refusal);
  }
}

}  // namespace kopper::plane
