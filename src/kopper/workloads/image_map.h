#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/json/value.h"

namespace kopper::workloads {

// What of this machine stands for an image.
struct ImageProgram {
  std::vector<std::string> entrypoint;   // what the image would run; a container's `command` replaces it
  std::vector<std::string> arguments;    // the same for `args`
  std::string program;                   // must be there for the image to run: a name on PATH, or a path
  std::string package;                   // of Debian that has it, for who has not
  std::int64_t user = 0;                 // whom it runs as, unless the pod says
  std::string directory;                 // where it starts, unless the pod says; it can write there
  std::vector<std::string> directories;  // more that it can write to
  // The entrypoint is left out when the arguments name a program themselves, as images with a start script do.
  bool entrypoint_optional = false;
  std::vector<std::string> settings;  // put behind the program's own arguments, unless they are there
  std::string stop_signal;            // "": SIGTERM
};

// The name of an image without registry, tag and digest: "docker.io/library/redis:7@sha256:…" is "redis",
// "quay.io/team/tool:v1" is "team/tool".
std::string_view image_name(std::string_view image);

// Which images are programs of this machine. The last rule that matches an image's name counts; '*' at its end matches
// whatever follows.
class ImageMap {
 public:
  // redis, memcached, mariadb, mysql, nginx, busybox and the shells of Debian.
  static ImageMap defaults();
  // Adds rules, as in a file:
  //   images: [{name: redis, entrypoint: [redis-server], program: redis-server, package: redis-server}]
  // Throws Error{Invalid} naming the field.
  void add(const json::Value& file);
  void add(std::string name, ImageProgram program);

  std::optional<ImageProgram> find(std::string_view image) const;

 private:
  struct Rule {
    std::string name;
    ImageProgram program;
  };
  std::vector<Rule> rules_;
};

// What a container runs: the image's entrypoint and arguments, as `command` and `args` change them, with $(NAME)
// replaced by what `variable` says. An unknown name stays as it is; $$ is a dollar.
std::vector<std::string> command_line(const ImageProgram& image, const std::vector<std::string>& command,
                                      const std::vector<std::string>& args,
                                      const std::function<std::optional<std::string>(std::string_view)>& variable);
std::string expand(std::string_view text, const std::function<std::optional<std::string>(std::string_view)>& variable);

}  // namespace kopper::workloads
