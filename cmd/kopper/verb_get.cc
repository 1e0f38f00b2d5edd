#include <utility>

#include <fmt/core.h>

#include "kopper/client/request.h"

#include "selection.h"
#include "table.h"
#include "verbs.h"

namespace kopper::cmd {
namespace {

json::Value parsed(std::string_view text) {
  auto value = json::parse(text);
  if (!value) throw_error(value.error(), "the server's answer");
  return std::move(*value);
}

// The columns are the server's: it knows what matters of a kind, custom resources included.
http::Request as_table(http::Request request) {
  request.headers.set("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
  return request;
}

// A server that has no table for a kind sends the objects: show their names.
json::Value table_of(json::Value answer) {
  if (answer.text("kind") == "Table") return answer;
  json::Array objects;
  if (auto* items = answer["items"].as_array()) {
    objects = std::move(*items);
  } else {
    objects.push_back(std::move(answer));
  }
  json::Array rows;
  for (auto& object : objects) {
    json::Array cells{object["metadata"]["name"], object["metadata"]["creationTimestamp"]};
    rows.push_back(json::Object{{"cells", std::move(cells)}, {"object", std::move(object)}});
  }
  const json::Array columns{json::Object{{"name", "Name"}}, json::Object{{"name", "Created At"}}};
  return json::Object{{"kind", "Table"}, {"columnDefinitions", columns}, {"rows", std::move(rows)}};
}

void append_rows(json::Value& table, json::Value more) {
  if (table.is_null()) {
    table = std::move(more);
    return;
  }
  auto* rows = table["rows"].as_array();
  auto* added = more["rows"].as_array();
  if (rows == nullptr || added == nullptr) return;
  for (auto& row : *added) rows->push_back(std::move(row));
}

Task<json::Value> get_table(Session* session, const Selection* selection) {
  const auto& resource = selection->resource.resource;
  json::Value table;
  if (!selection->names.empty()) {
    const client::GetOptions options;
    for (const auto& name : selection->names) {
      auto request = as_table(client::get_request(resource, selection->key(name), options));
      const auto answer = co_await session->client.call(std::move(request));
      append_rows(table, table_of(parsed(answer)));
    }
    co_return table;
  }
  std::string next;
  do {
    auto request = as_table(client::list_request(resource, selection->list, next));
    const auto answer = co_await session->client.call(std::move(request));
    auto page = parsed(answer);
    next = page["metadata"].text("continue");
    append_rows(table, table_of(std::move(page)));
  } while (!next.empty());
  co_return table;
}

Task<json::Array> get_objects(Session* session, const Selection* selection) {
  const auto api = session->client.of(selection->resource.resource);
  json::Array objects;
  if (selection->names.empty()) {
    auto list = co_await api.list(selection->list);
    objects = std::move(list.items);
  }
  for (const auto& name : selection->names) {
    auto object = co_await api.get(selection->key(name));
    objects.push_back(std::move(object));
  }
  co_return objects;
}

void print_nothing(const Selection& selection) {
  if (selection.namespace_.empty()) {
    fmt::print(stderr, "No resources found\n");
  } else {
    fmt::print(stderr, "No resources found in {} namespace.\n", selection.namespace_);
  }
}

void print_objects(json::Array objects, const Selection& selection, Output output) {
  if (output == Output::Name) {
    for (const auto& object : objects) {
      fmt::print("{}\n", display_name(selection.resource, object["metadata"].text("name")));
    }
  } else if (selection.names.size() == 1) {
    print_object(std::move(objects.front()), output);
  } else {
    print_object(json::Object{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(objects)}}, output);
  }
}

Task<int> get_selected(Session* session, const Args* args, const Selection* selection) {
  if (args->output == Output::Table || args->output == Output::Wide) {
    const auto table = co_await get_table(session, selection);
    const auto* rows = table["rows"].as_array();
    if (rows == nullptr || rows->empty()) {
      print_nothing(*selection);
      co_return 0;
    }
    const bool namespaces = args->all_namespaces && selection->resource.resource.namespaced;
    fmt::print("{}", render_table(table, {.wide = args->output == Output::Wide,
                                          .headers = !args->no_headers,
                                          .namespaces = namespaces}));
    co_return 0;
  }
  auto objects = co_await get_objects(session, selection);
  print_objects(std::move(objects), *selection, args->output);
  co_return 0;
}

}  // namespace

Task<int> run_get(Session* session, const Args* args) {
  const auto selection = co_await select(session, args);
  try {
    co_return co_await get_selected(session, args, &selection);
  } catch (const Error& error) {
    if (error.code != Code::NotFound || !args->ignore_not_found) throw;
  }
  co_return 0;
}

}  // namespace kopper::cmd
