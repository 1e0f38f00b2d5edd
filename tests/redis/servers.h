#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "redis/blocking_client.h"
#include "redis/process.h"

namespace redis::testing {

struct ServerOptions {
  bool cluster = true;
  std::chrono::milliseconds node_timeout = std::chrono::seconds(2);
  bool append_only = true;
  std::string password;  // requirepass and masterauth
  // PEM files. With them it speaks TLS only, on the client port and on the bus; clients need no certificate.
  std::string tls_cert;
  std::string tls_key;
  std::string tls_ca;
  std::vector<std::string> more;  // of argv: {"--maxmemory", "10mb"}
};

// A redis-server as it would be in a pod: an address of its own (127.x.y.z, ports 6379 and 16379) and a disk. Dies with
// the test. Every function throws std::runtime_error with what the server printed when it cannot do what it says.
class Server {
 public:
  Server(std::string address, std::filesystem::path disk, ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& address() const { return address_; }
  std::string where() const { return address_ + ":6379"; }
  const std::filesystem::path& disk() const { return disk_; }
  int pid() const { return process_ ? process_->pid() : -1; }  // -1: it does not run
  bool runs() const { return process_.has_value(); }
  ServerOptions options;  // of the next start

  void start();  // returns when it answers PONG and has loaded its data
  void kill();   // -9
  void stop();   // SIGTERM
  void freeze();
  void thaw();
  // Those for one that does not run.
  void move_to(std::string address);
  void lose_disk();

  // On a connection of its own, which is kept. Not over TLS.
  Answer call(const std::vector<std::string>& words);
  // redis-cli at this server: what it prints, without the last line end.
  std::string cli(const std::vector<std::string>& words) const;
  Finished run_cli(const std::vector<std::string>& words) const;
  // The node's id in the cluster.
  std::string id();
  // A value of CLUSTER INFO or of INFO; "" when it has none of that name.
  std::string info(const std::string& name);

 private:
  void end(int signal);
  std::string log() const;

  std::string address_;
  const std::filesystem::path disk_;
  std::optional<Process> process_;
  std::unique_ptr<BlockingClient> client_;
};

// Servers with addresses that no other test program has. Their disks are in a temporary folder that goes with this.
class Servers {
 public:
  explicit Servers(std::size_t count, ServerOptions options = ServerOptions());
  ~Servers();
  Servers(const Servers&) = delete;
  Servers& operator=(const Servers&) = delete;

  std::size_t size() const { return servers_.size(); }
  Server& operator[](std::size_t index) { return *servers_.at(index); }
  // One more that runs.
  Server& add();
  // An address that no server has: for Server::move_to().
  std::string free_address();
  std::vector<std::string> addresses() const;  // of all

  // A cluster of all that there are, the first ones masters, the others replicas of them in turn. Slots as redis-cli
  // would give them. By plain commands; returns when all agree and replicas are linked.
  void form(std::size_t masters);
  // What redis-cli --cluster check says; exit 0 when it found nothing wrong.
  Finished check() const;
  // The server with this id; throws when there is none.
  Server& with_id(const std::string& id);

 private:
  std::filesystem::path folder_;
  ServerOptions options_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::string> taken_;
};

}  // namespace redis::testing
