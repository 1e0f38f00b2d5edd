#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kopper/base/error.h"
#include "kopper/client/fake_server.h"
#include "kopper/http/handler.h"
#include "kopper/http/url.h"
#include "kopper/json/merge_patch.h"
#include "kopper/json/value.h"

namespace kopper::runtime {

// As much of an API server as keeping a few objects takes: GET, POST, PUT with optimistic concurrency, and an apply
// that merges. Objects by their path.
class ObjectsServer final : public http::Handler {
 public:
  Task<http::Response> handle(http::Request request) override {
    if (on_request) on_request(request);
    const auto path = request.target.substr(0, request.target.find('?'));
    calls.push_back(request.method + " " + path);
    if (request.method == "GET") co_return objects.contains(path) ? object(200, path) : failure(404, "NotFound", path);
    auto body = json::parse(request.body).value();
    if (request.method == "POST") {
      const auto created = path + "/" + std::string(body["metadata"].text("name"));
      if (objects.contains(created)) co_return failure(409, "AlreadyExists", created);
      co_return stored(201, created, std::move(body));
    }
    if (request.method == "PATCH") {
      auto merged = json::apply_merge_patch(objects.contains(path) ? objects[path] : json::Value(json::Object()), body);
      co_return stored(200, path, std::move(merged));
    }
    if (!objects.contains(path)) co_return failure(404, "NotFound", path);
    const auto given = body["metadata"].text("resourceVersion");
    if (given != objects[path]["metadata"].text("resourceVersion")) co_return failure(409, "Conflict", path);
    co_return stored(200, path, std::move(body));
  }

  int count(std::string_view method) const {
    int found = 0;
    for (const auto& call : calls) found += call.starts_with(method) ? 1 : 0;
    return found;
  }

  std::map<std::string, json::Value> objects;
  std::vector<std::string> calls;
  std::function<void(const http::Request&)> on_request;  // may change objects, or throw

 private:
  http::Response stored(int status, const std::string& path, json::Value value) {
    value["metadata"]["resourceVersion"] = std::to_string(++version_);
    objects[path] = std::move(value);
    return object(status, path);
  }
  http::Response object(int status, const std::string& path) {
    return http::text_response(status, json::dump(objects[path]), "application/json");
  }
  static http::Response failure(int code, std::string_view reason, const std::string& path) {
    return http::text_response(code, client::status_json(code, reason, path), "application/json");
  }

  std::int64_t version_ = 0;
};

}  // namespace kopper::runtime
