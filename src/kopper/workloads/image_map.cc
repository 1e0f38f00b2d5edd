#include "kopper/workloads/image_map.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"

namespace kopper::workloads {

namespace {

bool matches(std::string_view rule, std::string_view name) {
  if (rule.ends_with('*')) return name.starts_with(rule.substr(0, rule.size() - 1));
  return rule == name;
}

// What the image's script does: an empty data folder is filled, with the root password and the database asked for.
constexpr const char* kMariadbStart = R"(
case "${1-}" in mariadbd | mysqld) shift ;; -* | "") ;; *) exec "$@" ;; esac
if [ ! -d /var/lib/mysql/mysql ]; then
  mariadb-install-db --no-defaults --datadir=/var/lib/mysql --auth-root-authentication-method=normal \
    --skip-test-db > /dev/null || exit 1
  umask 077
  quoted() { printf %s "$1" | sed "s/[\\\\']/\\\\&/g"; }
  database=${MARIADB_DATABASE:-${MYSQL_DATABASE:-}}
  {
    echo "DROP USER IF EXISTS root@'127.0.0.1', root@'::1', root@'$(hostname)', ''@localhost, ''@'$(hostname)';"
    echo "CREATE USER IF NOT EXISTS root@'%';"
    password=$(quoted "${MARIADB_ROOT_PASSWORD:-${MYSQL_ROOT_PASSWORD:-}}")
    printf "ALTER USER root@'%s' IDENTIFIED BY '%s';\\n" localhost "$password" % "$password"
    echo "GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;"
    [ -z "$database" ] || echo "CREATE DATABASE IF NOT EXISTS \`$database\`;"
  } > /tmp/init.sql
  set -- --init-file=/tmp/init.sql "$@"
fi
exec mariadbd --no-defaults --datadir=/var/lib/mysql --socket=/run/mysqld/mysqld.sock "$@"
)";

// A first part with a dot or a port, or localhost, is a registry.
bool is_registry(std::string_view part) {
  return part == "localhost" || part.find('.') != part.npos || part.find(':') != part.npos;
}

// Neither an option nor a file of settings.
bool names_program(std::string_view word) {
  return !word.starts_with('-') && !word.ends_with(".conf") && !word.ends_with(".cnf");
}

std::vector<std::string> texts(const json::Value& value, std::string_view field) {
  std::vector<std::string> out;
  if (value.is_null()) return out;
  const auto* list = value.as_array();
  if (list == nullptr) throw Error(Code::Invalid, fmt::format("{}: expected a list of texts", field));
  for (const auto& item : *list) {
    const auto* text = item.as_string();
    if (text == nullptr) throw Error(Code::Invalid, fmt::format("{}: expected a list of texts", field));
    out.push_back(*text);
  }
  return out;
}

}  // namespace

std::string_view image_name(std::string_view image) {
  image = image.substr(0, image.find('@'));
  if (const auto slash = image.find('/'); slash != image.npos && is_registry(image.substr(0, slash))) {
    image.remove_prefix(slash + 1);
  }
  image = image.substr(0, image.find(':'));
  if (image.starts_with("library/")) image.remove_prefix(std::string_view("library/").size());
  return image;
}

ImageMap ImageMap::defaults() {
  ImageMap map;
  // What images bring besides the program: the user, the folder of its data, what their start scripts do.
  ImageProgram redis{{"redis-server"}, {}, "redis-server", "redis-server"};
  redis.user = 999;
  redis.directory = "/data";
  redis.entrypoint_optional = true;
  redis.settings = {"--protected-mode", "no"};
  map.add("redis", redis);
  ImageProgram memcached{{"memcached"}, {}, "memcached", "memcached"};
  memcached.user = 11211;
  memcached.entrypoint_optional = true;
  map.add("memcached", memcached);
  ImageProgram mariadb{{"sh", "-c", kMariadbStart, "mariadb"}, {}, "mariadbd", "mariadb-server"};
  mariadb.user = 999;
  mariadb.directories = {"/var/lib/mysql", "/run/mysqld"};
  map.add("mariadb", mariadb);
  map.add("mysql", mariadb);
  ImageProgram nginx{{}, {"nginx", "-g", "daemon off;"}, "nginx", "nginx-light"};
  nginx.stop_signal = "SIGQUIT";
  nginx.directories = {"/var/log/nginx", "/var/lib/nginx", "/var/cache/nginx"};
  map.add("nginx", nginx);
  map.add("busybox", {{}, {"sh"}, "busybox", "busybox"});
  for (const auto* shell : {"alpine", "debian", "ubuntu", "bash"}) map.add(shell, {{}, {"sh"}, "sh", "dash"});
  return map;
}

void ImageMap::add(std::string name, ImageProgram program) { rules_.push_back({std::move(name), std::move(program)}); }

void ImageMap::add(const json::Value& file) {
  const auto* images = file["images"].as_array();
  if (images == nullptr) throw Error(Code::Invalid, "images: expected a list");
  for (std::size_t i = 0; i < images->size(); ++i) {
    const auto& image = (*images)[i];
    const auto field = fmt::format("images[{}]", i);
    const std::string name(image.text("name"));
    if (name.empty()) throw Error(Code::Invalid, field + ".name: is needed");
    ImageProgram program;
    program.entrypoint = texts(image["entrypoint"], field + ".entrypoint");
    program.arguments = texts(image["arguments"], field + ".arguments");
    program.program = image.text("program");
    program.package = image.text("package");
    program.directory = image.text("directory");
    program.stop_signal = image.text("stopSignal");
    if (const auto* user = image["user"].as_int()) program.user = *user;
    if (program.program.empty() && !program.entrypoint.empty()) program.program = program.entrypoint[0];
    if (program.program.empty()) throw Error(Code::Invalid, field + ".program: is needed without an entrypoint");
    add(name, std::move(program));
  }
}

std::optional<ImageProgram> ImageMap::find(std::string_view image) const {
  const auto name = image_name(image);
  for (const auto& rule : rules_ | std::views::reverse) {
    if (matches(rule.name, name)) return rule.program;
  }
  return std::nullopt;
}

std::string expand(std::string_view text, const std::function<std::optional<std::string>(std::string_view)>& variable) {
  std::string out;
  while (!text.empty()) {
    const auto dollar = text.find('$');
    out += text.substr(0, dollar);
    if (dollar == text.npos) break;
    text.remove_prefix(dollar);
    if (text.starts_with("$$")) {
      out += '$';
      text.remove_prefix(2);
      continue;
    }
    const auto end = text.starts_with("$(") ? text.find(')') : text.npos;
    if (end == text.npos) {
      out += '$';
      text.remove_prefix(1);
      continue;
    }
    const auto value = variable(text.substr(2, end - 2));
    out += value ? *value : std::string(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
  return out;
}

std::vector<std::string> command_line(const ImageProgram& image, const std::vector<std::string>& command,
                                      const std::vector<std::string>& args,
                                      const std::function<std::optional<std::string>(std::string_view)>& variable) {
  std::vector<std::string> out;
  const auto append = [&](const std::vector<std::string>& words) {
    for (const auto& word : words) out.push_back(expand(word, variable));
  };
  const bool own_program = command.empty() && image.entrypoint_optional && !args.empty() && names_program(args[0]);
  if (!own_program) append(command.empty() ? image.entrypoint : command);
  // A command of its own makes the image's arguments meaningless.
  if (!args.empty()) {
    append(args);
  } else if (command.empty()) {
    append(image.arguments);
  }
  const bool runs_it = !out.empty() && out[0].substr(out[0].rfind('/') + 1) == image.program;
  if (runs_it && !image.settings.empty() && std::ranges::find(out, image.settings[0]) == out.end()) {
    append(image.settings);
  }
  return out;
}

}  // namespace kopper::workloads
