// What a real kube-apiserver did to managedFields (tests/golden/apply), done again.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kopper/plane/apply/fields_of.h"
#include "kopper/plane/apply/managers.h"
#include "kopper/plane/apply/test_schema.h"
#include "kopper/plane/resource.h"

namespace kopper::plane {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(KOPPER_SOURCE_DIR) / "tests/golden/apply";

json::Value read(const std::filesystem::path& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto value = json::parse(text);
  if (!value) throw_error(value.error(), path.string());
  return std::move(*value);
}

std::vector<std::string> recordings() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".json") && !name.ends_with(".crd.json")) out.push_back(entry.path().stem().string());
  }
  std::ranges::sort(out);
  return out;
}

const json::Value& managed_fields(const json::Value& object) { return object["metadata"]["managedFields"]; }

void set_managed_fields(json::Value& object, const json::Value& entries) {
  json::Object& metadata = *object["metadata"].as_object();
  if (entries.is_null()) {
    metadata.erase("managedFields");
  } else {
    metadata["managedFields"] = entries;
  }
}

// Takes away "spec.containers.*.volumeMounts": what admission and the server set, after owners have been told.
void drop(json::Value& value, std::string_view path) {
  const std::size_t dot = path.find('.');
  const std::string_view head = path.substr(0, dot);
  if (json::Array* list = value.as_array()) {
    for (json::Value& item : *list) drop(item, path.substr(dot + 1));
  } else if (json::Object* object = value.as_object()) {
    if (dot == std::string_view::npos) {
      object->erase(head);
    } else if (json::Value* inside = object->find(head)) {
      drop(*inside, path.substr(dot + 1));
    }
  }
}

// Custom resources are written with their members sorted.
json::Value sorted(json::Value value) {
  if (json::Array* list = value.as_array()) {
    for (json::Value& item : *list) item = sorted(std::move(item));
  } else if (json::Object* object = value.as_object()) {
    for (auto& member : *object) member.second = sorted(std::move(member.second));
    std::ranges::sort(*object, {}, [](const auto& member) -> const std::string& { return member.first; });
  }
  return value;
}

bool blank(const json::Value& value) {
  if (const json::Object* object = value.as_object())
    return std::ranges::all_of(*object, [](const auto& member) { return blank(member.second); });
  return value.is_null() || (value.is_array() && value.as_array()->empty());
}

// That `whole`, which has defaults, says all that `part` says.
bool covers(const json::Value& whole, const json::Value& part) {
  if (blank(part)) return true;
  if (const json::Object* object = part.as_object())
    return std::ranges::all_of(*object, [&](const auto& member) {
      return member.first == "managedFields" || member.first == "resourceVersion" || member.first == "generation" ||
             covers(whole[member.first], member.second);
    });
  if (const json::Array* list = part.as_array()) {
    if (!whole.is_array() || whole.as_array()->size() != list->size()) return false;
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (!covers(whole[i], (*list)[i])) return false;
    }
    return true;
  }
  return whole == part;
}

json::Array sorted_causes(const json::Value& details) {
  json::Array out = details["causes"].is_array() ? *details["causes"].as_array() : json::Array();
  std::ranges::sort(out, {},
                    [](const json::Value& cause) { return std::pair(cause.text("message"), cause.text("field")); });
  return out;
}

// The server tells several problems in any order.
std::vector<std::string> sorted_lines(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::ranges::sort(out);
  return out;
}

class Recorded : public testing::TestWithParam<std::string> {
 protected:
  void replay(const json::Value& recording, const json::Value& step) {
    const std::string version(step.text("apiVersion"));
    const std::string plural(recording.text("plural"));
    const bool custom = *recording["custom"].as_bool();
    const std::string_view subresource = step.text("subresource");
    const std::size_t slash = version.find('/');
    const std::string group = slash == std::string::npos ? "" : version.substr(0, slash);
    FieldWrite write{.schema = schema(version, plural, custom),
                     .manager = step.text("manager").empty() ? "Python-urllib" : step.text("manager"),
                     .api_version = version,
                     .kind = recording.text("kind"),
                     .subresource = subresource,
                     .now = *api::Time::parse(step.text("now"))};
    write.filter = custom ? custom_field_filter(true, subresource) : field_filter(group, plural, subresource);
    const VersionLookup versions{.schema = [&](std::string_view v) { return &schema(std::string(v), plural, custom); },
                                 .convert =
                                     [](const json::Value& object, std::string_view v) {
                                       json::Value out = object;
                                       out["apiVersion"] = v;
                                       return out;
                                     }};
    if (custom) write.versions = &versions;
    for (const char* one : {"before", "sent", "answer"}) same_when_created(step[one], write);
    if (step.text("do") == "apply") {
      apply(recording, step, write);
    } else {
      update(recording, step, write);
    }
  }

 private:
  const Schema& schema(const std::string& version, const std::string& plural, bool custom) {
    if (custom) {
      const Schema*& known = custom_[version];
      if (known == nullptr) {
        const json::Value crd = read(kFolder / "widgets.crd.json");
        for (const json::Value& v : *crd["spec"]["versions"].as_array()) {
          if (version.ends_with("/" + std::string(v.text("name"))))
            known = &test_schema(v["schema"]["openAPIV3Schema"], pool_, catalog_.schemas());
        }
      }
      return *known;
    }
    const std::size_t slash = version.find('/');
    const bool core = slash == std::string::npos;
    const auto found =
        catalog_.find(core ? "" : version.substr(0, slash), core ? version : version.substr(slash + 1), plural);
    if (found == nullptr) throw std::runtime_error("not served: " + plural);
    return *found->schema;
  }

  static void update(const json::Value& recording, const json::Value& step, const FieldWrite& write) {
    if (step["answer"].text("kind") == "Status") return;
    const json::Value& before = step["before"];
    json::Value after = step["answer"];
    if (before.is_null()) {
      for (const json::Value& path : *recording["drop"].as_array()) drop(after, *path.as_string());
    }
    const json::Value& sent = step["sent"];
    const bool whole = sent["metadata"]["uid"].is_string();
    const bool says = sent["metadata"].is_object() && sent["metadata"].as_object()->contains("managedFields");
    set_managed_fields(after, whole || says ? managed_fields(sent) : managed_fields(before));
    update_managers(before, after, write);
    keep_times(before, after);
    same_managers(after, step["answer"], *recording["custom"].as_bool());
  }

  // Who creates owns what changed since there was nothing.
  static void same_when_created(const json::Value& object, const FieldWrite& write) {
    if (!object.is_object() || write.filter.only != nullptr) return;
    const Changes all = changes({}, object, write.schema);
    FieldSet written = all.modified | all.added;
    write.filter.narrow(written);
    written -= untracked_fields();
    EXPECT_EQ(json::dump(written_by_create(object, write.schema, write.filter.reset, untracked_fields())),
              json::dump(written.encode()));
  }

  static void same_managers(const json::Value& got, const json::Value& want, bool custom) {
    const json::Value& entries = managed_fields(got);
    EXPECT_EQ(json::dump_pretty(custom ? sorted(entries) : entries), json::dump_pretty(managed_fields(want)));
  }

  static void apply(const json::Value& recording, const json::Value& step, const FieldWrite& write) {
    const json::Value& want = step["answer"];
    const json::Value& before = step["before"];
    const bool refused = want.text("kind") == "Status";
    if (want["code"] == 422) return;  // validation, which comes later
    try {
      Applied got = apply_config(before, step["sent"], write, *step["force"].as_bool());
      if (!got.conflicts.empty()) throw apply_conflict(got.conflicts);
      ASSERT_FALSE(refused) << json::dump_pretty(want);
      if (!before.is_null()) keep_times(before, got.object);
      const bool custom = *recording["custom"].as_bool();
      same_managers(got.object, want, custom);
      json::Value whole = want;
      for (const json::Value& path : *recording["defaults"].as_array()) drop(whole, *path.as_string());
      for (const json::Value& path : *recording["defaults"].as_array()) drop(got.object, *path.as_string());
      const std::string_view part = write.subresource.empty() ? "spec" : "status";
      EXPECT_TRUE(covers(whole[part], got.object[part])) << json::dump_pretty(got.object) << json::dump_pretty(whole);
      if (!custom) return;
      EXPECT_TRUE(covers(got.object[part], whole[part])) << json::dump_pretty(got.object) << json::dump_pretty(whole);
    } catch (const Refusal& refusal) {
      EXPECT_TRUE(refused) << refusal.message;
      const json::Value status = refusal.status();
      EXPECT_EQ(sorted_lines(refusal.message), sorted_lines(want.text("message")));
      EXPECT_EQ(status["code"], want["code"]);
      EXPECT_EQ(status.text("reason"), want.text("reason"));
      EXPECT_EQ(sorted_causes(status["details"]), sorted_causes(want["details"]));
    }
  }

  Catalog catalog_;
  SchemaPool pool_;
  std::map<std::string, const Schema*> custom_;
};

TEST_P(Recorded, SameManagedFields) {
  const json::Value recording = read(kFolder / (GetParam() + ".json"));
  const json::Array& steps = *recording["steps"].as_array();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    SCOPED_TRACE(fmt::format("step {}: {} by {}: {}", i, steps[i].text("do"), steps[i].text("manager"),
                             json::dump(steps[i]["sent"]).substr(0, 400)));
    replay(recording, steps[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Apply, Recorded, testing::ValuesIn(recordings()), [](const auto& parameter) {
  std::string name = parameter.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace kopper::plane
