#pragma once

#include <string>

#include "kopper/plane/chores.h"
#include "kopper/plane/core.h"

namespace kopper::plane {

// Follows the CustomResourceDefinitions: accepts their names, serves what they define, and when one is deleted, deletes
// its objects first.
class Definitions {
 public:
  static constexpr std::string_view kTable = "customresourcedefinitions.apiextensions.k8s.io";
  static constexpr std::string_view kCleanup = "customresourcecleanup.apiextensions.k8s.io";

  // Both outlive this.
  Definitions(Core& core, Chores& chores);

  // Serves those that a storage brought back.
  void resume();

 private:
  void changed(Table& table, const Change& change);
  // Serves what the definition says now, or no longer.
  void serve(const Stored& object);
  Task<> accept(std::string name);
  Task<> clean_up(std::string name);

  Core& core_;
  Chores& chores_;
};

}  // namespace kopper::plane
