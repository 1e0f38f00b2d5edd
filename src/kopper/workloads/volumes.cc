#include "kopper/workloads/volumes.h"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/meta/encode.h"
#include "kopper/workloads/image_map.h"

namespace kopper::workloads {

namespace fs = std::filesystem;
using api::corev1::ConfigMap;
using api::corev1::Container;
using api::corev1::KeyToPath;
using api::corev1::Pod;
using api::corev1::Secret;
using api::corev1::Volume;

namespace {

constexpr unsigned kDefaultMode = 0644;

unsigned mode_of(std::optional<std::int32_t> mode, std::optional<std::int32_t> default_mode) {
  return static_cast<unsigned>(mode.value_or(default_mode.value_or(kDefaultMode))) & 0777U;
}

std::map<std::string, std::string> bytes_of(const ConfigMap& map) {
  auto all = map.data;
  for (const auto& [key, bytes] : map.binaryData) all.emplace(key, bytes.data);
  return all;
}
std::map<std::string, std::string> bytes_of(const Secret& secret) {
  std::map<std::string, std::string> all;
  for (const auto& [key, bytes] : secret.data) all.emplace(key, bytes.data);
  return all;
}

// Whether a path stands inside a directory, links followed.
bool inside(const fs::path& path, const fs::path& directory) {
  const auto relative = fs::weakly_canonical(path).lexically_relative(fs::weakly_canonical(directory));
  return !relative.empty() && *relative.begin() != "..";
}

// The kind as users write it: "nfs".
std::string kind_of(const Volume& volume) {
  const auto value = meta::to_value(volume);
  for (const auto& [name, source] : *value.as_object()) {
    if (name != "name") return std::string(name);
  }
  return "no kind";
}

// Closed to others before anything is in it.
void make_home(const fs::path& home) {
  try {
    fs::create_directories(home);
    fs::permissions(home, fs::perms::owner_all);
    fs::create_directories(home / "volumes");
  } catch (const fs::filesystem_error& error) {
    throw Error(Code::Internal, error.what());
  }
}

api::Time later(api::Time time, std::chrono::seconds by) { return api::Time(time.point() + by); }

}  // namespace

// The files of one volume while they are gathered.
class PodVolumes::Files {
 public:
  Files(const Pod& pod, const PodFacts& facts, const PodSources& objects)
      : pod_(pod), facts_(facts), objects_(objects) {}

  template <class Source>
  void config_map(const Source& source, std::optional<std::int32_t> default_mode) {
    const bool optional = source.optional.value_or(false);
    const auto map = find_config_map(objects_, source.name, optional);
    if (map) add("config", bytes_of(*map), source.items, default_mode, optional);
  }
  void secret(const std::string& name, const std::vector<KeyToPath>& items, std::optional<std::int32_t> default_mode,
              bool optional) {
    const auto found = find_secret(objects_, name, optional);
    if (found) add("secret", bytes_of(*found), items, default_mode, optional);
  }
  void downward(const std::vector<api::corev1::DownwardAPIVolumeFile>& items,
                std::optional<std::int32_t> default_mode) {
    for (const auto& item : items) {
      auto bytes = item.fieldRef           ? field_value(pod_, facts_, *item.fieldRef)
                   : item.resourceFieldRef ? resource_value(pod_, nullptr, facts_, *item.resourceFieldRef)
                                           : std::string();
      files_[item.path] = {std::move(bytes), mode_of(item.mode, default_mode)};
    }
  }
  void token(const std::string& path, std::string text, std::optional<std::int32_t> default_mode) {
    files_[path] = {std::move(text), mode_of(std::nullopt, default_mode)};
  }

  const ObjectFiles& files() const { return files_; }

 private:
  void add(std::string_view what, const std::map<std::string, std::string>& values, const std::vector<KeyToPath>& items,
           std::optional<std::int32_t> default_mode, bool optional) {
    if (items.empty()) {
      for (const auto& [key, bytes] : values) files_[key] = {bytes, mode_of(std::nullopt, default_mode)};
    }
    for (const auto& item : items) {
      const auto found = values.find(item.key);
      if (found != values.end()) {
        files_[item.path] = {found->second, mode_of(item.mode, default_mode)};
      } else if (!optional) {
        throw Error(Code::NotFound, fmt::format("references non-existent {} key: {}", what, item.key));
      }
    }
  }

  const Pod& pod_;
  const PodFacts& facts_;
  const PodSources& objects_;
  ObjectFiles files_;
};

PodVolumes::PodVolumes(fs::path pods, VolumeSources sources) : pods_(std::move(pods)), sources_(std::move(sources)) {}

Task<std::optional<api::Time>> PodVolumes::update(std::shared_ptr<const Pod> pod, PodFacts facts, api::Time now) {
  make_home(pods_ / pod->metadata.uid);
  for (const auto& volume : pod->spec.volumes) {
    std::optional<Error> failed;
    try {
      auto made = co_await place(pod.get(), &volume, &facts, now);
      places_.insert_or_assign(volume.name, std::move(made));
    } catch (const Error& error) {
      failed = error;
    } catch (const fs::filesystem_error& error) {
      failed.emplace(Code::Internal, error.what());
    }
    if (failed) {
      if (failed->code == Code::Unsupported) throw *failed;
      throw std::move(*failed).with(fmt::format("MountVolume.SetUp failed for volume \"{}\" ", volume.name));
    }
  }
  std::optional<api::Time> next;
  for (const auto& [key, token] : tokens_) next = next ? std::min(*next, token.renewed) : token.renewed;
  co_return next;
}

// outlives: update() holds all three while it waits
Task<PodVolumes::Place> PodVolumes::place(const Pod* pod, const Volume* volume, const PodFacts* facts, api::Time now) {
  if (volume->hostPath) co_return host_path(*volume->hostPath);
  if (volume->persistentVolumeClaim) co_return claim(*volume->persistentVolumeClaim);

  const auto directory = pods_ / pod->metadata.uid / "volumes" / volume->name;
  Place place{.host = directory.native(), .read_only = true, .of_objects = true};
  Files files(*pod, *facts, sources_.objects);
  if (volume->configMap) {
    files.config_map(*volume->configMap, volume->configMap->defaultMode);
  } else if (volume->secret) {
    const auto& source = *volume->secret;
    files.secret(source.secretName, source.items, source.defaultMode, source.optional.value_or(false));
  } else if (volume->downwardAPI) {
    files.downward(volume->downwardAPI->items, volume->downwardAPI->defaultMode);
  } else if (volume->projected) {
    const auto& mode = volume->projected->defaultMode;
    for (const auto& source : volume->projected->sources) {
      if (source.configMap) files.config_map(*source.configMap, mode);
      if (source.secret) {
        files.secret(source.secret->name, source.secret->items, mode, source.secret->optional.value_or(false));
      }
      if (source.downwardAPI) files.downward(source.downwardAPI->items, mode);
      if (source.serviceAccountToken) {
        const auto& asked = *source.serviceAccountToken;
        const auto key = volume->name + "/" + asked.path;
        TokenAsked request{.audience = asked.audience, .expiration_seconds = asked.expirationSeconds.value_or(3600)};
        co_await renew(key, std::move(request), now);
        files.token(asked.path, tokens_.at(key).token, mode);
      }
      if (source.clusterTrustBundle || source.podCertificate) {
        throw Error(Code::Unsupported, fmt::format("volume \"{}\": {} is not supported here", volume->name,
                                                   source.podCertificate ? "podCertificate" : "clusterTrustBundle"));
      }
    }
  } else if (volume->emptyDir) {
    place = {.host = directory.native()};
  } else {
    throw Error(Code::Unsupported,
                fmt::format("volume \"{}\": {} is not supported here", volume->name, kind_of(*volume)));
  }
  if (place.of_objects) {
    write_object_files(directory, files.files());
  } else if (fs::create_directory(directory)) {
    fs::permissions(directory, fs::perms::all);
  }
  co_return place;
}

PodVolumes::Place PodVolumes::host_path(const api::corev1::HostPathVolumeSource& source) const {
  const bool allowed = std::ranges::any_of(
      sources_.host_paths, [&source](const std::string& listed) { return inside(source.path, listed); });
  if (!allowed)
    throw Error(Code::Forbidden, fmt::format("hostPath {} is not on the list of allowed paths", source.path));
  const auto type = source.type.value_or("");
  const auto found = fs::status(source.path);
  if (!fs::exists(found)) {
    throw Error(Code::NotFound, fmt::format("hostPath type check failed: {} is not there", source.path));
  }
  if (type.starts_with("Directory") && !fs::is_directory(found)) {
    throw Error(Code::Invalid, fmt::format("hostPath type check failed: {} is not a directory", source.path));
  }
  if (type.starts_with("File") && !fs::is_regular_file(found)) {
    throw Error(Code::Invalid, fmt::format("hostPath type check failed: {} is not a file", source.path));
  }
  return {.host = fs::canonical(source.path).native(), .read_only = true};
}

PodVolumes::Place PodVolumes::claim(const api::corev1::PersistentVolumeClaimVolumeSource& source) const {
  const auto directory = sources_.claim ? sources_.claim(source.claimName) : std::nullopt;
  if (!directory) {
    throw Error(Code::Unavailable, fmt::format("persistentvolumeclaim \"{}\" is not bound yet", source.claimName));
  }
  return {.host = *directory, .read_only = source.readOnly.value_or(false)};
}

Task<> PodVolumes::renew(std::string key, TokenAsked asked, api::Time now) {
  const auto found = tokens_.find(key);
  if (found != tokens_.end() && now < found->second.renewed) co_return;
  if (!sources_.token) throw Error(Code::Unsupported, "there is nobody to ask for a service account token");
  auto given = co_await sources_.token(std::move(asked));
  // Like kubelet: after four fifths of its life, and a day at most.
  const auto life = given.expires.is_set() ? given.expires.point() - now.point() : std::chrono::hours(24);
  const auto until = std::clamp(std::chrono::duration_cast<std::chrono::seconds>(life * 4 / 5), std::chrono::seconds(1),
                                std::chrono::seconds(std::chrono::hours(24)));
  Token token{.token = std::move(given.token), .renewed = later(now, until)};
  tokens_.insert_or_assign(std::move(key), std::move(token));
}

std::vector<Mount> PodVolumes::mounts(const Container& container, const Environment& env) const {
  std::vector<Mount> out;
  for (const auto& mount : container.volumeMounts) {
    const auto found = places_.find(mount.name);
    if (found == places_.end()) throw Error(Code::NotFound, fmt::format("volume \"{}\" not found", mount.name));
    try {
      out.push_back({.host = host_of(found->second, mount, env),
                     .path = mount.mountPath,
                     .read_only = found->second.read_only || mount.readOnly.value_or(false)});
    } catch (const fs::filesystem_error& error) {
      throw Error(Code::Internal, error.what());
    }
  }
  return out;
}

std::string PodVolumes::host_of(const Place& place, const api::corev1::VolumeMount& mount,
                                const Environment& env) const {
  auto below = mount.subPath;
  if (!mount.subPathExpr.empty()) {
    below = expand(mount.subPathExpr, [&env](std::string_view name) -> std::optional<std::string> {
      const auto* value = find_variable(env, name);
      if (value == nullptr) throw Error(Code::Invalid, fmt::format("missing value for \"{}\"", name));
      return *value;
    });
  }
  if (below.empty()) return place.host;
  const fs::path parsed(below);
  if (parsed.is_absolute() || std::ranges::find(parsed, fs::path("..")) != parsed.end() ||
      !inside(fs::path(place.host) / parsed, place.host)) {
    throw Error(Code::Invalid, fmt::format("subPath \"{}\" leads out of volume \"{}\"", below, mount.name));
  }
  const auto path = fs::path(place.host) / parsed;
  if (!fs::exists(path)) {
    if (place.of_objects || place.read_only) {
      throw Error(Code::NotFound, fmt::format("subPath \"{}\" is not in volume \"{}\"", below, mount.name));
    }
    fs::create_directories(path);
  }
  // Links resolved: what bubblewrap binds is what was checked.
  return fs::canonical(path).native();
}

void remove_pod_files(const fs::path& pods, std::string_view uid) {
  if (uid.empty() || uid.find('/') != uid.npos || uid.starts_with('.')) {
    throw Error(Code::Invalid, fmt::format("\"{}\" is no uid", uid));
  }
  std::error_code failed;
  fs::remove_all(pods / uid, failed);
  if (failed) throw Error(Code::Internal, fmt::format("{}: {}", (pods / uid).native(), failed.message()));
}

}  // namespace kopper::workloads
