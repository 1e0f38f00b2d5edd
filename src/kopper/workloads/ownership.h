#pragma once

#include <utility>

#include "kopper/api/owner.h"
#include "kopper/api/selector.h"
#include "kopper/runtime/next.h"

namespace kopper::workloads {

// What the spec of a workload selects. Throws Terminal when it is no selector: the server lets none through.
template <class Owner>
api::Selector selector_of(const Owner& owner) {
  auto selector = api::Selector::from(owner.spec.selector);
  if (!selector) throw runtime::Terminal("spec.selector: " + selector.error().str());
  return std::move(*selector);
}

// Nobody controls the child, and the owner selects it: it may take it over.
template <class Owner, class Child>
bool may_adopt(const Owner& owner, const Child& child) {
  if (api::controller_of(child.metadata) != nullptr) return false;
  const auto selector = api::Selector::from(owner.spec.selector);
  return selector && selector->matches(child.metadata.labels);
}

}  // namespace kopper::workloads
