#include "kopper/plane/behaviour.h"

#include "kopper/api/validation.h"

namespace kopper::plane {

void decode_object(const Resource&, json::Value&, std::vector<std::string>&) {}
void set_defaults(const Resource&, json::Value&) {}
void prepare_create(const Resource&, json::Value&) {}
void prepare_update(const Resource&, json::Value&, const json::Value&) {}
void prepare_status_update(const Resource&, json::Value&, const json::Value&) {}
void validate(const Resource&, const json::Value&, const json::Value*, Problems&) {}

std::vector<TableColumn> table_columns(const Resource&) {
  return {{"Name", "string", "name", "", 0}, {"Age", "string", "", "", 0}};
}
json::Array table_cells(const Resource&, const json::Value& object) {
  return {object["metadata"]["name"], object["metadata"]["creationTimestamp"]};
}

std::string selectable_field(const Resource&, std::string_view path, const json::Value& object) {
  if (path == "metadata.name") return std::string(object["metadata"].text("name"));
  if (path == "metadata.namespace") return std::string(object["metadata"].text("namespace"));
  throw bad_request("field label not supported: " + std::string(path));
}

}  // namespace kopper::plane
