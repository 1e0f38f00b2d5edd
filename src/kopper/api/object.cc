#include "kopper/api/object.h"

#include <algorithm>

namespace kopper::api {

bool has_finalizer(const metav1::ObjectMeta& metadata, std::string_view name) {
  return std::ranges::find(metadata.finalizers, name) != metadata.finalizers.end();
}

bool add_finalizer(metav1::ObjectMeta& metadata, std::string_view name) {
  if (has_finalizer(metadata, name)) return false;
  metadata.finalizers.emplace_back(name);
  return true;
}

bool remove_finalizer(metav1::ObjectMeta& metadata, std::string_view name) {
  return std::erase(metadata.finalizers, name) > 0;
}

}  // namespace kopper::api
