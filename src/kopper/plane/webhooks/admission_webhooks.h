#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kopper/plane/admission.h"
#include "kopper/plane/core.h"
#include "kopper/plane/webhooks/hook.h"

namespace kopper::plane {

// Asks the webhooks of Mutating- and ValidatingWebhookConfigurations: the mutating ones one after the other in the
// order of their configurations' names, those with reinvocationPolicy IfNeeded once more when a later one changed
// something; the validating ones all at once. They are not asked about the configurations themselves.
class AdmissionWebhooks final : public Admission {
 public:
  // Both outlive this; `core` tells it of changes for as long as it lives.
  AdmissionWebhooks(Core& core, WebhookCaller& caller);

  Task<> mutate(Call& call, Attempt& attempt) override;
  Task<> validate(Call& call, const Attempt& attempt) override;

 private:
  using Hooks = std::shared_ptr<const std::vector<Hook>>;
  // A webhook's view of an attempt: in the version its rules name.
  struct View {
    ResourceRef resource;
    json::Value object;
    json::Value old;
  };

  const Hooks& hooks(Hooks& kept, const char* table);
  ResourceRef wanted(const Hook& hook, const Attempt& attempt) const;
  bool in_selected_namespace(const Hook& hook, const Attempt& attempt) const;
  Task<json::Value> in_version(ResourceRef resource, json::Value object);
  // outlives: mutate() and validate() keep the hooks and await these
  Task<std::optional<View>> view(const Hook& hook, const Attempt& attempt);
  json::Value request(const Call& call, const Attempt& attempt, const View& view);
  // outlives: mutate() and validate() keep the hooks and await these
  Task<std::optional<json::Value>> ask(Call& call, const Attempt& attempt, const Hook& hook, const View& view);
  // outlives: mutate() and validate() keep the hooks and await these
  Task<bool> change(Call& call, Attempt& attempt, const Hook& hook, bool* called);
  // outlives: mutate() and validate() keep the hooks and await these
  Task<std::exception_ptr> judge(Call& call, const Attempt& attempt, const Hook& hook);

  Core& core_;
  WebhookCaller& caller_;
  Hooks mutating_;    // null: to be read again
  Hooks validating_;  // null: to be read again
};

}  // namespace kopper::plane
