#include "kopper/plane/addresses.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "kopper/base/error.h"

namespace kopper::plane {
namespace {

std::string text_of(std::uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24U, (address >> 16U) & 255U, (address >> 8U) & 255U, address & 255U);
}

// Four numbers with dots, and nothing else.
std::optional<std::uint32_t> address_in(std::string_view text) {
  std::uint32_t value = 0;
  for (int part = 0; part < 4; ++part) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number > 255) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (part < 3 && !text.starts_with('.')) return std::nullopt;
    if (part < 3) text.remove_prefix(1);
    value = value << 8U | number;
  }
  return text.empty() ? std::optional(value) : std::nullopt;
}

std::string address_of(const json::Value& service) {
  const std::string_view address = service["spec"].text("clusterIP");
  return address == "None" ? std::string() : std::string(address);
}

}  // namespace

ServiceRange::ServiceRange(std::string_view cidr) {
  const auto slash = cidr.find('/');
  const auto network = address_in(cidr.substr(0, slash));
  unsigned bits = 0;
  const auto* end = cidr.data() + cidr.size();
  const bool known = slash != cidr.npos && std::from_chars(cidr.data() + slash + 1, end, bits).ptr == end;
  if (!network || !known || bits < 12 || bits > 29 || (*network & ((1U << (32U - bits)) - 1U)) != 0) {
    throw Error(Code::Invalid, fmt::format("\"{}\" is no network for services: expected one like 10.96.0.0/16", cidr));
  }
  network_ = *network;
  size_ = 1U << (32U - bits);
}

std::string ServiceRange::at(std::uint32_t host) const { return text_of(network_ + host); }

bool ServiceRange::holds(std::string_view address) const {
  const auto value = address_in(address);
  return value && *value > network_ && *value - network_ < size_ - 1;
}

Addresses::Addresses(Core& core, ServiceRange range) : core_(core), range_(range) {
  core.state.on_change([this](Table& table, const Change& change) {
    if (table.name() != "services") return;
    if (change.before) note(*change.before, false);
    if (change.after) note(*change.after, true);
  });
}

void Addresses::resume() {
  for (const auto& [place, service] : core_.state.table("services").objects()) note(*service, true);
}

void Addresses::note(const Stored& stored, bool taken) {
  const json::Value service = stored.value();
  if (const std::string address = address_of(service); !address.empty()) {
    if (taken) {
      addresses_[address] = stored.uid;
    } else {
      addresses_.erase(address);
    }
  }
  const json::Array* ports = service["spec"]["ports"].as_array();
  if (ports == nullptr) return;
  for (const json::Value& port : *ports) {
    const std::int64_t* number = port["nodePort"].as_int();
    if (number == nullptr) continue;
    if (taken) {
      ports_[*number] = stored.uid;
    } else {
      ports_.erase(*number);
    }
  }
}

void Addresses::complete(const Call& call, json::Value& service, const json::Value* old) {
  if (call.resource->table() != "services") return;
  const std::string uid(service["metadata"].text("uid"));
  const auto refuse = [&](std::string path, const json::Value& value, const std::string& why) {
    Problems problems;
    problems.invalid(std::move(path), value, why);
    throw invalid("", "Service", service["metadata"].text("name"), problems);
  };
  json::Value& spec = service["spec"];
  const std::string type(spec.text("type"));  // spec grows below
  if (type != "ExternalName") {
    std::string address(spec.text("clusterIP"));
    if (address.empty() && old != nullptr) address = (*old)["spec"].text("clusterIP");
    if (address.empty()) {
      for (std::uint32_t tries = 0; tries < range_.size() && address.empty(); ++tries) {
        next_address_ = next_address_ + 2 < range_.size() ? next_address_ + 1 : 2;
        if (std::string free = range_.at(next_address_); !addresses_.contains(free)) address = std::move(free);
      }
    } else if (address != "None") {
      const auto taken = addresses_.find(address);
      // One that a server with another range gave may stay.
      const bool kept = old != nullptr && (*old)["spec"].text("clusterIP") == address;
      if (!kept && !range_.holds(address))
        refuse("spec.clusterIPs", json::Array{address},
               fmt::format("failed to allocate IP {}: the provided network does not match the current range", address));
      if (taken != addresses_.end() && taken->second != uid)
        refuse("spec.clusterIPs", json::Array{address},
               fmt::format("failed to allocate IP {}: provided IP is already allocated", address));
    }
    spec["clusterIP"] = address;
    spec["clusterIPs"] = json::Array{address};
  }
  if (type != "NodePort" && type != "LoadBalancer") return;
  json::Array* ports = spec["ports"].as_array();
  if (ports == nullptr) return;
  std::map<std::int64_t, bool> given;  // two of one service may not share one either
  for (std::size_t i = 0; i < ports->size(); ++i) {
    json::Value& port = (*ports)[i];
    const std::int64_t* number = port["nodePort"].as_int();
    if (number == nullptr || *number == 0) {
      for (int tries = 0; tries <= kLastPort - kFirstPort; ++tries) {
        next_port_ = next_port_ < kLastPort ? static_cast<std::uint16_t>(next_port_ + 1) : kFirstPort;
        if (!ports_.contains(next_port_) && !given.contains(next_port_)) break;
      }
      port["nodePort"] = next_port_;
      given[next_port_] = true;
      continue;
    }
    const std::string path = fmt::format("spec.ports[{}].nodePort", i);
    const auto taken = ports_.find(*number);
    if (*number < kFirstPort || *number > kLastPort)
      refuse(path, *number,
             fmt::format("provided port is not in the valid range. The range of valid ports is {}-{}", kFirstPort,
                         kLastPort));
    if (taken != ports_.end() && taken->second != uid) refuse(path, *number, "provided port is already allocated");
    given[*number] = true;
  }
}

}  // namespace kopper::plane
