#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "kopper/http/server.h"
#include "kopper/plane/plane.h"

namespace kopper::plane {

struct LocalServerOptions {
  std::uint16_t port = 0;            // 0: one that is free
  std::filesystem::path data_dir;    // keys and objects are kept here; empty: in memory only
  std::filesystem::path token_file;  // who else may log in: kube-apiserver's --token-auth-file format; may be empty
  PlaneOptions plane;                // its storage and gate are set here
  bool debug_faults = false;         // administrators may make things go wrong at /debug/faults and /debug/clock
};

// A plane behind TLS on 127.0.0.1, with its own certificate authority, and the kubeconfig to reach it.
class LocalServer {
 public:
  // Listens; throws Error{Unavailable} naming the port when it is taken.
  explicit LocalServer(LocalServerOptions options);
  ~LocalServer();

  // Ready when this returns.
  Task<> start();
  // Lets requests in flight finish for `grace`.
  Task<> stop(rt::Duration grace);

  std::string url() const;
  // For an administrator: the authority, a client certificate and its key, all inline. A secret: files get mode 0600.
  std::string kubeconfig() const;
  Plane& plane();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kopper::plane
