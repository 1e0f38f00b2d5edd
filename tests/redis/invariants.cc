#include "redis/invariants.h"

#include <map>
#include <set>
#include <thread>

#include "redis/blocking_client.h"
#include "redis/nodes.h"

namespace redis::testing {
namespace {

struct View {
  std::string address;
  std::string info;         // CLUSTER INFO
  std::string replication;  // INFO replication
  std::vector<NodeSeen> nodes;

  const NodeSeen* self() const {
    for (const NodeSeen& node : nodes)
      if (node.is("myself")) return &node;
    return nullptr;
  }
};

class Findings {
 public:
  void add(const std::string& line) {
    if (++count_ <= kMost) text_ += line + "\n";
  }
  bool none() const { return count_ == 0; }
  std::string text() const {
    return count_ > kMost ? text_ + "and " + std::to_string(count_ - kMost) + " more\n" : text_;
  }

 private:
  static constexpr std::size_t kMost = 30;
  std::size_t count_ = 0;
  std::string text_;
};

std::vector<View> look(const std::vector<std::string>& addresses, const std::string& password, Findings& findings) {
  std::vector<View> out;
  for (const std::string& address : addresses) {
    try {
      BlockingClient client(address, password);
      const auto answers = client.pipeline({{"CLUSTER", "INFO"}, {"INFO", "replication"}, {"CLUSTER", "NODES"}});
      View view{address, answers[0].text, answers[1].text, read_nodes(answers[2].text)};
      if (view.self() == nullptr)
        findings.add(address + " has no line about itself: " + answers[2].str());
      else
        out.push_back(std::move(view));
    } catch (const Broken& broken) {
      findings.add(address + " does not answer: " + broken.what());
    }
  }
  return out;
}

void check_view(const View& view, const std::map<std::string, const View*>& by_id, Findings& findings) {
  if (!view.info.contains("cluster_state:ok")) findings.add(view.address + " does not say cluster_state:ok");
  for (const NodeSeen& node : view.nodes) {
    for (const char* flag : {"fail", "fail?", "handshake", "noaddr"})
      if (node.is(flag)) findings.add(view.address + " sees " + node.id + " as " + flag);
    for (const std::string& mark : node.open) findings.add(view.address + " has the open slot " + mark);
    if (!node.linked && !node.is("myself")) findings.add(view.address + " has no link to " + node.address);
    const auto known = by_id.find(node.id);
    if (known == by_id.end())
      findings.add(view.address + " knows " + node.id + " at " + node.address + ", which is none of these nodes");
    else if (known->second->address != node.address)
      findings.add(view.address + " sees " + node.id + " at " + node.address + ", but it is at " +
                   known->second->address);
    else if (known->second->self()->is("master") != node.is("master"))
      findings.add(view.address + " sees another role of " + node.address);
  }
  if (view.nodes.size() < by_id.size())
    findings.add(view.address + " knows only " + std::to_string(view.nodes.size()) + " of " +
                 std::to_string(by_id.size()) + " nodes");
}

void check_slots(const std::vector<View>& views, Findings& findings) {
  std::vector<std::string> owners(kAllSlots);
  for (const View& view : views)
    for (std::size_t slot = 0; slot < kAllSlots; ++slot) {
      if (!view.self()->slots[slot]) continue;
      if (!owners[slot].empty())
        findings.add("slot " + std::to_string(slot) + " is claimed by " + view.address + " and by " + owners[slot]);
      owners[slot] = view.self()->id;
    }
  for (std::size_t slot = 0; slot < kAllSlots; ++slot)
    if (owners[slot].empty()) findings.add("nobody owns slot " + std::to_string(slot));
  for (const View& view : views)
    for (const NodeSeen& node : view.nodes)
      for (std::size_t slot = 0; slot < kAllSlots; ++slot)
        if (node.slots[slot] != (owners[slot] == node.id)) {
          findings.add(view.address + " does not agree who owns slot " + std::to_string(slot));
          break;
        }
}

void check_replicas(const std::vector<View>& views, const Expected& expected, Findings& findings) {
  std::map<std::string, std::size_t> replicas;
  std::size_t masters = 0;
  for (const View& view : views)
    if (view.self()->is("slave")) {
      ++replicas[view.self()->master];
      if (!view.replication.contains("master_link_status:up"))
        findings.add(view.address + " has no link to its master");
    }
  for (const View& view : views) {
    const NodeSeen& self = *view.self();
    if (!self.is("master")) continue;
    masters += self.slots.any() ? 1 : 0;
    if (replicas[self.id] < expected.replicas)
      findings.add("master " + view.address + " has " + std::to_string(replicas[self.id]) + " replicas" +
                   (self.slots.any() ? "" : " and no slots"));
  }
  if (expected.masters > 0 && masters != expected.masters)
    findings.add(std::to_string(masters) + " masters have slots, not " + std::to_string(expected.masters));
}

void check_hidden(const View& view, const std::string& password, Findings& findings) {
  if (!view.self()->is("master")) return;
  std::vector<std::vector<std::string>> commands;
  std::vector<std::size_t> asked;
  for (std::size_t slot = 0; slot < kAllSlots; ++slot)
    if (!view.self()->slots[slot]) {
      asked.push_back(slot);
      commands.push_back({"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)});
    }
  try {
    BlockingClient client(view.address, password, std::chrono::seconds(10));
    const auto answers = client.pipeline(commands);
    for (std::size_t i = 0; i < asked.size(); ++i)
      if (answers[i].integer != 0)
        findings.add(view.address + " has " + answers[i].str() + " keys of slot " + std::to_string(asked[i]) +
                     ", which it does not own");
  } catch (const Broken& broken) {
    findings.add(view.address + ": " + broken.what());
  }
}

}  // namespace

std::string broken_invariants(const std::vector<std::string>& addresses, const Expected& expected) {
  Findings findings;
  const auto views = look(addresses, expected.password, findings);
  std::map<std::string, const View*> by_id;
  for (const View& view : views)
    if (!by_id.emplace(view.self()->id, &view).second) findings.add(view.address + " has the id of another");
  for (const View& view : views) check_view(view, by_id, findings);
  check_slots(views, findings);
  check_replicas(views, expected, findings);
  if (findings.none())
    for (const View& view : views) check_hidden(view, expected.password, findings);
  return findings.text();
}

std::string wait_for_invariants(const std::function<std::vector<std::string>()>& addresses, const Expected& expected,
                                std::chrono::seconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const std::string wrong = broken_invariants(addresses(), expected);
    if (wrong.empty() || std::chrono::steady_clock::now() > until) return wrong;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace redis::testing
