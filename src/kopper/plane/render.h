#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kopper/json/value.h"
#include "kopper/plane/negotiate.h"
#include "kopper/plane/resource.h"
#include "kopper/plane/state.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/task.h"

namespace kopper::plane {

// Turns a stored object into the version that is asked for, when it is stored in another. Custom resources convert by
// their definition (None or Webhook), events between their two groups.
class Converter {
 public:
  virtual ~Converter() = default;
  virtual bool needed(const Resource& resource, const Stored& object) const = 0;
  // All of one request at once; values in, values out.
  virtual Task<std::vector<json::Value>> to_version(ResourceRef resource, std::vector<json::Value> objects) = 0;
  // Whether objects are stored in this version: to_storage() changes nothing.
  virtual bool stores(const Resource& resource) const = 0;
  virtual Task<json::Value> to_storage(ResourceRef resource, json::Value object) = 0;
};

// What an object looks like in an answer.
//
//   stored bytes ──────────────────────────────► whole, as stored: no parsing
//   stored bytes ─ parse ─ Converter ─► Value ─► another version, metadata only, a row of a table
class Renderer {
 public:
  Renderer(ResourceRef resource, Output output, Converter& converter);

  const Output& output() const { return output_; }

  // The JSON of one object, with its kind and apiVersion. Throws Refusal (406) when a list is asked for; list_head()
  // does when one object is.
  Task<std::string> object(StoredRef stored) const;
  // The same of an object that is not stored (dry run).
  std::string object(const json::Value& value) const;
  // As an item of a list: built-in kinds without kind and apiVersion.
  Task<std::string> item(StoredRef stored) const;
  // What a watch sends: a Table with one row, if tables are asked for.
  Task<std::string> event_object(StoredRef stored, bool with_columns) const;
  // The head of a list up to and with "items":[ (or "rows":[), and what follows the last item.
  std::string list_head(const json::Object& metadata) const;
  std::string_view list_tail() const { return "]}"; }
  // Nothing but a resourceVersion: for bookmarks.
  std::string bookmark(const std::string& revision, bool initial_events_end) const;

 private:
  Task<json::Value> value(StoredRef stored) const;
  bool as_stored(const Stored& stored) const;
  json::Value shaped(const json::Value& value) const;
  json::Value row(const json::Value& value) const;
  json::Value metadata_of(const json::Value& value) const;
  std::string go_type(bool list) const;
  json::Value columns() const;

  ResourceRef resource_;
  Output output_;
  Converter& converter_;
};

// {"kind":"Pod","apiVersion":"v1", first of all: list items of built-in kinds are cut there.
void put_type_first(json::Value& object, const Resource& resource);
// A whole answer, in the form that is asked for.
std::string formatted(std::string json, const Output& output);

}  // namespace kopper::plane
