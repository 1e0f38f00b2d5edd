#include "redis/servers.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace redis::testing {
namespace {

std::runtime_error failure(const std::string& what) { return std::runtime_error(what + ": " + std::strerror(errno)); }

// 128 addresses of 127.64.0.0/11, which are this program's as long as it lives: it listens on the first of them.
// Pods and services of `kopper up` have others.
class Block {
 public:
  Block() {
    for (unsigned i = 0; i < kBlocks && fd_ < 0; ++i) take((static_cast<unsigned>(::getpid()) + i) % kBlocks);
    if (fd_ < 0) throw std::runtime_error("no block of addresses is free");
  }
  ~Block() { ::close(fd_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::string next() {
    for (std::size_t tried = 0; tried < used_.size(); ++tried) {
      last_ = last_ % (used_.size() - 1) + 1;
      if (!used_.at(last_)) return used_.at(last_) = true, text(last_);
    }
    throw std::runtime_error("no address is free");
  }
  void release(const std::string& address) {
    used_.at(std::stoul(address.substr(address.rfind('.') + 1)) % kSize) = false;
  }

 private:
  static constexpr unsigned kBlocks = 1U << 14U;
  static constexpr unsigned kSize = 128;

  std::string text(unsigned index) const {
    in_addr address{.s_addr = htonl(first_ + index)};
    std::array<char, INET_ADDRSTRLEN> out{};
    return ::inet_ntop(AF_INET, &address, out.data(), out.size());
  }
  void take(unsigned block) {
    first_ = (127U << 24U) + (64U << 16U) + block * kSize;
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(6379);
    at.sin_addr.s_addr = htonl(first_);
    if (fd >= 0 && ::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 && ::listen(fd, 1) == 0)
      fd_ = fd;
    else if (fd >= 0)
      ::close(fd);
  }

  int fd_ = -1;
  std::uint32_t first_ = 0;
  unsigned last_ = 0;
  std::array<bool, kSize> used_{};
};

Block& block() {
  static Block one;
  return one;
}

std::string value_of(const std::string& info, const std::string& name) {
  const auto at = ("\n" + info).find("\n" + name + ":");
  if (at == std::string::npos) return "";
  const auto begin = at + name.size() + 1;
  return info.substr(begin, info.find('\r', begin) - begin);
}

void must(bool ok, const std::string& what) {
  if (!ok) throw std::runtime_error(what);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

Server::Server(std::string address, std::filesystem::path disk, ServerOptions how)
    : options(std::move(how)), address_(std::move(address)), disk_(std::move(disk)) {
  std::filesystem::create_directories(disk_);
}

Server::~Server() {
  if (runs()) end(SIGKILL);
}

std::string Server::log() const {
  std::ifstream file(disk_.string() + ".log");
  return {std::istreambuf_iterator<char>(file), {}};
}

void Server::start() {
  must(!runs(), where() + " runs already");
  const auto yes = [](bool value) { return std::string(value ? "yes" : "no"); };
  // Its writes reach the kernel before it answers, so that a killed process loses none.
  std::vector<std::string> command{"redis-server",
                                   "--bind",
                                   address_,
                                   "--dir",
                                   disk_.string(),
                                   "--appendonly",
                                   yes(options.append_only),
                                   "--appendfsync",
                                   "no",
                                   "--save",
                                   "",
                                   "--cluster-enabled",
                                   yes(options.cluster),
                                   "--protected-mode",
                                   "no",
                                   "--repl-diskless-sync-delay",
                                   "0"};
  const auto add = [&command](std::vector<std::string> words) {
    command.insert(command.end(), words.begin(), words.end());
  };
  if (options.cluster)
    add({"--cluster-node-timeout", std::to_string(options.node_timeout.count()), "--cluster-announce-ip", address_});
  if (!options.password.empty()) add({"--requirepass", options.password, "--masterauth", options.password});
  if (!options.tls_cert.empty()) {
    add({"--port", "0", "--tls-port", "6379", "--tls-cert-file", options.tls_cert, "--tls-key-file", options.tls_key});
    add({"--tls-ca-cert-file", options.tls_ca, "--tls-auth-clients", "no", "--tls-replication", "yes"});
    if (options.cluster) add({"--tls-cluster", "yes"});
  } else {
    add({"--port", "6379"});
  }
  add(options.more);
  process_.emplace(std::move(command), disk_.string() + ".log");
  const auto serves = [this] { return process_->ended() || (cli({"ping"}) == "PONG" && info("loading") == "0"); };
  const bool in_time = eventually(serves);
  if (in_time && !process_->ended()) return;
  end(SIGKILL);
  throw std::runtime_error("redis-server at " + where() + " does not serve:\n" + log());
}

void Server::end(int signal) {
  client_.reset();
  process_->end(signal);
  process_.reset();
}

void Server::kill() {
  must(runs(), where() + " does not run");
  end(SIGKILL);
}

void Server::stop() {
  must(runs(), where() + " does not run");
  end(SIGTERM);
}

void Server::freeze() {
  must(runs(), where() + " does not run");
  process_->signal(SIGSTOP);
}

void Server::thaw() {
  must(runs(), where() + " does not run");
  process_->signal(SIGCONT);
}

void Server::move_to(std::string address) {
  must(!runs(), where() + " runs");
  address_ = std::move(address);
}

void Server::lose_disk() {
  must(!runs(), where() + " runs");
  std::filesystem::remove_all(disk_);
  std::filesystem::create_directories(disk_);
}

Answer Server::call(const std::vector<std::string>& words) {
  try {
    if (!client_) client_ = std::make_unique<BlockingClient>(address_, options.password);
    return client_->call(words);
  } catch (...) {
    client_.reset();
    throw;
  }
}

Finished Server::run_cli(const std::vector<std::string>& words) const {
  std::vector<std::string> command{"redis-cli", "-h", address_, "-p", "6379"};
  if (!options.password.empty()) command.insert(command.end(), {"-a", options.password, "--no-auth-warning"});
  if (!options.tls_cert.empty()) command.insert(command.end(), {"--tls", "--cacert", options.tls_ca});
  command.insert(command.end(), words.begin(), words.end());
  return run_program(command);
}

std::string Server::cli(const std::vector<std::string>& words) const {
  std::string out = run_cli(words).out;
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

std::string Server::id() { return cli({"cluster", "myid"}); }

std::string Server::info(const std::string& name) {
  const std::string of_cluster = options.cluster ? value_of(run_cli({"cluster", "info"}).out, name) : "";
  return of_cluster.empty() ? value_of(run_cli({"info"}).out, name) : of_cluster;
}

Servers::Servers(std::size_t count, ServerOptions options) : options_(std::move(options)) {
  std::string pattern = (std::filesystem::temp_directory_path() / "kopper-redis-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw failure(pattern);
  folder_ = pattern;
  try {
    while (size() < count) add();
  } catch (...) {
    servers_.clear();
    std::filesystem::remove_all(folder_);
    throw;
  }
}

Servers::~Servers() {
  servers_.clear();
  for (const std::string& address : taken_) block().release(address);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string Servers::free_address() {
  taken_.push_back(block().next());
  return taken_.back();
}

Server& Servers::add() {
  servers_.push_back(std::make_unique<Server>(free_address(), folder_ / std::to_string(size()), options_));
  servers_.back()->start();
  return *servers_.back();
}

std::vector<std::string> Servers::addresses() const {
  std::vector<std::string> out;
  for (const auto& server : servers_) out.push_back(server->address());
  return out;
}

Finished Servers::check() const { return servers_.front()->run_cli({"--cluster", "check", servers_.front()->where()}); }

Server& Servers::with_id(const std::string& id) {
  for (const auto& server : servers_)
    if (server->runs() && server->id() == id) return *server;
  throw std::runtime_error("no server has the id " + id);
}

void Servers::form(std::size_t masters) {
  const auto ok = [](const Server& server, const std::vector<std::string>& words) {
    const std::string said = server.cli(words);
    must(said == "OK", server.where() + ": " + words.at(1) + ": " + said);
  };
  const auto everywhere = [this](const std::function<bool(Server&)>& holds, const std::string& what) {
    for (const auto& server : servers_)
      must(eventually([&] { return holds(*server); }),
           server->where() + ": " + what + "\n" + server->cli({"cluster", "nodes"}));
  };
  for (std::size_t i = 0; i < size(); ++i) ok(*servers_[i], {"cluster", "set-config-epoch", std::to_string(i + 1)});
  for (std::size_t i = 1; i < size(); ++i) ok(*servers_[0], {"cluster", "meet", servers_[i]->address(), "6379"});
  const auto knows_all = [this](Server& server) {
    const std::string nodes = server.cli({"cluster", "nodes"});
    return count(nodes + "\n", "\n") == size() && !nodes.contains("handshake");
  };
  everywhere(knows_all, "does not know all others");
  const auto cut = [masters](std::size_t i) { return (i * 16384 * 2 + masters) / (masters * 2); };
  for (std::size_t i = 0; i < masters; ++i)
    ok(*servers_[i], {"cluster", "addslotsrange", std::to_string(cut(i)), std::to_string(cut(i + 1) - 1)});
  for (std::size_t i = masters; i < size(); ++i)
    ok(*servers_[i], {"cluster", "replicate", servers_[i % masters]->id()});
  everywhere([](Server& server) { return server.info("cluster_state") == "ok"; }, "the cluster is not ok");
  for (std::size_t i = masters; i < size(); ++i)
    must(eventually([&] { return servers_[i]->info("master_link_status") == "up"; }),
         servers_[i]->where() + ": no link");
  must(eventually([&] { return check().exit == 0; }), "redis-cli --cluster check:\n" + check().out);
}

}  // namespace redis::testing
