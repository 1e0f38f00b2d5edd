#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/base/error.h"
#include "kopper/json/value.h"

namespace kopper::plane {

// What is wrong with an object, field by field, in the words of kube-apiserver. The causes of a 422 answer.
//
//   problems.required("metadata.name", "name or generateName is required");
//   problems.invalid(at(path, "replicas"), -1, "must be greater than or equal to 0");
class Problems {
 public:
  void required(std::string path, std::string_view detail = {});
  void invalid(std::string path, const json::Value& value, std::string_view detail);
  // Of a value whose type is wrong: `type` is what the message calls it ("string").
  void type_invalid(std::string path, const json::Value& value, std::string_view detail);
  void not_supported(std::string path, const json::Value& value, const std::vector<std::string>& supported);
  void duplicate(std::string path, const json::Value& value);
  void forbidden(std::string path, std::string_view detail);
  void too_long(std::string path, std::size_t limit);
  void too_many(std::string path, std::size_t count, std::size_t limit);
  void not_found(std::string path, const json::Value& value);
  void internal(std::string path, std::string_view detail);
  // Any other reason; `message` without the path.
  void add(std::string path, std::string reason, std::string message);

  bool empty() const { return causes_.empty(); }
  const std::vector<Cause>& causes() const { return causes_; }
  // "path: message", or "[a: b, c: d]" when there are several.
  std::string str() const;

 private:
  std::vector<Cause> causes_;
};

// "spec" + "replicas" → "spec.replicas"; "" + "spec" → "spec".
std::string at(std::string_view path, std::string_view member);
// "spec.containers[0]"
std::string at(std::string_view path, std::size_t index);
// "metadata.labels[app]": of a map whose keys are the user's.
std::string at_key(std::string_view path, std::string_view key);

}  // namespace kopper::plane
