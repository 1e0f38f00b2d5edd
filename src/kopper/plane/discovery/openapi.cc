#include "kopper/plane/discovery/openapi.h"

#include <fmt/format.h>

#include "kopper/json/writer.h"
#include "kopper/plane/accept.h"
#include "kopper/plane/discovery/discovery.h"
#include "kopper/plane/discovery/openapi_documents.h"
#include "kopper/plane/discovery/openapi_paths.h"

namespace kopper::plane {
namespace {

enum class Form : std::uint8_t { None, Json, Protobuf };

// What of `accept` can be had, the most wanted.
Form form_of(std::string_view accept, bool protobuf) {
  if (accept.empty()) return Form::Json;
  for (const auto& [type, parameters] : parse_accept(accept)) {
    if (type == "application/json" || type == "*/*" || type == "application/*") return Form::Json;
    if (protobuf && (type == "application/com.github.proto-openapi.spec.v2@v1.0+protobuf" ||
                     type == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"))
      return Form::Protobuf;
  }
  return Form::None;
}

http::Response empty(int status) {
  http::Response out = http::text_response(status, "");
  out.headers.remove("content-type");
  return out;
}

http::Response document(const Call& call, std::string bytes, std::string_view type, const std::string& hash) {
  const std::string etag = fmt::format("\"{}\"", hash);
  http::Response out;
  if (call.header("if-none-match") == etag) {
    out = empty(304);
    out.headers.remove("content-length");
  } else {
    out = http::text_response(200, std::move(bytes), type);
  }
  out.headers.set("etag", etag);
  out.headers.set("vary", "Accept");
  out.headers.set("cache-control", "no-cache, private");
  return out;
}

struct Found {
  const Catalog::Group* group = nullptr;
  const Catalog::Version* version = nullptr;
};

Found find(const Catalog& catalog, std::string_view root) {
  for (const Catalog::Group& group : catalog.groups())
    for (const Catalog::Version& version : group.versions)
      if (openapi::root_of(group, version) == root) return {&group, &version};
  return {};
}

}  // namespace

std::string OpenApi::hash_of(const std::string& root) {
  if (generation_ != catalog_.generation()) hashes_.clear();
  generation_ = catalog_.generation();
  std::string& hash = hashes_[root];
  if (hash.empty()) {
    const Found found = find(catalog_, root);
    hash = content_hash(openapi::document_v3(*found.group, *found.version, version_));
  }
  return hash;
}

http::Response OpenApi::index() {
  std::string text;
  json::Writer out(text);
  out.begin_object().key("paths").begin_object();
  for (const Catalog::Group& group : catalog_.groups()) {
    for (const Catalog::Version& version : group.versions) {
      const std::string root = openapi::root_of(group, version);
      out.key(std::string_view(root).substr(1)).begin_object().key("serverRelativeURL");
      out.value(fmt::format("/openapi/v3{}?hash={}", root, hash_of(root))).end_object();
    }
  }
  out.end_object().end_object();
  return http::text_response(200, std::move(text));
}

http::Response OpenApi::one(const Call& call, std::string_view root) {
  const Found found = find(catalog_, root);
  if (found.group == nullptr) return empty(404);
  if (form_of(call.header("accept"), false) == Form::None) return empty(406);
  const std::string hash = hash_of(std::string(root));
  const auto asked = call.info.text("hash");
  if (asked && *asked != hash) {  // the client's index is old
    http::Response moved = empty(301);
    moved.headers.set("location", fmt::format("/openapi/v3{}?hash={}", root, hash));
    return moved;
  }
  http::Response out =
      document(call, openapi::document_v3(*found.group, *found.version, version_), "application/json", hash);
  if (asked) {  // the address changes with the content
    out.headers.set("cache-control", "public, immutable");
    out.headers.set("expires", "Fri, 31 Dec 2099 23:59:59 GMT");
  }
  return out;
}

http::Response OpenApi::swagger(const Call& call) const {
  switch (form_of(call.header("accept"), true)) {
    case Form::Json: {
      std::string bytes = openapi::document_v2(catalog_, version_);
      const std::string hash = content_hash(bytes);
      return document(call, std::move(bytes), "application/json", hash);
    }
    case Form::Protobuf: {
      std::string bytes = openapi::protobuf_v2(catalog_, version_);
      const std::string hash = content_hash(bytes);
      return document(call, std::move(bytes), "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", hash);
    }
    case Form::None: break;
  }
  return empty(406);
}

std::optional<http::Response> OpenApi::answer(const Call& call) {
  constexpr std::string_view kThree = "/openapi/v3";
  const std::string_view path = call.info.path;
  if (path == "/openapi/v2") return swagger(call);
  if (path == kThree) return index();
  if (path.starts_with(kThree) && path[kThree.size()] == '/') return one(call, path.substr(kThree.size()));
  return std::nullopt;
}

}  // namespace kopper::plane
