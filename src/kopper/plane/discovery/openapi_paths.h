#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kopper/plane/resource.h"

// What can be asked of the server, as both versions of OpenAPI describe it.
namespace kopper::plane::openapi {

// Words separated by spaces: "continue limit# watch?", # an integer, ? a boolean, @ a part of the path.
using Parameters = std::string_view;

struct Operation {
  std::string_view method;  // "get"
  std::string_view action;  // x-kubernetes-action; empty: not about objects
  std::string id;
  std::string group;  // what it is about
  std::string version;
  std::string kind;
  Parameters parameters{};
  std::string body{};  // the definition of what is sent; empty: nothing
  bool body_required = true;
  std::string result{};  // the definition of what is answered; empty: text
  std::vector<int> codes{200};
};

struct Path {
  std::string path;
  std::string tag;
  bool custom = false;
  Parameters parameters{};
  std::vector<Operation> operations;
};

// Of one group in one version, sorted.
std::vector<Path> paths_of(const Catalog::Group& group, const Catalog::Version& version);

// "io.k8s.api.core.v1.Pod", "com.example.stable.v1.CronTab".
std::string definition_name(const Resource& resource);
std::string builtin_definition_name(std::string_view group, std::string_view version, std::string_view kind);

// "/api/v1", "/apis/apps/v1".
std::string root_of(const Catalog::Group& group, const Catalog::Version& version);

}  // namespace kopper::plane::openapi
