#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/api/gen/policy_v1.h"
#include "kopper/kopper.h"

#include "act.h"
#include "apply_passwords.h"
#include "apply_settings.h"
#include "decide.h"
#include "desired.h"
#include "finalize.h"
#include "inputs.h"
#include "observe.h"
#include "redis.h"
#include "report.h"
#include "status.h"
#include "types.h"
#include "validate.h"

namespace redis {

namespace {

using namespace std::chrono_literals;
using kopper::Next;
using kopper::StatefulSet;
using kopper::Task;
using kopper::api::policyv1::PodDisruptionBudget;
using Self = kopper::Context<RedisCluster>;

constexpr auto kBusy = 100ms;        // something is under way
constexpr auto kAnxious = 500ms;     // something is wrong, and others may mend it
constexpr auto kCalm = 5s;           // Redis tells nobody when a node fails
constexpr auto kHiddenLook = 10min;  // how often keys are looked for where nobody finds them
constexpr auto kReadAgain = 2s;      // ConfigMaps and Secrets, which are not watched
constexpr auto kCompareAgain = 30s;  // settings of nodes

// What is kept of a cluster between two passes: only what spares work.
struct Known {
  Links links;
  std::optional<Read> read;
  std::optional<kopper::rt::TimePoint> asked;     // for passwords
  std::optional<kopper::rt::TimePoint> looked;    // for hidden keys
  std::optional<kopper::rt::TimePoint> compared;  // settings
  std::string compared_with;                      // the fingerprint of what they were compared with
  std::vector<std::string> refused;               // settings that nodes did not take
  std::string told;                               // which settings were not taken
  bool moving = false;
};

struct Shared {
  std::map<kopper::Key, std::shared_ptr<Known>> clusters;

  std::shared_ptr<Known> of(const kopper::Key& key) {
    auto& known = clusters[key];
    if (!known) known = std::make_shared<Known>();
    return known;
  }
};

// ---- one pass

struct Pass {
  Self self;
  Known& known;
  Read& read;
  Desired desired;
  Wanted wanted;
  std::shared_ptr<const StatefulSet> set;  // as it is; null: there is none
  std::shared_ptr<const Model> model;
  Decision decision;
};

std::optional<kopper::Quantity> claim_size(const StatefulSet* set) {
  if (set == nullptr || set->spec.volumeClaimTemplates.empty()) return std::nullopt;
  const auto& requests = set->spec.volumeClaimTemplates.front().spec.resources.requests;
  const auto found = requests.find("storage");
  return found == requests.end() ? std::nullopt : std::optional(found->second);
}

Inputs inputs_of(const Self& self, const Known& known, const StatefulSet* set, std::int32_t pods) {
  const auto& read = *known.read;
  Inputs out;
  out.pods = pods > 0 ? pods : self->spec.replicas;
  out.settings = read.settings;
  out.password = read.passwords.used;
  out.previous = read.passwords.previous;
  out.refused = known.refused;
  out.claim_size = claim_size(set);
  return out;
}

// What `finalizers: orphan` left is taken over again. Somebody else's object of that name is not.
kopper::ChildOptions options_of(const StatefulSet* set) {
  kopper::ChildOptions out;
  out.adopt = set != nullptr && kopper::api::controller_of(set->metadata) == nullptr &&
              set->metadata.annotations.contains(std::string(kopper::runtime::kAppliedAnnotation));
  return out;
}

Task<> apply_files(Self self, Desired desired, kopper::ChildOptions options) {
  co_await self.apply(desired.settings, options);
  co_await self.apply(desired.auth, options);
}

// All but the number of pods, which is decided on later.
Task<> apply_objects(Self self, Desired desired, kopper::ChildOptions options) {
  co_await self.apply(desired.service, options);
  if (desired.budget) {
    try {
      co_await self.apply(*desired.budget, options);
    } catch (const kopper::Error& error) {
      if (error.code != kopper::Code::Unsupported) throw;  // policy/v1 came with Kubernetes 1.21
    }
  } else {
    co_await self.remove<PodDisruptionBudget>(self->metadata.name);
  }
  co_await self.apply(desired.set, options);
}

// Of pods that are no longer wanted, and of those that need more room.
Task<> keep_claims(Pass* pass) {
  const auto& self = pass->self;
  const auto& storage = self->spec.storage;
  if (!storage || !pass->set) co_return;
  kopper::client::ListOptions options;
  options.namespace_ = self.key().namespace_;
  options.label_selector = "app=" + self->metadata.name;
  const auto claims = co_await self.live<kopper::PersistentVolumeClaim>().list(options);
  for (const auto& claim : claims.items) {
    const auto ordinal = ordinal_of(claim.metadata.name, "data-" + self->metadata.name);
    if (!ordinal || claim.metadata.deletionTimestamp.is_set()) continue;
    if (*ordinal >= pass->wanted.pods) {
      const bool used = self.find<kopper::Pod>(pod_name(*self, *ordinal)) != nullptr;
      if (storage->retain == "Delete" && !used) co_await self.remove(claim);
      continue;
    }
    const auto size = claim.spec.resources.requests.find("storage");
    if (size == claim.spec.resources.requests.end() || !(size->second < storage->size)) continue;
    kopper::json::Value patch;
    patch["spec"]["resources"]["requests"]["storage"] = storage->size.str();
    co_await self.patch(claim, patch);
    self.event("ClaimGrown", "{} asks for {} now", claim.metadata.name, storage->size.str());
  }
}

bool does_something(const Decision& decision, int pods) {
  return !decision.commands.empty() || !decision.failovers.empty() || !decision.moves.empty() ||
         !decision.rescues.empty() || !decision.replace_pod.empty() || decision.pods != pods;
}

Task<> carry_out(Pass* pass) {
  const auto& self = pass->self;
  auto& decision = pass->decision;
  for (const auto& note : decision.notes) self.event("Repaired", "{}", note);
  if (decision.plan) {
    const auto patch = plan_patch(*decision.plan);
    co_await self.patch(*pass->set, patch);
  }
  ActOptions options;
  options.keys_a_migrate = pipeline_of(self->spec);
  options.may_write = self.run().cluster().may_write;
  const auto acted = co_await act(pass->known.links, pass->model, decision, options);
  count(self, decision, acted);
  for (const auto& trouble : acted.troubles) {
    self.log("it did not go as it should", {{"trouble", trouble}});
    self.warning("Trouble", "{}", trouble);
  }
  pass->known.moving = !decision.moves.empty();
  if (!decision.moves.empty() || !decision.rescues.empty()) pass->known.looked.reset();
  if (!acted.troubles.empty()) co_return;
  if (decision.pods != pass->wanted.pods) {
    pass->desired.set.spec.replicas = decision.pods;
    co_await self.apply(pass->desired.set);
  }
  if (!decision.replace_pod.empty()) {
    const auto pod = self.find<kopper::Pod>(decision.replace_pod);
    if (pod) co_await self.remove(*pod);
  }
}

// What can be changed while Redis runs, is; and somebody's CONFIG SET is taken back.
Task<> keep_settings(Pass* pass) {
  const auto& self = pass->self;
  auto& known = pass->known;
  const auto now = kopper::rt::Loop::current().now();
  const auto& wanted = pass->desired.wanted;
  const auto version = kopper::fingerprint(text_of(wanted));
  const bool due = !known.compared || now - *known.compared > kCompareAgain || version != known.compared_with;
  if (!due) co_return;
  co_await keep_claims(pass);
  known.compared = now;
  known.compared_with = version;
  const bool tls = self->spec.tls.has_value();
  const auto applied = co_await apply_settings(known.links, pass->model, wanted, tls);
  for (const auto& change : applied.changed) self.event("SettingChanged", "{}", change);
  for (const auto& trouble : applied.troubles) self.warning("SettingRefused", "{}", trouble);
  if (known.refused != applied.refused) {
    // Before a pod starts with them: it would end at once.
    known.refused = applied.refused;
    auto without = desired(*self, inputs_of(self, known, pass->set.get(), pass->wanted.pods));
    co_await self.apply(without.settings);
    pass->desired.ignored = std::move(without.ignored);
  }
  auto ignored = fmt::format("{}", fmt::join(pass->desired.ignored, "; "));
  if (ignored != known.told && !ignored.empty()) self.warning("SettingIgnored", "{}", ignored);
  known.told = std::move(ignored);
}

// False when there is more to do soon.
Task<bool> keep_passwords(Pass* pass) {
  const auto& self = pass->self;
  auto& known = pass->known;
  const auto now = kopper::rt::Loop::current().now();
  const auto& passwords = pass->read.passwords;
  const bool changes = passwords.wanted != passwords.used || !passwords.previous.empty();
  if (!changes && known.asked && now - *known.asked < kCompareAgain) co_return true;
  known.asked = now;
  const auto step = co_await apply_passwords(known.links, pass->model, passwords);
  for (const auto& trouble : step.troubles) self.warning("PasswordRefused", "{}", trouble);
  if (step.write) {
    auto inputs = inputs_of(self, known, pass->set.get(), pass->wanted.pods);
    inputs.password = step.write->used;
    inputs.previous = step.write->previous;
    const auto wants = redis::desired(*self, inputs);
    co_await self.apply(wants.auth);
    if (step.write->used != passwords.used) self.event("PasswordChanged", "nodes take the new password");
    known.read.reset();
  }
  if (!step.done) known.asked.reset();
  co_return step.done;
}

Task<Next> look_and_act(Pass* pass) {
  const auto& self = pass->self;
  const auto now = kopper::rt::Loop::current().now();
  auto& known = pass->known;
  const bool hidden = !known.moving && (!known.looked || now - *known.looked > kHiddenLook);
  auto facts = pass->set ? facts_of(self, *pass->set) : std::vector<PodFacts>();
  std::vector<std::string> addresses;
  for (const auto& pod : facts) addresses.push_back(pod.address);
  known.links.keep(addresses);
  pass->model = co_await observe(known.links, std::move(facts), hidden);
  if (hidden && pass->model->all_answer() && !pass->model->nodes.empty()) known.looked = now;

  pass->decision = decide(*pass->model, pass->wanted);
  auto& decision = pass->decision;
  const bool paused = self->spec.pause;
  if (paused) {
    decision.pods = pass->wanted.pods;
    decision.to_move = 0;
    // What would be begun is not.
    if (decision.phase == Phase::Scaling || decision.phase == Phase::Upgrading) decision.phase = Phase::Running;
  }
  auto status = status_of(*self, *pass->model, decision, self.run().now());
  measure(self, *pass->model, decision);
  tell_people(self, decision, status);
  co_await self.set_status(std::move(status));
  if (paused) co_return Next::in(kCalm);
  if (does_something(decision, pass->wanted.pods) || decision.plan) {
    co_await carry_out(pass);
    co_return Next::in(kBusy);
  }
  known.moving = false;
  if (decision.calm) {
    co_await keep_settings(pass);
    const bool settled = co_await keep_passwords(pass);
    if (!settled) co_return Next::in(kBusy);
  }
  co_return Next::in(decision.calm ? std::chrono::nanoseconds(kCalm) : std::chrono::nanoseconds(kAnxious));
}

Task<Next> pass(Self self, std::shared_ptr<Known> shared) {
  auto& known = *shared;
  const auto now = kopper::rt::Loop::current().now();
  const bool again = !known.read || now - known.read->at > kReadAgain;
  if (again) {
    known.read = co_await read_inputs(self);
    known.links.set_access(access_of(*self, *known.read));
  }
  auto set = self.find<StatefulSet>(self->metadata.name);
  auto wanted = wanted_of(*self, set.get());
  auto wants = desired(*self, inputs_of(self, known, set.get(), wanted.pods));
  if (!self->spec.pause) {
    const auto options = options_of(set.get());
    if (again) co_await apply_files(self, wants, options);
    co_await apply_objects(self, wants, options);
    set = self.find<StatefulSet>(self->metadata.name);
    wanted = wanted_of(*self, set.get());
  }
  Pass one{self, known, *known.read, std::move(wants), std::move(wanted), std::move(set), nullptr, {}};
  co_return co_await look_and_act(&one);
}

Task<Next> reconcile(Self self, std::shared_ptr<Shared> shared) {
  const auto causes = validate(*self);
  if (!causes.empty()) {
    const auto message = fmt::format("{}: {}", causes.front().field, causes.front().message);
    self.warning("InvalidSpec", "{}", message);
    co_await self.set_status(refused(*self, "InvalidSpec", message, self.run().now()));
    co_return Next::wait();
  }
  std::optional<kopper::Error> failed;
  std::optional<Next> next;
  try {
    next = co_await pass(self, shared->of(self.key()));
  } catch (const kopper::Error& error) {
    failed = error;
  }
  if (next) co_return *next;
  // A server that is away or in conflict is a matter of trying again; the rest, people should know.
  if (!failed->retryable()) {
    co_await self.set_status(refused(*self, kopper::api::reason_of(*failed), failed->what(), self.run().now()));
  }
  throw *failed;
}

// Pods belong to the StatefulSet, which has the cluster's name.
std::vector<kopper::Key> owner_of(const kopper::Pod& pod) {
  const auto* owner = kopper::api::controller_of(pod.metadata);
  if (owner == nullptr || owner->kind != "StatefulSet") return {};
  return {kopper::Key(pod.metadata.namespace_, owner->name)};
}

}  // namespace

kopper::ControllerSpec redis() {
  auto shared = std::make_shared<Shared>();
  return kopper::controller<RedisCluster>()
      .owns<StatefulSet>()
      .owns<kopper::Service>()
      .owns<PodDisruptionBudget>()
      .watches<kopper::Pod>(owner_of)
      .watches<kopper::api::corev1::Node>([](const kopper::api::corev1::Node&) { return std::vector<kopper::Key>(); })
      .may<kopper::Pod>({"delete"})
      .may<kopper::ConfigMap>({"get", "create", "patch"})
      .may<kopper::Secret>({"get", "create", "patch"})
      .may<kopper::PersistentVolumeClaim>({"list", "patch", "delete"})
      .gone([shared](const kopper::Key& key) { shared->clusters.erase(key); })
      .finalize(finalize)
      .reconcile([shared](Self self) { return reconcile(std::move(self), shared); });
}

}  // namespace redis
