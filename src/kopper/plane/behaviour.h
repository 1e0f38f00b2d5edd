#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kopper/json/value.h"
#include "kopper/plane/core.h"
#include "kopper/plane/problems.h"
#include "kopper/plane/resource.h"

// Where built-in kinds and custom resources part: each function asks builtin/ for the one and crd/ for the other.
namespace kopper::plane {

// Makes what a client sent into what the server would have after decoding it. `unknown`: what was dropped, by path.
// Throws Refusal (400) for a value of the wrong type.
void decode_object(const Resource& resource, json::Value& object, std::vector<std::string>& unknown);
void set_defaults(const Resource& resource, json::Value& object);
void prepare_create(const Resource& resource, json::Value& object);
// Also decides on metadata.generation.
void prepare_update(const Resource& resource, json::Value& object, const json::Value& old);
void prepare_status_update(const Resource& resource, json::Value& object, const json::Value& old);

struct Check {
  const json::Value* old = nullptr;  // null: it is being created
  bool status_only = false;          // of an update of the status
  std::string_view subresource = {};
};
void validate(Core& core, const Resource& resource, const json::Value& object, Check how, Problems& problems);

// What who wrote a valid object should know of it. `old`: null when it was created.
std::vector<std::string> warnings_of(const Resource& resource, const json::Value& object, const json::Value* old);

struct TableColumn {
  std::string name;
  std::string type;
  std::string format;
  std::string description;
  std::int64_t priority = 0;
};
std::vector<TableColumn> table_columns(const Resource& resource);
json::Array table_cells(const Resource& resource, const json::Value& object);

// The value of a field that selectors may name. Throws Refusal (400) for one that they may not.
std::string selectable_field(const Resource& resource, std::string_view path, const json::Value& object);

}  // namespace kopper::plane
