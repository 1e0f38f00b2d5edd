#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace kopper::testing {

// What a finished process left: its exit code (128 + n when signal n ended it) and what it wrote.
struct Output {
  int exit = 0;
  std::string out;
  std::string err;
};

// Runs a program found on PATH with `input` as its standard input and waits for it.
// Throws std::runtime_error only when it cannot be started.
Output run(std::vector<std::string> command, const std::string& input = "");

// A program that runs beside the test, whose lines are read as they come. Killed when this goes.
class Running {
 public:
  explicit Running(std::vector<std::string> command);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // The next line of its standard output or error, without its end; waits for it. Nothing: there is no more.
  std::optional<std::string> line();
  // Ends its standard input, waits for its end; the exit code as in Output.
  int wait();

 private:
  int pid_ = -1;
  int in_ = -1;
  std::FILE* out_ = nullptr;
};

// A kube-apiserver with its etcd, started by tools/real-apiserver on loopback ports. One a test program: it is started
// before the first test and stopped after the last one, or when the program dies. When it cannot be started, the tests
// fail. KOPPER_REAL_VERSION=1.20 asks for that server, KOPPER_REAL_LOCAL=<kopper> for `kopper cluster` instead,
// KOPPER_REAL_FLAG for one more flag of it. Set KOPPER_REAL_DIR to a folder given to `tools/real-apiserver start` to
// use what runs there.
class RealCluster {
 public:
  RealCluster();
  ~RealCluster();
  RealCluster(const RealCluster&) = delete;
  RealCluster& operator=(const RealCluster&) = delete;

  std::string url() const { return value("URL"); }     // https://127.0.0.1:port
  std::string ca_file() const { return value("CA"); }  // signs the server's certificate
  std::string pki_file(const std::string& name) const { return dir_ + "/pki/" + name; }  // server.crt, other-ca.key, …
  std::string other_ca_file() const { return value("OTHER_CA"); }                        // a CA that signed nothing
  std::string client_cert_file() const { return value("CLIENT_CERT"); }
  std::string client_key_file() const { return value("CLIENT_KEY"); }
  std::string admin_token() const { return value("ADMIN_TOKEN"); }
  std::string nobody_token() const { return value("NOBODY_TOKEN"); }  // authenticated, allowed nothing
  // One administrator with two tokens; rotating_token_file() holds the first at the start.
  std::string rotating_token_1() const { return value("ROTATING_TOKEN_1"); }
  std::string rotating_token_2() const { return value("ROTATING_TOKEN_2"); }
  std::string rotating_token_file() const { return dir_ + "/rotating-token"; }
  // Contexts `token` (current), `cert` and `rotating`, all administrators.
  std::string kubeconfig() const { return dir_ + "/kubeconfig"; }
  std::string version() const { return value("KUBERNETES_VERSION"); }  // v1.37.1
  bool before(int minor) const;                                        // older than 1.<minor>
  bool local() const { return value("SERVER") == "kopper"; }           // our own: it has controllers
  std::string etcd_url() const { return value("ETCD"); }
  // A line a token: token,user,uid,"group". Read by restart_apiserver().
  std::string tokens_file() const { return dir_ + "/tokens.csv"; }

  // Same port, same data; returns when it is ready. A later watch of anything from before is 410 Expired.
  void restart_apiserver(std::vector<std::string> more_flags = {});
  // Expires every revision seen until now; returns the newest. A later watch of podtemplates (the kind that has no
  // watch cache here) from one of them is 410 Expired.
  long long compact_etcd();

  // kubectl as the administrator: the one on PATH, or $KOPPER_KUBECTL, a path, `newest` or `1.20`, which are built.
  Output kubectl(std::vector<std::string> args, const std::string& input = "") const;
  std::vector<std::string> kubectl_command(std::vector<std::string> args) const;

 private:
  std::string value(const std::string& key) const;  // of the file `env`
  std::string program(const std::string& kubectl) const;
  Output tool(std::vector<std::string> args) const;

  std::string dir_;
  std::string env_;
  std::string kubectl_ = "kubectl";
  bool owned_ = true;
};

// The server of this test program. Only inside tests.
RealCluster& cluster();

// Ends a test that is about something the server is too old for.
#define KOPPER_NEEDS_MINOR(minor, what) \
  if (kopper::testing::cluster().before(minor)) GTEST_SKIP() << (what) << " came with Kubernetes 1." << (minor)

}  // namespace kopper::testing
