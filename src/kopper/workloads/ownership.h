#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "kopper/api/owner.h"
#include "kopper/api/selector.h"
#include "kopper/runtime/context.h"
#include "kopper/runtime/next.h"
#include "kopper/runtime/predicate.h"

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

// What somebody controls need not be read to know that it cannot be taken over.
inline runtime::Predicate uncontrolled() {
  return [](const cache::Change& change) { return !change.object().controller(); };
}

// As Context::claim() does, by more than labels: the children that `selector` matches and `ours` is true of, after the
// owner took over those that nobody controls, and let go of the others.
template <class Child, class Owner>
Task<std::vector<std::shared_ptr<const Child>>> claim_where(runtime::Context<Owner> self, api::Selector selector,
                                                            std::function<bool(const Child&)> ours) {
  const auto is_ours = [&](const Child& child) { return selector.matches(child.metadata.labels) && ours(child); };
  auto& run = self.run();
  const auto resource = client::resource_of<Child>();
  for (const auto& child : self.template children<Child>()) {
    if (child->metadata.deletionTimestamp.is_set() || is_ours(*child)) continue;
    auto owners = child->metadata.ownerReferences;
    std::erase_if(owners, [&self](const auto& reference) { return reference.uid == self->metadata.uid; });
    co_await run.set_owners(resource, child->metadata, std::move(owners));
  }
  cache::Filter filter;
  filter.namespace_ = self.key().namespace_;
  filter.labels = selector;
  bool asked = false;
  for (const auto& found : self.template list<Child>(filter)) {
    if (api::controller_of(found->metadata) != nullptr || found->metadata.deletionTimestamp.is_set()) continue;
    if (!ours(*found)) continue;
    if (!asked) {
      const bool may = co_await run.may_adopt();
      if (!may) break;
      asked = true;
    }
    auto metadata = found->metadata;
    run.adopt(metadata, resource.namespaced, runtime::ChildOptions());
    co_await run.set_owners(resource, found->metadata, metadata.ownerReferences);
  }
  auto all = self.template children<Child>();
  std::erase_if(all, [&is_ours](const auto& child) { return !is_ours(*child); });
  co_return all;
}

}  // namespace kopper::workloads
