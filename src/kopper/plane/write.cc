// create, update and patch.
#include <algorithm>

#include <fmt/format.h>

#include "kopper/plane/apply/detail/go_text.h"
#include "kopper/plane/behaviour.h"
#include "kopper/plane/body.h"
#include "kopper/plane/ownership.h"
#include "kopper/plane/patching.h"
#include "kopper/plane/save.h"

namespace kopper::plane {
namespace {

// Of ASCII; what is beyond may be a letter.
void check_printable(std::string_view manager, Problems& problems) {
  std::string shown;
  std::size_t first = std::string_view::npos;
  for (std::size_t i = 0; i < manager.size(); ++i) {
    const auto c = static_cast<unsigned char>(manager[i]);
    const bool control = c < 0x20 || c == 0x7f;
    if (control && first == std::string_view::npos) first = i;
    shown += control ? fmt::format("\\x{:02x}", c) : std::string(1, manager[i]);
  }
  if (first == std::string_view::npos) return;
  problems.add("fieldManager", "FieldValueInvalid",
               fmt::format("Invalid value: \"{}\": invalid character U+{:04X} (at position {})", shown,
                           static_cast<unsigned char>(manager[first]), first));
}

// dryRun takes one value, fieldValidation three.
void check_options(const Call& call, const char* kind) {
  Problems problems;
  if (const auto dry = call.info.text("dryRun"); dry && *dry != "All")
    problems.not_supported("dryRun", json::Value(json::Array{*dry}), {"All"});
  if (const auto v = call.info.text("fieldValidation"); v && *v != "Ignore" && *v != "Warn" && *v != "Strict")
    problems.not_supported("fieldValidation", *v, {"", "Ignore", "Strict", "Warn"});
  if (const auto manager = call.info.text("fieldManager"); manager && manager->size() > 128)
    problems.too_long("fieldManager", 128);
  if (const auto manager = call.info.text("fieldManager")) check_printable(*manager, problems);
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

// The real server shows a strategic patch as Go prints it, and of others the whole result: its first level sorted, as
// patching leaves it, all below as it was.
Refusal bad_result(const PatchDocument& document, json::Value object, std::string_view why) {
  if (document.is_strategic()) {
    Problems problems;
    problems.invalid("patch", detail::go_text(document.content), why);
    return invalid("", "", "", problems);
  }
  std::vector<json::Object::Member> members;
  for (auto& member : *object.as_object()) members.push_back(std::move(member));
  std::ranges::sort(members, {}, &json::Object::Member::first);
  Problems problems;
  problems.invalid("patch", json::dump(json::Object(std::move(members))), why);
  return invalid("", "", "", problems);
}

// What a patch made is decoded like any object that a client sends.
json::Value patched(Call& call, const PatchDocument& document, const json::Value& current) {
  const Resource& resource = *call.resource;
  json::Value out = document.applied_to(current);
  if (out.text("kind") != resource.kind || out.text("apiVersion") != resource.api_version())
    throw bad_result(document, out,
                     fmt::format("no kind \"{}\" is registered for version \"{}\" in scheme \"{}\"", out.text("kind"),
                                 out.text("apiVersion"), "pkg/runtime/scheme.go:111"));
  try {
    decode_strictly(call, resource, out, document.complaints);
  } catch (const Refusal& refusal) {
    if (refusal.code != 400) throw;
    const std::string_view said = refusal.message;
    const std::string prefix = fmt::format("cannot be handled as a {}: ", resource.kind);
    const std::size_t at = said.find(prefix);
    throw bad_result(document, document.applied_to(current),
                     at == std::string_view::npos ? said : said.substr(at + prefix.size()));
  }
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
