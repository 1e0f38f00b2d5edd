#pragma once

#include <memory>
#include <string>

#include "kopper/client/config.h"
#include "kopper/client/exec_plugin.h"
#include "kopper/http/handler.h"
#include "kopper/rt/file.h"

namespace kopper::client {

// A token kept in a file that somebody else replaces: a mounted service account token lives an hour and is renewed at
// 80 % of that. Loop-confined.
class TokenFile {
 public:
  explicit TokenFile(std::string path) : file_(std::move(path)) {}

  // The token; read when the file is another one than before. Throws Error{Unauthorized} when there has never been one.
  // Later on the last one is kept, with a warning in the log.
  const std::string& get();
  // The same, but reads the file in any case.
  const std::string& reread();

 private:
  // this loop only
  rt::RotatedFile file_;
  std::string token_;
  bool failing_ = false;
};

// Adds Authorization and Impersonate-* headers to what goes to `inner`. A 401 makes it read the token file, or run the
// plugin, again, and repeat the request once when that gave something new. A request that has an Authorization header
// already keeps it. `plugin` is used when `config` asks for one and has no token, password or certificate of its own.
std::shared_ptr<http::Handler> with_credentials(std::shared_ptr<http::Handler> inner, const Config& config,
                                                std::shared_ptr<ExecPlugin> plugin);

// The plugin that `config` asks for, or null when there is none or something else identifies the user already.
std::shared_ptr<ExecPlugin> make_plugin(const Config& config);

}  // namespace kopper::client
