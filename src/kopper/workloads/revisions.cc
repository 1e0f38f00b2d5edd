#include "kopper/workloads/revisions.h"

#include "kopper/meta/decode.h"
#include "kopper/meta/encode.h"

namespace kopper::workloads {

using api::appsv1::ControllerRevision;
using api::corev1::PodTemplateSpec;

json::Value revision_data(const PodTemplateSpec& template_) {
  json::Value data = json::Object{};
  auto& kept = data["spec"]["template"];
  kept = meta::to_value(template_);
  kept["$patch"] = "replace";
  return data;
}

PodTemplateSpec template_of(const ControllerRevision& revision) {
  json::Value kept = revision.data["spec"]["template"];
  if (auto* members = kept.as_object()) members->erase("$patch");
  auto out = meta::decode<PodTemplateSpec>(json::dump(kept));
  if (!out) throw_error(out.error(), fmt::format("ControllerRevision {}", revision.metadata.name));
  return std::move(*out);
}

RevisionRef find_revision(const std::vector<RevisionRef>& history, const PodTemplateSpec& template_) {
  const auto wanted = revision_data(template_);
  RevisionRef found;
  for (const auto& one : history) {
    if (one->data == wanted && (!found || one->revision > found->revision)) found = one;
  }
  return found;
}

std::int64_t highest_revision(const std::vector<RevisionRef>& history) {
  std::int64_t highest = 0;
  for (const auto& one : history) highest = std::max(highest, one->revision);
  return highest;
}

std::vector<RevisionRef> surplus_revisions(std::vector<RevisionRef> history, const std::set<std::string>& live,
                                           std::size_t keep) {
  std::erase_if(history, [&](const RevisionRef& one) {
    return live.contains(one->metadata.name) || one->metadata.deletionTimestamp.is_set();
  });
  if (history.size() <= keep) return {};
  std::ranges::sort(history, {}, [](const RevisionRef& one) { return one->revision; });
  history.resize(history.size() - keep);
  return history;
}

}  // namespace kopper::workloads
