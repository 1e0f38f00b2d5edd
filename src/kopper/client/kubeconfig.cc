#include "kopper/client/kubeconfig.h"

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/client/detail/refusal.h"
#include "kopper/client/detail/text.h"
#include "kopper/json/yaml.h"
#include "kopper/rt/file.h"

namespace kopper::client {

using detail::Bad;
using detail::element;
using detail::member;
using detail::refuse;

namespace {

constexpr json::YamlLimits kLimits{.depth = 64, .bytes = std::size_t{8} << 20U, .alias_bytes = std::size_t{1} << 20U};

// How a member of type T is written. One table a type serves reading and writing.
template <class T>
struct Row {
  std::string_view name;
  std::string T::* text = nullptr;
  bool T::* flag = nullptr;
  std::vector<std::string> T::* list = nullptr;
  bool base64 = false;
};

constexpr Row<KubeCluster> kCluster[] = {
    {.name = "certificate-authority", .text = &KubeCluster::certificate_authority},
    {.name = "certificate-authority-data", .text = &KubeCluster::certificate_authority_data, .base64 = true},
    {.name = "disable-compression", .flag = &KubeCluster::disable_compression},
    {.name = "insecure-skip-tls-verify", .flag = &KubeCluster::insecure_skip_tls_verify},
    {.name = "proxy-url", .text = &KubeCluster::proxy_url},
    {.name = "server", .text = &KubeCluster::server},
    {.name = "tls-server-name", .text = &KubeCluster::tls_server_name},
};

constexpr Row<KubeUser> kUser[] = {
    {.name = "as", .text = &KubeUser::as},
    {.name = "as-groups", .list = &KubeUser::as_groups},
    {.name = "as-uid", .text = &KubeUser::as_uid},
    {.name = "client-certificate", .text = &KubeUser::client_certificate},
    {.name = "client-certificate-data", .text = &KubeUser::client_certificate_data, .base64 = true},
    {.name = "client-key", .text = &KubeUser::client_key},
    {.name = "client-key-data", .text = &KubeUser::client_key_data, .base64 = true},
    {.name = "password", .text = &KubeUser::password},
    {.name = "token", .text = &KubeUser::token},
    {.name = "tokenFile", .text = &KubeUser::token_file},
    {.name = "username", .text = &KubeUser::username},
};

constexpr Row<KubeExec> kExec[] = {
    {.name = "apiVersion", .text = &KubeExec::api_version},
    {.name = "args", .list = &KubeExec::args},
    {.name = "command", .text = &KubeExec::command},
    {.name = "installHint", .text = &KubeExec::install_hint},
    {.name = "interactiveMode", .text = &KubeExec::interactive_mode},
    {.name = "provideClusterInfo", .flag = &KubeExec::provide_cluster_info},
};

constexpr Row<KubeContext> kContext[] = {
    {.name = "cluster", .text = &KubeContext::cluster},
    {.name = "namespace", .text = &KubeContext::namespace_},
    {.name = "user", .text = &KubeContext::user},
};

[[noreturn]] void wrong_type(std::string path, std::string_view wanted, const json::Value& found) {
  const bool unquoted = wanted == "a string" && (found.is_number() || found.as_bool() != nullptr);
  throw Bad{std::move(path),
            fmt::format("expected {}, found {}{}", wanted, found.type_name(), unquoted ? ": quote it" : "")};
}

std::string read_text(const json::Value& value, std::string path) {
  if (value.is_null()) return {};
  if (const auto* text = value.as_string()) return *text;
  wrong_type(std::move(path), "a string", value);
}

const json::Object& read_object(const json::Value& value, std::string path) {
  static const json::Object kEmpty;
  if (value.is_null()) return kEmpty;
  if (const auto* object = value.as_object()) return *object;
  wrong_type(std::move(path), "an object", value);
}

const json::Array& read_array(const json::Value& value, std::string path) {
  static const json::Array kEmpty;
  if (value.is_null()) return kEmpty;
  if (const auto* array = value.as_array()) return *array;
  wrong_type(std::move(path), "a list", value);
}

std::vector<std::string> read_texts(const json::Value& value, const std::string& path) {
  std::vector<std::string> texts;
  for (const auto& item : read_array(value, path)) texts.push_back(read_text(item, element(path, texts.size())));
  return texts;
}

template <class T>
void read_row(const Row<T>& row, const json::Value& value, const std::string& path, T& out) {
  if (row.list) {
    out.*row.list = read_texts(value, path);
  } else if (row.flag) {
    if (!value.is_null() && !value.as_bool()) wrong_type(path, "true or false", value);
    out.*row.flag = value.as_bool() && *value.as_bool();
  } else if (row.base64) {
    auto bytes = meta::from_base64(read_text(value, path));
    if (!bytes) throw Bad{path, "not base64"};
    out.*row.text = *std::move(bytes);
  } else {
    out.*row.text = read_text(value, path);
  }
}

// Fills `out` from the members that `rows` knows. `special` takes a member or says false; what nobody takes is kept.
template <class T, std::size_t N, class Special>
void read_members(const json::Object& object, const std::string& path, const Row<T> (&rows)[N], T& out,
                  Special special) {
  std::vector<json::Object::Member> kept;
  for (const auto& [name, value] : object) {
    const auto* row = std::ranges::find(rows, name, &Row<T>::name);
    if (row != std::end(rows)) {
      read_row(*row, value, member(path, name), out);
    } else if (!special(name, value, member(path, name))) {
      kept.emplace_back(name, value);
    }
  }
  out.other = json::Object(std::move(kept));
}

constexpr auto kNothingSpecial = [](std::string_view, const json::Value&, const std::string&) { return false; };

KubeExec read_exec(const json::Value& value, const std::string& path) {
  KubeExec exec;
  const auto special = [&exec](std::string_view name, const json::Value& v, const std::string& at) {
    if (name != "env") return false;
    for (const auto& item : read_array(v, at)) {
      const auto where = element(at, exec.env.size());
      read_object(item, where);
      exec.env.emplace_back(read_text(item["name"], member(where, "name")),
                            read_text(item["value"], member(where, "value")));
    }
    return true;
  };
  read_members(read_object(value, path), path, kExec, exec, special);
  return exec;
}

bool read_user_special(KubeUser& user, std::string_view name, const json::Value& value, const std::string& path) {
  if (name == "exec") {
    if (!value.is_null()) user.exec = read_exec(value, path);
    return true;
  }
  if (name == "as-user-extra") {
    for (const auto& [key, values] : read_object(value, path)) {
      user.as_user_extra.emplace_back(key, read_texts(values, member(path, key)));
    }
    return true;
  }
  return false;
}

// A list of {name: …, <body_name>: {…}}; `read_body` fills the entry.
template <class T, class ReadBody>
std::vector<T> read_entries(const json::Value& root, std::string_view list_name, std::string_view body_name,
                            std::string_view file, ReadBody read_body) {
  std::vector<T> entries;
  std::unordered_set<std::string> names;
  const std::string list_path(list_name);
  for (const auto& item : read_array(root[list_name], list_path)) {
    const auto path = element(list_path, entries.size());
    read_object(item, path);
    T entry;
    entry.origin = {std::string(file), entries.size()};
    entry.name = read_text(item["name"], member(path, "name"));
    if (!names.insert(entry.name).second) {
      throw Bad{member(path, "name"), fmt::format("\"{}\" is there twice", entry.name)};
    }
    const auto body_path = member(path, body_name);
    read_body(read_object(item[body_name], body_path), body_path, entry);
    entries.push_back(std::move(entry));
  }
  return entries;
}

Kubeconfig read_root(const json::Value& root, std::string_view file) {
  const auto& object = read_object(root, "");
  const auto kind = read_text(root["kind"], "kind");
  const auto version = read_text(root["apiVersion"], "apiVersion");
  if (!kind.empty() && kind != "Config") throw Bad{"kind", fmt::format("expected Config, found \"{}\"", kind)};
  if (!version.empty() && version != "v1") throw Bad{"apiVersion", fmt::format("expected v1, found \"{}\"", version)};

  Kubeconfig out;
  out.files.emplace_back(file);
  out.current_context = read_text(root["current-context"], "current-context");
  out.clusters = read_entries<KubeCluster>(root, "clusters", "cluster", file,
                                           [](const json::Object& body, const std::string& path, KubeCluster& entry) {
                                             read_members(body, path, kCluster, entry, kNothingSpecial);
                                           });
  out.contexts = read_entries<KubeContext>(root, "contexts", "context", file,
                                           [](const json::Object& body, const std::string& path, KubeContext& entry) {
                                             read_members(body, path, kContext, entry, kNothingSpecial);
                                           });
  out.users = read_entries<KubeUser>(
      root, "users", "user", file, [](const json::Object& body, const std::string& path, KubeUser& entry) {
        read_members(body, path, kUser, entry,
                     [&entry](std::string_view name, const json::Value& value, const std::string& at) {
                       return read_user_special(entry, name, value, at);
                     });
      });
  std::vector<json::Object::Member> kept;
  for (const auto& [name, value] : object) {
    static constexpr std::string_view kKnown[] = {"kind",     "apiVersion", "current-context",
                                                  "clusters", "contexts",   "users"};
    if (std::ranges::find(kKnown, name) == std::end(kKnown)) kept.emplace_back(name, value);
  }
  out.other = json::Object(std::move(kept));
  return out;
}

template <class T>
const T* find_named(const std::vector<T>& entries, std::string_view name) {
  const auto found = std::ranges::find(entries, name, &T::name);
  return found == entries.end() ? nullptr : &*found;
}

template <class T>
void merge_entries(std::vector<T>& into, const std::vector<T>& from) {
  std::unordered_set<std::string> names;
  for (const auto& entry : into) names.insert(entry.name);
  for (const auto& entry : from) {
    if (names.insert(entry.name).second) into.push_back(entry);
  }
}

template <class T, std::size_t N>
json::Object write_members(const T& value, const Row<T> (&rows)[N]) {
  json::Object out;
  for (const auto& row : rows) {
    if (row.list) {
      if (!(value.*row.list).empty()) {
        json::Array items;
        for (const auto& text : value.*row.list) items.emplace_back(text);
        out[row.name] = std::move(items);
      }
    } else if (row.flag) {
      if (value.*row.flag) out[row.name] = true;
    } else if (const auto& text = value.*row.text; !text.empty()) {
      out[row.name] = row.base64 ? detail::to_base64(text) : text;
    }
  }
  for (const auto& [name, kept] : value.other) out[name] = kept;
  return out;
}

json::Object write_exec(const KubeExec& exec) {
  auto out = write_members(exec, kExec);
  if (!exec.env.empty()) {
    json::Array env;
    for (const auto& [name, value] : exec.env) env.emplace_back(json::Object{{"name", name}, {"value", value}});
    out["env"] = std::move(env);
  }
  return out;
}

json::Object write_user(const KubeUser& user) {
  auto out = write_members(user, kUser);
  if (!user.as_user_extra.empty()) {
    json::Object extra;
    for (const auto& [key, values] : user.as_user_extra) {
      json::Array items;
      for (const auto& value : values) items.emplace_back(value);
      extra[key] = std::move(items);
    }
    out["as-user-extra"] = std::move(extra);
  }
  if (user.exec) out["exec"] = write_exec(*user.exec);
  return out;
}

template <class T, class WriteBody>
json::Array write_entries(const std::vector<T>& entries, std::string_view body_name, WriteBody write_body) {
  json::Array out;
  for (const auto& entry : entries) {
    json::Object item;
    item[body_name] = write_body(entry);
    item["name"] = entry.name;
    out.emplace_back(std::move(item));
  }
  return out;
}

}  // namespace

const KubeCluster* Kubeconfig::cluster(std::string_view name) const { return find_named(clusters, name); }
const KubeUser* Kubeconfig::user(std::string_view name) const { return find_named(users, name); }
const KubeContext* Kubeconfig::context(std::string_view name) const { return find_named(contexts, name); }

std::expected<Kubeconfig, Error> parse_kubeconfig(std::string_view text, std::string_view file) {
  const auto documents = json::parse_yaml(text, kLimits);
  if (!documents) return std::unexpected(refuse(file, documents.error().path, documents.error().what));
  const auto root = documents->empty() ? json::Value() : documents->front().value;
  try {
    return read_root(root, file);
  } catch (const Bad& bad) {
    return std::unexpected(refuse(file, bad.path, bad.what));
  }
}

Kubeconfig merge_kubeconfigs(std::span<const Kubeconfig> list) {
  Kubeconfig out;
  for (const auto& one : list) {
    merge_entries(out.clusters, one.clusters);
    merge_entries(out.users, one.users);
    merge_entries(out.contexts, one.contexts);
    if (out.current_context.empty()) out.current_context = one.current_context;
    for (const auto& [name, value] : one.other) {
      if (!out.other.contains(name)) out.other[name] = value;
    }
    out.files.insert(out.files.end(), one.files.begin(), one.files.end());
  }
  return out;
}

std::string to_yaml(const Kubeconfig& kubeconfig) {
  json::Object root;
  root["apiVersion"] = "v1";
  root["kind"] = "Config";
  root["clusters"] = write_entries(kubeconfig.clusters, "cluster",
                                   [](const KubeCluster& cluster) { return write_members(cluster, kCluster); });
  root["contexts"] = write_entries(kubeconfig.contexts, "context",
                                   [](const KubeContext& context) { return write_members(context, kContext); });
  root["current-context"] = kubeconfig.current_context;
  root["users"] = write_entries(kubeconfig.users, "user", write_user);
  for (const auto& [name, value] : kubeconfig.other) root[name] = value;
  return json::to_yaml(root);
}

std::optional<Kubeconfig> read_kubeconfig_if_exists(const std::string& file) {
  std::string text;
  try {
    text = rt::read_file(file, kLimits.bytes);
  } catch (const Error& error) {
    if (error.code == Code::NotFound) return std::nullopt;
    throw Error(Code::Invalid, fmt::format("kubeconfig {}", error.what()));  // begins with the path
  }
  auto kubeconfig = parse_kubeconfig(text, file);
  if (!kubeconfig) throw kubeconfig.error();
  return *std::move(kubeconfig);
}

Kubeconfig read_kubeconfig(const std::string& file) {
  auto kubeconfig = read_kubeconfig_if_exists(file);
  if (!kubeconfig) throw refuse(file, "", "no such file");
  return *std::move(kubeconfig);
}

void write_kubeconfig(const std::string& file, const Kubeconfig& kubeconfig) {
  constexpr unsigned kOwnerOnly = 0600;
  if (const auto folder = std::filesystem::path(file).parent_path(); !folder.empty()) {
    std::filesystem::create_directories(folder);
  }
  rt::write_file_atomic(file, to_yaml(kubeconfig), kOwnerOnly);
}

}  // namespace kopper::client
