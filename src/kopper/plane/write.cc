// create, update and patch.
#include <fmt/format.h>

#include "kopper/plane/behaviour.h"
#include "kopper/plane/body.h"
#include "kopper/plane/ownership.h"
#include "kopper/plane/patching.h"
#include "kopper/plane/save.h"

namespace kopper::plane {
namespace {

// dryRun takes one value, fieldValidation three.
void check_options(const Call& call, const char* kind) {
  Problems problems;
  if (const auto dry = call.info.text("dryRun"); dry && *dry != "All")
    problems.not_supported("dryRun", json::Value(json::Array{*dry}), {"All"});
  if (const auto v = call.info.text("fieldValidation"); v && *v != "Ignore" && *v != "Warn" && *v != "Strict")
    problems.not_supported("fieldValidation", *v, {"Ignore", "Strict", "Warn"});
  if (const auto manager = call.info.text("fieldManager"); manager && manager->size() > 128)
    problems.too_long("fieldManager", 128);
  if (!problems.empty()) throw invalid("meta.k8s.io", kind, "", problems);
}

Task<http::Response> saved(Core& core, const Call& call, Saved saved) {
  const Output output = negotiate(call.info, call.header("accept"));
  const Renderer renderer(call.resource, output, *core.converter);
  std::string body;
  if (saved.stored) {
    body = co_await renderer.object(saved.stored);
  } else {
    body = renderer.object(saved.value);
  }
  co_return answer(call, saved.created ? 201 : 200, std::move(body), output);
}

// What a patch made is decoded like any object that a client sends.
json::Value patched(Call& call, const PatchDocument& document, const json::Value& current) {
  const Resource& resource = *call.resource;
  json::Value out = document.applied_to(current);
  if (out.text("kind") != resource.kind || out.text("apiVersion") != resource.api_version())
    throw bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}", out.text("kind"),
                                  out.text("apiVersion"), resource.kind));
  decode_strictly(call, resource, out);
  return out;
}

Task<Saved> apply(Core& core, Call& call, json::Value config) {
  const Resource& resource = *call.resource;
  const bool force = call.info.flag("force");
  const Manager manager{.name = call.manager(), .subresource = call.info.subresource, .now = core.now()};
  const Edit edit = [&](const json::Value* current) { return apply_config(resource, current, config, manager, force); };
  SaveOptions options{.create = call.info.subresource.empty(), .tracked = false, .subresource = call.info.subresource};
  co_return co_await save(core, call, edit, options);
}

}  // namespace

Task<http::Response> create(Core& core, Call& call) {
  check_options(call, "CreateOptions");
  json::Value object = read_object(call, *call.resource);
  Saved done = co_await save_new(core, call, std::move(object));
  co_return co_await saved(core, call, std::move(done));
}

Task<http::Response> update(Core& core, Call& call) {
  check_options(call, "UpdateOptions");
  json::Value object = read_object(call, *call.resource);
  const Edit edit = [&](const json::Value*) { return object; };
  // Leases and events may be made by an update, as in the real server.
  const bool create =
      call.info.subresource.empty() && (call.resource->kind == "Lease" || call.resource->kind == "Event");
  SaveOptions options{.create = create, .tracked = true, .subresource = call.info.subresource};
  Saved done = co_await save(core, call, edit, options);
  co_return co_await saved(core, call, std::move(done));
}

Task<http::Response> patch(Core& core, Call& call) {
  check_options(call, "PatchOptions");
  PatchDocument document = read_patch(call, call.resource->type);
  if (document.is_apply()) {
    Saved done = co_await apply(core, call, std::move(document.content));
    co_return co_await saved(core, call, std::move(done));
  }
  const Edit edit = [&](const json::Value* current) { return patched(call, document, *current); };
  SaveOptions options{.create = false, .tracked = true, .subresource = call.info.subresource};
  Saved done = co_await save(core, call, edit, options);
  co_return co_await saved(core, call, std::move(done));
}

}  // namespace kopper::plane
