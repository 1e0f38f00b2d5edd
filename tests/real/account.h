#pragma once

#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "kopper/client/watcher.h"

#include "real/connect.h"

// Keeping an account of all that a watch tells.
namespace kopper::testing {

// What was told of each object, in order: "A" added, "M" modified, "D" deleted.
struct Account {
  std::map<std::string, std::string> told;
  int synced = 0;
  std::vector<std::string> failures;
};

template <class T>
Task<> keep_account(client::Changes<T>* changes, Account* account) {
  while (true) {
    auto change = co_await changes->next();
    if (change.key.name == "kube-root-ca.crt") continue;  // a controller's, not ours
    switch (change.type) {
      case client::ChangeType::Added: account->told[change.key.name] += 'A'; break;
      case client::ChangeType::Modified: account->told[change.key.name] += 'M'; break;
      case client::ChangeType::Deleted: account->told[change.key.name] += 'D'; break;
      case client::ChangeType::Synced: ++account->synced; break;
      case client::ChangeType::Failed: account->failures.emplace_back(change.error->what()); break;
    }
  }
}

// Lets the watch run until `done`; every turn asks the server something, so that time is spent on the wire.
inline Task<> until(client::Client client, std::function<bool()> done) {
  while (!done()) {
    http::Request ask;
    ask.target = "/version";
    co_await client.call(std::move(ask));
  }
}

inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::trunc) << text;
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Watching : Real {
  void wait(std::function<bool()> done) { loop.run(rt::timeout(std::chrono::minutes(2), wait_task(std::move(done)))); }
  Task<bool> wait_task(std::function<bool()> done) {
    co_await until(other, std::move(done));
    co_return true;
  }
  bool told(const std::string& name, const std::string& what) const {
    const auto found = account.told.find(name);
    return found != account.told.end() && found->second == what;
  }

  client::Client other{client::make_transport(admin_config())};  // a wire of its own
  Account account;
};

}  // namespace kopper::testing
