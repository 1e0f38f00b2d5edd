#include "kopper/plane/discovery/openapi_documents.h"

#include <functional>

#include <fmt/format.h>

#include "kopper/json/writer.h"
#include "kopper/plane/discovery/openapi_paths.h"
#include "kopper/plane/discovery/openapi_proto.h"
#include "kopper/plane/discovery/openapi_schemas.h"

namespace kopper::plane::openapi {
namespace {

using json::Writer;

std::string_view meaning(int code) {
  switch (code) {
    case 201: return "Created";
    case 202: return "Accepted";
    case 401: return "Unauthorized";
    default: return "OK";
  }
}

std::vector<std::string_view> sent_types(const Path& path, const Operation& operation) {
  if (operation.action == "patch") {
    if (path.custom)
      return {"application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"};
    return {"application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json",
            "application/strategic-merge-patch+json"};
  }
  if (path.custom) return {"application/json", "application/yaml"};
  return {"*/*"};
}

std::vector<std::string_view> answered_types(const Operation& operation) {
  if (operation.action == "connect") return {"*/*"};
  if (operation.result.empty()) return {"application/json", "application/yaml", "text/plain"};
  if (operation.action == "list") return {"application/json", "application/json;stream=watch", "application/yaml"};
  return {"application/json", "application/yaml"};
}

void each_parameter(Parameters words,
                    const std::function<void(std::string_view name, std::string_view type, bool in_path)>& visit) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    std::string_view name = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
    const bool in_path = name.starts_with('@');
    if (in_path) name.remove_prefix(1);
    std::string_view type = "string";
    if (name.ends_with('#')) type = "integer";
    if (name.ends_with('?')) type = "boolean";
    if (type != "string") name.remove_suffix(1);
    visit(name, type, in_path);
  }
}

void write_words(Writer& out, std::string_view key, const std::vector<std::string_view>& words) {
  out.key(key).begin_array();
  for (const std::string_view word : words) out.value(word);
  out.end_array();
}

void write_about(Writer& out, const Operation& operation) {
  if (operation.action.empty()) return;
  out.key("x-kubernetes-action").value(operation.action);
  out.key("x-kubernetes-group-version-kind").begin_object();
  out.key("group").value(operation.group).key("version").value(operation.version);
  out.key("kind").value(operation.kind).end_object();
}

// ---- v3 ----

void write_schema_v3(Writer& out, const std::string& definition) {
  out.key("schema").begin_object();
  if (definition.empty()) {
    out.key("type").value("string");
  } else {
    out.key("$ref").value("#/components/schemas/" + definition);
  }
  out.end_object();
}

void write_content(Writer& out, const std::vector<std::string_view>& types, const std::string& definition) {
  out.key("content").begin_object();
  for (const std::string_view type : types) {
    out.key(type).begin_object();
    write_schema_v3(out, definition);
    out.end_object();
  }
  out.end_object();
}

void write_parameters_v3(Writer& out, Parameters words) {
  if (words.empty()) return;
  out.key("parameters").begin_array();
  each_parameter(words, [&](std::string_view name, std::string_view type, bool in_path) {
    out.begin_object().key("name").value(name).key("in").value(in_path ? "path" : "query");
    if (in_path) out.key("required").value(true);
    out.key("schema").begin_object().key("type").value(type).key("uniqueItems").value(true).end_object().end_object();
  });
  out.end_array();
}

void write_path_v3(Writer& out, const Path& path) {
  out.key(path.path).begin_object();
  for (const Operation& operation : path.operations) {
    out.key(operation.method).begin_object();
    write_words(out, "tags", {path.tag});
    out.key("operationId").value(operation.id);
    write_parameters_v3(out, operation.parameters);
    if (!operation.body.empty()) {
      out.key("requestBody").begin_object();
      write_content(out, sent_types(path, operation), operation.body);
      if (operation.body_required) out.key("required").value(true);
      out.end_object();
    }
    out.key("responses").begin_object();
    for (const int code : operation.codes) {
      out.key(std::to_string(code)).begin_object().key("description").value(meaning(code));
      write_content(out, answered_types(operation), operation.result);
      out.end_object();
    }
    out.key("401").begin_object().key("description").value(meaning(401)).end_object().end_object();
    write_about(out, operation);
    out.end_object();
  }
  write_parameters_v3(out, path.parameters);
  out.end_object();
}

// ---- v2 ----

void write_parameters_v2(Writer& out, Parameters words) {
  each_parameter(words, [&](std::string_view name, std::string_view type, bool in_path) {
    out.begin_object().key("uniqueItems").value(true).key("type").value(type).key("name").value(name);
    out.key("in").value(in_path ? "path" : "query");
    if (in_path) out.key("required").value(true);
    out.end_object();
  });
}

std::string path_v2(const Path& path) {
  std::string text;
  Writer out(text);
  out.begin_object();
  for (const Operation& operation : path.operations) {
    out.key(operation.method).begin_object();
    write_words(out, "consumes",
                operation.body.empty() ? std::vector<std::string_view>{"*/*"} : sent_types(path, operation));
    write_words(out, "produces", answered_types(operation));
    write_words(out, "schemes", {"https"});
    write_words(out, "tags", {path.tag});
    out.key("operationId").value(operation.id).key("parameters").begin_array();
    if (!operation.body.empty()) {
      out.begin_object().key("name").value("body").key("in").value("body");
      if (operation.body_required) out.key("required").value(true);
      out.key("schema").begin_object().key("$ref").value("#/definitions/" + operation.body).end_object().end_object();
    }
    write_parameters_v2(out, operation.parameters);
    out.end_array().key("responses").begin_object();
    for (const int code : operation.codes) {
      out.key(std::to_string(code)).begin_object().key("description").value(meaning(code)).key("schema").begin_object();
      if (operation.result.empty()) {
        out.key("type").value("string");
      } else {
        out.key("$ref").value("#/definitions/" + operation.result);
      }
      out.end_object().end_object();
    }
    out.key("401").begin_object().key("description").value(meaning(401)).end_object().end_object();
    write_about(out, operation);
    out.end_object();
  }
  if (!path.parameters.empty()) {
    out.key("parameters").begin_array();
    write_parameters_v2(out, path.parameters);
    out.end_array();
  }
  out.end_object();
  return text;
}

using Piece = std::function<void(const std::string& name, const std::string& json)>;

// Piece by piece: the whole is never in memory as a tree.
void each_path_v2(const Catalog& catalog, const Piece& visit) {
  for (const Catalog::Group& group : catalog.groups())
    for (const Catalog::Version& version : group.versions)
      for (const Path& path : paths_of(group, version)) visit(path.path, path_v2(path));
}

void each_definition_v2(const Catalog& catalog, const Piece& visit) {
  Schemas schemas;
  for (const Catalog::Group& group : catalog.groups())
    for (const Catalog::Version& version : group.versions) add_schemas(version, schemas);
  for (const auto& [name, text] : schemas) {
    const auto schema = json::parse(text);
    if (schema) visit(name, json::dump(to_v2(*schema)));
  }
}

void write_info(Writer& out, std::string_view server_version) {
  out.key("info").begin_object().key("title").value("Kubernetes").key("version").value(server_version).end_object();
}

}  // namespace

std::string document_v3(const Catalog::Group& group, const Catalog::Version& version, std::string_view server_version) {
  std::string text;
  Writer out(text);
  out.begin_object().key("openapi").value("3.0.0");
  write_info(out, server_version);
  out.key("paths").begin_object();
  for (const Path& path : paths_of(group, version)) write_path_v3(out, path);
  out.end_object().key("components").begin_object().key("schemas").begin_object();
  Schemas schemas;
  add_schemas(version, schemas);
  for (const auto& [name, schema] : schemas) out.key(name).raw(schema);
  out.end_object().key("securitySchemes").begin_object().key("BearerToken").begin_object();
  out.key("type").value("apiKey").key("name").value("authorization").key("in").value("header");
  out.end_object().end_object().end_object().end_object();
  return text;
}

std::string document_v2(const Catalog& catalog, std::string_view server_version) {
  std::string text;
  Writer out(text);
  const auto write = [&](const std::string& name, const std::string& json) { out.key(name).raw(json); };
  out.begin_object().key("swagger").value("2.0");
  write_info(out, server_version);
  out.key("paths").begin_object();
  each_path_v2(catalog, write);
  out.end_object().key("definitions").begin_object();
  each_definition_v2(catalog, write);
  out.end_object().key("securityDefinitions").begin_object().key("BearerToken").begin_object();
  out.key("type").value("apiKey").key("name").value("authorization").key("in").value("header");
  out.end_object().end_object().key("security").begin_array().begin_object().key("BearerToken").begin_array();
  out.end_array().end_object().end_array().end_object();
  return text;
}

std::string protobuf_v2(const Catalog& catalog, std::string_view server_version) {
  ProtoDocument out("Kubernetes", server_version);
  each_path_v2(catalog, [&](const std::string& name, const std::string& json) {
    if (const auto item = json::parse(json)) out.add_path(name, *item);
  });
  each_definition_v2(catalog, [&](const std::string& name, const std::string& json) {
    if (const auto schema = json::parse(json)) out.add_definition(name, *schema);
  });
  return std::move(out).bytes();
}

}  // namespace kopper::plane::openapi
