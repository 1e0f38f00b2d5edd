#include "apply_settings.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/base/error.h"
#include "kopper/rt/scope.h"

namespace redis {

namespace {

using kopper::Task;

struct Applying {
  Links& links;
  const std::vector<Setting>& wanted;
  bool certificates = false;
  std::map<std::string, std::vector<std::string>> changed;  // what → pods
  std::vector<std::string> troubles;
  std::set<std::string> refused;
};

std::map<std::string, std::string> pairs_of(const Reply& answer) {
  std::map<std::string, std::string> out;
  for (std::size_t i = 0; i + 1 < answer.items.size(); i += 2) out[answer.items[i].text] = answer.items[i + 1].text;
  return out;
}

// All at once: a new certificate does not fit the old key.
Words reload(const std::vector<Setting>& wanted) {
  Words out = {"CONFIG", "SET"};
  for (const auto& setting : wanted) {
    const auto& name = setting.name;
    if (name != "tls-cert-file" && name != "tls-key-file" && name != "tls-ca-cert-file") continue;
    out.push_back(name);
    out.push_back(setting.words.front());
  }
  return out;
}

Task<> apply_to(Applying* applying, const Node* node) {
  const auto& pod = node->pod.name;
  try {
    const auto link = co_await applying->links.get(node->pod.address);
    Words ask = {"CONFIG", "GET", "*"};
    const auto answer = co_await link->call(std::move(ask));
    std::vector<Words> commands;
    const auto different = differences(applying->wanted, pairs_of(answer));
    applying->refused.insert(different.unknown.begin(), different.unknown.end());
    for (const auto& [name, value] : different.change) commands.push_back({"CONFIG", "SET", name, value});
    if (applying->certificates) commands.push_back(reload(applying->wanted));
    if (commands.empty()) co_return;
    const auto replies = co_await link->pipeline(commands);
    for (std::size_t i = 0; i < replies.size(); ++i) {
      if (replies[i].is_error()) {
        applying->troubles.push_back(fmt::format("{}: {}: {}", pod, commands[i][2], replies[i].text));
        if (i < different.change.size()) applying->refused.insert(commands[i][2]);
      } else if (i < different.change.size()) {
        applying->changed[fmt::format("{} is {} now", commands[i][2], quoted(commands[i][3]))].push_back(pod);
      }
    }
  } catch (const kopper::Error& error) {
    applying->troubles.push_back(fmt::format("{}: {}", pod, error.what()));
  }
}

}  // namespace

Task<SettingsApplied> apply_settings(Links& links, std::shared_ptr<const Model> model, std::vector<Setting> wanted,
                                     bool certificates) {
  Applying applying{links, wanted, certificates, {}, {}, {}};
  std::vector<Task<>> all;
  for (const auto& node : model->nodes) {
    if (node.answers()) all.push_back(apply_to(&applying, &node));
  }
  co_await kopper::rt::all(std::move(all));
  SettingsApplied out;
  for (auto& [what, pods] : applying.changed) {
    std::ranges::sort(pods);
    out.changed.push_back(fmt::format("{}, on {}", what, fmt::join(pods, ", ")));
  }
  out.troubles = std::move(applying.troubles);
  out.refused.assign(applying.refused.begin(), applying.refused.end());
  co_return out;
}

}  // namespace redis
