#include "kopper/cache/cache.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/rt/channel.h"

namespace kopper::cache {

void detail::check_readable(const Informer& informer, std::string_view namespace_) {
  const auto name = informer.resource().name();
  if (!namespace_.empty() && !informer.watches(namespace_)) {
    throw Error(Code::Invalid, fmt::format("the cache of {} does not watch namespace \"{}\": add it to the namespaces "
                                           "of its informer, or read live with client.of<T>()",
                                           name, namespace_));
  }
  if (!informer.synced() && !informer.missing()) {
    const auto error = informer.stats().last_error;
    throw Error(Code::Unavailable,
                fmt::format("the cache of {} is not synced yet{}{}", name, error.empty() ? "" : ": ", error));
  }
}

Cache::Cache(client::Client client, InformerOptions defaults)
    : client_(std::move(client)), defaults_(std::move(defaults)) {}

Informer& Cache::informer(client::Resource resource, InformerOptions options) {
  for (const auto& known : informers_) {
    const auto& have = known->options();
    if (known->resource() != resource || have.label_selector != options.label_selector ||
        have.field_selector != options.field_selector || have.metadata_only != options.metadata_only) {
      continue;
    }
    known->share(options);
    return *known;
  }
  informers_.push_back(std::make_unique<Informer>(client_, std::move(resource), std::move(options)));
  auto& made = *informers_.back();
  if (running_ != nullptr) running_->spawn(made.run());
  return made;
}

Informer* Cache::find(const client::Resource& resource) const {
  Informer* found = nullptr;
  for (const auto& each : informers_) {
    if (each->resource() != resource) continue;
    const auto& have = each->options();
    const bool whole = have.label_selector.empty() && have.field_selector.empty() && !have.metadata_only;
    if (whole) return each.get();
    if (found == nullptr) found = each.get();
  }
  return found;
}

const Informer& Cache::readable(const client::Resource& resource) const {
  if (const auto* found = find(resource)) return *found;
  throw Error(
      Code::Invalid,
      fmt::format("{} ({}) is not in the cache, and reading does not put it there: call "
                  "cache.informer<{}>() first (.owns<{}>() and .watches<{}>() of a controller do), or read "
                  "live with client.of<{}>()",
                  resource.name(), resource.api_version(), resource.kind, resource.kind, resource.kind, resource.kind));
}

void Cache::note_write(const client::Resource& resource, std::string_view answer) {
  for (const auto& each : informers_) {
    if (each->resource() == resource) each->note_write(answer);
  }
}

void Cache::note_delete(const client::Resource& resource, const Key& key, std::string_view answer) {
  for (const auto& each : informers_) {
    if (each->resource() == resource) each->note_delete(key, answer);
  }
}

void Cache::note_gone(const client::Resource& resource, const Key& key, std::string_view uid) {
  for (const auto& each : informers_) {
    if (each->resource() == resource) each->note_gone(key, uid);
  }
}

namespace {

Task<> for_ever() {
  rt::Event never;
  co_await never.wait();
}

}  // namespace

Task<> Cache::run() {
  rt::Scope scope;
  struct Stop {
    Cache& cache;
    ~Stop() { cache.running_ = nullptr; }
  };
  const Stop stop{*this};
  running_ = &scope;
  for (const auto& each : informers_) scope.spawn(each->run());
  scope.spawn(for_ever());
  co_await scope.join();
}

Task<> Cache::wait_synced() {
  // More may be asked for meanwhile.
  for (std::size_t i = 0; i < informers_.size(); ++i) co_await informers_[i]->wait_settled();
}

std::vector<Informer*> Cache::informers() const {
  std::vector<Informer*> out;
  out.reserve(informers_.size());
  for (const auto& each : informers_) out.push_back(each.get());
  return out;
}

}  // namespace kopper::cache
