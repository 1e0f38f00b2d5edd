#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/gen/core_v1.h"
#include "kopper/api/time.h"
#include "kopper/rt/task.h"
#include "kopper/workloads/object_files.h"
#include "kopper/workloads/pod_env.h"
#include "kopper/workloads/sandbox.h"

namespace kopper::workloads {

// What to ask the API server's token subresource of the pod's account for.
struct TokenAsked {
  std::string audience;  // "": the API server
  std::int64_t expiration_seconds = 3600;
};
struct AccountToken {
  std::string token;
  api::Time expires;
};

struct VolumeSources {
  PodSources objects;
  // The directory of a claim of the pod's namespace; nothing while it is not bound. Throws Error when there is none.
  std::function<std::optional<std::string>(std::string_view claim)> claim;
  std::function<Task<AccountToken>(TokenAsked asked)> token;
  std::vector<std::string> host_paths;  // directories and files of the machine that pods may see
};

// The volumes of one pod as directories of this machine, below <pods>/<uid>/volumes. Files have the modes that the pod
// asks for, as its programs may change their user; nobody else on the machine may enter <pods>/<uid>. Loop-confined.
// emptyDir in memory is a directory as well: it outlives containers, and all of them see it.
class PodVolumes {
 public:
  PodVolumes(std::filesystem::path pods, VolumeSources sources);

  // Makes <pods>/<uid> and what is missing in it, and brings the files of objects up to date: to be called again when
  // an object has changed, and not later than at the time returned (a token is to be renewed). Throws Error whose text
  // says which volume and why, in kubelet's words: Unavailable, a claim is not bound yet; NotFound, an object is
  // missing; Forbidden, a host path is not on the list; Unsupported, a kind of volume that is not there. All but the
  // last may pass.
  Task<std::optional<api::Time>> update(std::shared_ptr<const api::corev1::Pod> pod, PodFacts facts, api::Time now);

  // Where a container sees them, after update(). `env` is for subPathExpr. What lies below a volume is made when it is
  // not there. Throws Error{Invalid|NotFound}: a path that leads out of its volume, or a file that is not in it.
  std::vector<Mount> mounts(const api::corev1::Container& container, const Environment& env) const;

 private:
  struct Place {
    std::string host;
    bool read_only = false;
    bool of_objects = false;  // its files are ours to write, nobody else's
  };
  struct Token {
    std::string token;
    api::Time renewed;
  };
  class Files;

  Task<Place> place(const api::corev1::Pod* pod, const api::corev1::Volume* volume, const PodFacts* facts,
                    api::Time now);
  Place host_path(const api::corev1::HostPathVolumeSource& source) const;
  Place claim(const api::corev1::PersistentVolumeClaimVolumeSource& source) const;
  Task<> renew(std::string key, TokenAsked asked, api::Time now);
  std::string host_of(const Place& place, const api::corev1::VolumeMount& mount, const Environment& env) const;

  // constant after construction
  const std::filesystem::path pods_;
  const VolumeSources sources_;

  // this loop only
  std::map<std::string, Place> places_;
  std::map<std::string, Token> tokens_;  // by volume and path
};

// Takes away all that a pod left. Claims' data is elsewhere and stays.
void remove_pod_files(const std::filesystem::path& pods, std::string_view uid);

}  // namespace kopper::workloads
