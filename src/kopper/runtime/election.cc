#include "kopper/runtime/election.h"

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "kopper/base/log.h"
#include "kopper/client/api.h"
#include "kopper/client/watcher.h"
#include "kopper/meta/decode.h"
#include "kopper/meta/encode.h"
#include "kopper/meta/encode_over.h"
#include "kopper/rt/file.h"

namespace kopper::runtime {
namespace {

using Step = ElectionState::Step;

rt::TimePoint now() { return rt::Loop::current().now(); }
api::MicroTime wall_now() { return api::MicroTime(rt::Loop::current().wall_now()); }

Lease decoded(const std::string& json) {
  auto lease = meta::decode<Lease>(json);
  if (!lease) throw_error(lease.error(), "the lease");
  return std::move(*lease);
}

// The live lease with another spec; all that we do not know of it stays.
std::string with_spec(const std::string& live, LeaseSpec spec) {
  auto lease = decoded(live);
  lease.spec = std::move(spec);
  auto json = meta::encode_over(live, lease);
  if (!json) throw_error(json.error(), "the lease");
  return std::move(*json);
}

std::string new_lease(const Key& key, LeaseSpec spec) {
  Lease lease;
  lease.metadata.namespace_ = key.namespace_;
  lease.metadata.name = key.name;
  lease.spec = std::move(spec);
  return meta::encode(lease);
}

ElectionOptions checked(ElectionOptions options) {
  if (options.namespace_.empty() || options.name.empty())
    throw Error(Code::Invalid, "leader election: the lease needs a namespace and a name");
  if (options.identity.empty()) options.identity = make_identity();
  return options;
}

}  // namespace

Election::Election(client::Client client, ElectionOptions options)
    : options_(checked(std::move(options))),
      key_(options_.namespace_, options_.name),
      client_(std::move(client)),
      state_(options_.identity, options_.times) {
  over_.set();
  if (options_.metrics == nullptr) return;
  status_ = &options_.metrics->gauge("leader_election_master_status", "Whether this process leads: 1 yes, 0 a standby.",
                                     {{"name", options_.name}});
  slow_ = &options_.metrics->counter("leader_election_slowpath_total", "Renewals that had to read the lease first.",
                                     {{"name", options_.name}});
}

Election::~Election() = default;

bool Election::is_leader() const { return led_ && state_.leading(now()); }

Task<> Election::lost() { return over_.wait(); }

Task<> Election::campaign() {
  if (led_) co_return;
  rt::Scope watching;
  if (options_.watch) watching.spawn(follow());
  while (true) {
    freed_.reset();
    co_await attempt();
    if (state_.leading(now())) break;
    co_await pause();
  }
  led_ = true;
  over_.reset();
  if (status_ != nullptr) status_->set(1);
  log::info("leading", {{"lease", key_.str()}, {"identity", identity()}, {"term", term()}});
  renewing_ = std::make_unique<rt::Scope>();
  renewing_->spawn(keep());
}

// One attempt. Half the deadline for it, so that one connection that hangs leaves time for another.
Task<> Election::attempt() {
  auto limit = state_.times().renew_deadline / 2;
  if (led_) limit = std::min(limit, state_.deadline() - now());
  try {
    co_await rt::timeout(limit, carry_out());
    problem_.clear();
  } catch (const Error& error) {
    failed(error);
  }
  announce();
}

Task<> Election::carry_out() {
  auto step = state_.begin(now());
  while (step != Step::Wait) {
    if (step == Step::Read) {
      step = co_await read();
    } else {
      step = co_await write(step == Step::Create);
    }
  }
}

Task<Step> Election::read() {
  if (led_ && slow_ != nullptr) slow_->inc();
  const client::GetOptions newest;
  auto json = co_await client_.of<Lease>().raw().find(key_, newest);
  live_ = std::move(json).value_or("");
  if (live_.empty()) co_return state_.saw_nothing(now());
  co_return state_.saw(decoded(live_), now());
}

Task<Step> Election::write(bool create) {
  const auto api = client_.of<Lease>().raw();
  const auto sent = now();
  auto claim = state_.claim(wall_now());
  const client::WriteOptions options;
  std::optional<std::string> answer;
  if (create) {
    answer = co_await api.create_if_absent(key_, new_lease(key_, std::move(claim)), options);
  } else {
    auto written = co_await api.replace(key_, with_spec(live_, std::move(claim)), options);
    if (written) answer = std::move(*written);
  }
  if (!answer) co_return state_.refused();
  live_ = std::move(*answer);
  co_return state_.wrote(decoded(live_), sent, now());
}

// Leads until it does not.
Task<> Election::keep() {
  while (state_.leading(now())) {
    co_await rt::sleep(std::min(state_.times().retry_period, state_.deadline() - now()));
    if (state_.leading(now())) co_await attempt();
  }
  end_leading(state_.ours() ? "not renewed in time" : "another holds the lease");
}

void Election::end_leading(std::string_view why) {
  state_.resign();
  led_ = false;
  if (status_ != nullptr) status_->set(0);
  log::info("leading no more", {{"lease", key_.str()}, {"identity", identity()}, {"why", why}});
  over_.set();
}

// Sees what becomes of the lease between our own attempts; a lease that is free is worth an attempt at once.
Task<> Election::follow() {
  client::WatcherOptions one;
  one.namespace_ = key_.namespace_;
  one.field_selector = "metadata.name=" + key_.name;
  client::Watcher<Lease> watcher(client_.of<Lease>(), std::move(one));
  while (true) {
    const auto event = co_await watcher.next();
    if (event.type == client::StoreEventType::Failed)
      log::debug("the lease cannot be watched", {{"lease", key_.str()}, {"error", event.error->what()}});
    if (event.type != client::StoreEventType::Apply && event.type != client::StoreEventType::InitApply) continue;
    state_.saw(event.object, now());
    announce();
    if (!state_.expiry()) freed_.set();
  }
}

// Until the next attempt: a random time, but no longer than the present holder's lease lasts.
Task<> Election::pause() {
  const auto spread = 1 + (ElectionTimes::kJitter * client_.random());
  auto how_long = std::chrono::duration_cast<rt::Duration>(state_.times().retry_period * spread);
  if (const auto ends = state_.expiry(); ends && *ends > now()) how_long = std::min(how_long, *ends - now());
  try {
    co_await rt::timeout(how_long, freed_.wait());
  } catch (const Error& error) {
    if (error.code != Code::Timeout) throw;
  }
}

void Election::failed(const Error& error) {
  state_.failed();
  if (problem_ == error.what()) return;  // said already
  problem_ = error.what();
  log::warn(led_ ? "the lease is not renewed" : "the lease cannot be had",
            {{"lease", key_.str()}, {"error", error.what()}});
}

void Election::announce() {
  if (leader().empty() || leader() == announced_) return;
  announced_ = leader();
  log::info("new leader", {{"lease", key_.str()}, {"identity", announced_}});
  if (options_.on_leader) options_.on_leader(announced_);
}

Task<> Election::release() {
  if (!led_) co_return;
  renewing_ = nullptr;  // a renewal under way may have arrived all the same: then the first write is refused
  end_leading("released");
  try {
    co_await rt::timeout(state_.times().renew_deadline / 2, say_farewell());
  } catch (const Error& error) {
    log::warn("the lease was not released: it will expire", {{"lease", key_.str()}, {"error", error.what()}});
  }
}

Task<> Election::say_farewell() {
  const auto api = client_.of<Lease>().raw();
  const client::WriteOptions options;
  const client::GetOptions newest;
  while (state_.ours()) {
    if (!live_.empty()) {
      auto written = co_await api.replace(key_, with_spec(live_, state_.farewell(wall_now())), options);
      if (written) co_return;
    }
    auto json = co_await api.find(key_, newest);
    if (!json) co_return;
    live_ = std::move(*json);
    state_.saw(decoded(live_), now());
  }
}

std::string make_identity() {
  std::string host;
  try {
    host = rt::read_file("/proc/sys/kernel/hostname");
    host.resize(host.find_last_not_of('\n') + 1);
  } catch (const Error&) {
    host = "unknown";
  }
  std::random_device random;
  const std::array<std::uint32_t, 4> bits{random(), random(), random(), random()};
  // A version 4 UUID: random but for six bits.
  return fmt::format("{}_{:08x}-{:04x}-4{:03x}-{:04x}-{:04x}{:08x}", host, bits[0], bits[1] >> 16U, bits[1] & 0xfffU,
                     0x8000U | (bits[2] >> 18U), bits[2] & 0xffffU, bits[3]);
}

std::optional<std::string> check_resource_lock(std::string_view value) {
  if (value == "leases") return std::nullopt;
  constexpr std::array<std::string_view, 4> kOld{"configmaps", "endpoints", "configmapsleases", "endpointsleases"};
  if (std::find(kOld.begin(), kOld.end(), value) == kOld.end())
    throw Error(Code::Invalid,
                fmt::format("--leader-elect-resource-lock={}: not one of leases, {}", value, fmt::join(kOld, ", ")));
  return fmt::format(
      "--leader-elect-resource-lock={} is a thing of the past: a Lease is used instead. A process that "
      "still uses the old lock would lead beside this one",
      value);
}

}  // namespace kopper::runtime
