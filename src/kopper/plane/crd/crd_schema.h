#pragma once

#include <cstddef>
#include <deque>

#include "kopper/json/value.h"
#include "kopper/plane/crd/constraints.h"
#include "kopper/plane/schema.h"

namespace kopper::plane {

// The schema of one version of a custom resource, made of the `openAPIV3Schema` of its definition. Any JSON makes one:
// what is no schema constrains nothing (check_crd.h says what is wrong with it).
//
// The root has apiVersion, kind and metadata, whether the definition names them or not; so has every embedded
// resource. Metadata is api::ObjectMeta, with what the definition asks of name and generateName.
class CrdSchema {
 public:
  // `builtins` must outlive this.
  CrdSchema(const json::Value& open_api_schema, BuiltinSchemas& builtins);
  CrdSchema(const CrdSchema&) = delete;
  CrdSchema& operator=(const CrdSchema&) = delete;

  const Schema& root() const { return *root_; }
  // Whether any value in it may have a rule: nothing to evaluate when not.
  bool has_rules() const { return has_rules_; }

 private:
  enum class Place : std::uint8_t { Root, Value, Nested };  // Nested: inside allOf, anyOf, oneOf, not

  Schema& make(const json::Value& from, Place place);
  void fill(Schema& out, const json::Value& from, Place place);
  Constraints constraints_of(const json::Value& from, const Schema& schema);
  void add_meta(std::vector<Member>& members, const json::Value& properties);
  const Schema& metadata_of(const json::Value& written);
  void compile_rules();

  BuiltinSchemas& builtins_;
  SchemaPool pool_;
  std::deque<Constraints> constraints_;
  struct Pending {
    Constraints* constraints;
    const Schema* schema;
  };
  std::deque<Pending> with_rules_;
  const Schema* root_ = nullptr;
  bool has_rules_ = false;
};

}  // namespace kopper::plane
