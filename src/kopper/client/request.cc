#include "kopper/client/request.h"

#include <utility>

#include "kopper/base/error.h"
#include "kopper/http/url.h"
#include "kopper/json/value.h"

namespace kopper::client {
namespace {

constexpr std::string_view kJson = "application/json";
// The second type is for servers and aggregated APIs that cannot cut an object down.
constexpr std::string_view kPartialObject =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
constexpr std::string_view kPartialList =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

const Resource& pods() {
  static const Resource resource{.group = "", .version = "v1", .plural = "pods", .kind = "Pod", .namespaced = true};
  return resource;
}

// Adds what is set; an empty text is not.
void add(http::Query& query, std::string_view name, std::string_view value) {
  if (!value.empty()) query.add(name, value);
}

void add_flag(http::Query& query, std::string_view name, bool value) {
  if (value) query.add(name, true);
}

void add(http::Query& query, FieldValidation validation) {
  switch (validation) {
    case FieldValidation::ServerDefault: return;
    case FieldValidation::Ignore: query.add("fieldValidation", "Ignore"); return;
    case FieldValidation::Warn: query.add("fieldValidation", "Warn"); return;
    case FieldValidation::Strict: query.add("fieldValidation", "Strict"); return;
  }
}

void add(http::Query& query, VersionMatch match) {
  switch (match) {
    case VersionMatch::ServerDefault: return;
    case VersionMatch::Exact: query.add("resourceVersionMatch", "Exact"); return;
    case VersionMatch::NotOlderThan: query.add("resourceVersionMatch", "NotOlderThan"); return;
  }
}

// What create, update and the patches have in common.
template <class Options>
http::Query write_query(const Options& options) {
  http::Query query;
  if (options.dry_run) query.add("dryRun", "All");
  add(query, "fieldManager", options.field_manager);
  add(query, options.field_validation);
  return query;
}

http::Request request(std::string method, std::string target, std::string_view accept = kJson) {
  http::Request made;
  made.method = std::move(method);
  made.target = std::move(target);
  made.headers.add("accept", accept);
  return made;
}

http::Request with_body(http::Request made, std::string body, std::string_view type = kJson) {
  made.headers.add("content-type", type);
  made.body = std::move(body);
  return made;
}

json::Value delete_body(const DeleteOptions& options) {
  json::Value body{json::Object{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}}};
  switch (options.propagation) {
    case Propagation::ServerDefault: break;
    case Propagation::Background: body["propagationPolicy"] = "Background"; break;
    case Propagation::Foreground: body["propagationPolicy"] = "Foreground"; break;
    case Propagation::Orphan: body["propagationPolicy"] = "Orphan"; break;
  }
  if (options.grace_period_seconds) body["gracePeriodSeconds"] = *options.grace_period_seconds;
  if (!options.uid.empty()) body["preconditions"]["uid"] = options.uid;
  if (!options.resource_version.empty()) body["preconditions"]["resourceVersion"] = options.resource_version;
  if (options.dry_run) body["dryRun"] = json::Array{json::Value("All")};
  return body;
}

std::string_view media_type(PatchType type) {
  switch (type) {
    case PatchType::Json: return "application/json-patch+json";
    case PatchType::Merge: return "application/merge-patch+json";
    case PatchType::Strategic: return "application/strategic-merge-patch+json";
  }
  return {};
}

http::Request io_request(const Key& pod, std::string_view subresource, const ExecOptions& options) {
  http::Query query;
  for (const auto& word : options.command) query.add("command", word);
  add(query, "container", options.container);
  add_flag(query, "stdin", options.stdin_);
  add_flag(query, "stdout", options.stdout_);
  // The API refuses stderr with a tty: there is one stream only.
  add_flag(query, "stderr", options.stderr_ && !options.tty);
  add_flag(query, "tty", options.tty);
  auto made = request("GET", query.on(pods().object_path(pod, subresource)), "*/*");
  made.long_running = true;
  return made;
}

}  // namespace

http::Request get_request(const Resource& resource, const Key& key, const GetOptions& options, View view) {
  http::Query query;
  add(query, "resourceVersion", options.resource_version);
  return request("GET", query.on(resource.object_path(key, options.subresource)),
                 view == View::Whole ? kJson : kPartialObject);
}

http::Request list_request(const Resource& resource, const ListOptions& options, std::string_view continue_token,
                           View view) {
  http::Query query;
  add(query, "labelSelector", options.label_selector);
  add(query, "fieldSelector", options.field_selector);
  if (options.page_size > 0) query.add("limit", options.page_size);
  if (!continue_token.empty()) {
    // The token holds the version; the server refuses both together.
    query.add("continue", continue_token);
  } else {
    add(query, "resourceVersion", options.resource_version);
    add(query, options.version_match);
  }
  return request("GET", query.on(resource.collection_path(options.namespace_)),
                 view == View::Whole ? kJson : kPartialList);
}

http::Request watch_request(const Resource& resource, const WatchOptions& options, View view) {
  http::Query query;
  query.add("watch", true);
  add(query, "labelSelector", options.label_selector);
  add(query, "fieldSelector", options.field_selector);
  add(query, "resourceVersion", options.resource_version);
  if (options.initial_events) {
    // All three belong together: the end of the initial events is a bookmark, and a version match is required.
    query.add("sendInitialEvents", true);
    query.add("resourceVersionMatch", "NotOlderThan");
  }
  add_flag(query, "allowWatchBookmarks", options.bookmarks || options.initial_events);
  if (options.timeout) query.add("timeoutSeconds", options.timeout->count());
  auto made = request("GET", query.on(resource.collection_path(options.namespace_)),
                      view == View::Whole ? kJson : kPartialObject);
  made.long_running = true;
  return made;
}

http::Request create_request(const Resource& resource, const Key& key, std::string body, const WriteOptions& options) {
  if (resource.namespaced && key.namespace_.empty()) {
    throw Error(Code::Invalid, resource.name() + " \"" + key.name + "\": the namespace is empty");
  }
  const auto path = options.subresource.empty() ? resource.collection_path(key.namespace_)
                                                : resource.object_path(key, options.subresource);
  return with_body(request("POST", write_query(options).on(path)), std::move(body));
}

http::Request update_request(const Resource& resource, const Key& key, std::string body, const WriteOptions& options) {
  const auto path = resource.object_path(key, options.subresource);
  return with_body(request("PUT", write_query(options).on(path)), std::move(body));
}

http::Request patch_request(const Resource& resource, const Key& key, PatchType type, std::string body,
                            const PatchOptions& options, View view) {
  const auto path = resource.object_path(key, options.subresource);
  const auto accept = view == View::Whole ? kJson : kPartialObject;
  return with_body(request("PATCH", write_query(options).on(path), accept), std::move(body), media_type(type));
}

http::Request apply_request(const Resource& resource, const Key& key, std::string body, const ApplyOptions& options) {
  auto query = write_query(options);
  add_flag(query, "force", options.force);
  const auto path = resource.object_path(key, options.subresource);
  // JSON is YAML, and the +yaml type is what every server since 1.16 knows.
  return with_body(request("PATCH", query.on(path)), std::move(body), "application/apply-patch+yaml");
}

http::Request delete_request(const Resource& resource, const Key& key, const DeleteOptions& options) {
  return with_body(request("DELETE", resource.object_path(key)), json::dump(delete_body(options)));
}

http::Request delete_collection_request(const Resource& resource, const ListOptions& which,
                                        const DeleteOptions& options) {
  http::Query query;
  add(query, "labelSelector", which.label_selector);
  add(query, "fieldSelector", which.field_selector);
  // The answer lists what was deleted: names are enough.
  return with_body(request("DELETE", query.on(resource.collection_path(which.namespace_)), kPartialList),
                   json::dump(delete_body(options)));
}

http::Request evict_request(const Key& pod, const DeleteOptions& options, std::string_view api_version) {
  const json::Value body{json::Object{{"apiVersion", api_version},
                                      {"kind", "Eviction"},
                                      {"metadata", json::Object{{"name", pod.name}, {"namespace", pod.namespace_}}},
                                      {"deleteOptions", delete_body(options)}}};
  return with_body(request("POST", pods().object_path(pod, "eviction")), json::dump(body));
}

http::Request log_request(const Key& pod, const LogOptions& options) {
  http::Query query;
  add(query, "container", options.container);
  add_flag(query, "follow", options.follow);
  add_flag(query, "previous", options.previous);
  add_flag(query, "timestamps", options.timestamps);
  query.add("tailLines", options.tail_lines);
  query.add("limitBytes", options.limit_bytes);
  if (options.since) query.add("sinceSeconds", options.since->count());
  add(query, "sinceTime", options.since_time);
  // Errors come as JSON, logs as text.
  auto made = request("GET", query.on(pods().object_path(pod, "log")), "*/*");
  made.long_running = true;
  return made;
}

http::Request exec_request(const Key& pod, const ExecOptions& options) {
  if (options.command.empty()) throw Error(Code::Invalid, "exec in pod \"" + pod.str() + "\": the command is empty");
  return io_request(pod, "exec", options);
}

http::Request attach_request(const Key& pod, const ExecOptions& options) { return io_request(pod, "attach", options); }

http::Request port_forward_request(const Key& pod, const std::vector<std::uint16_t>& ports) {
  http::Query query;
  for (const auto port : ports) query.add("ports", port);
  auto made = request("GET", query.on(pods().object_path(pod, "portforward")), "*/*");
  made.long_running = true;
  return made;
}

}  // namespace kopper::client
