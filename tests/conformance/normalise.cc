#include "conformance/normalise.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace kopper::conformance {
namespace {

using Revision = std::uint64_t;

// The groups of src/kopper/api/gen. A real server has more, and a shared one has what other scenarios defined.
constexpr auto kGroups = std::to_array<std::string_view>({
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
});

std::optional<Revision> revision_of(const json::Value& value) {
  const auto* text = value.as_string();
  Revision out = 0;
  if (text == nullptr) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), out);
  if (error != std::errc() || end != text->data() + text->size() || out == 0) return std::nullopt;
  return out;
}

// Its version is the server's, not that of an object.
bool is_collection(const json::Value& value) {
  return value["items"].is_array() || value.text("kind") == "Table" || value.text("kind").ends_with("List");
}

std::string replace_all(std::string text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// Calls `change` with each match, and puts what it returns in its place.
template <class Change>
std::string rewrite(const std::string& text, const std::regex& pattern, Change change) {
  std::string out;
  auto from = text.begin();
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    out.append(from, match->operator[](0).first);
    out += change(*match);
    from = match->operator[](0).second;
  }
  out.append(from, text.end());
  return out;
}

class Normaliser {
 public:
  Normaliser(const Scenario& scenario, std::string space) : said_(scenario.said()), space_(std::move(space)) {
    static const std::regex asked(R"re("generateName":"([\w-]+)")re");
    for (std::sregex_iterator match(said_.begin(), said_.end(), asked), end; match != end; ++match) {
      generated_.emplace_back(match->str(1) + "[bcdfghjklmnpqrstvwxz2456789]{5}\\b");
    }
  }

  void learn(const json::Value& value) {
    if (const auto* array = value.as_array()) {
      for (const auto& item : *array) learn(item);
    } else if (const auto* object = value.as_object()) {
      const auto revision = revision_of(value["metadata"]["resourceVersion"]);
      if (revision && !is_collection(value)) revisions_.insert(*revision);
      for (const auto& [key, member] : *object) {
        if (value.text("type") != "BOOKMARK") learn(member);
      }
    }
  }

  void apply(json::Value& value) {
    if (auto* text = value.as_string()) {
      *text = of_text(std::move(*text));
    } else if (auto* array = value.as_array()) {
      for (auto& item : *array) apply(item);
    } else if (auto* object = value.as_object()) {
      const bool collection = is_collection(value) || value.text("type") == "BOOKMARK";
      json::Object out;
      out.reserve(object->size());
      for (auto& [key, member] : *object) {
        apply_member(key, member, collection);
        out[of_text(key)] = std::move(member);
      }
      *object = std::move(out);
    }
  }

 private:
  void apply_member(const std::string& key, json::Value& value, bool collection) {
    if (key == "metadata") return apply_metadata(value, collection);
    if (key == "object" && collection) apply_metadata(value["metadata"], true);  // of a bookmark
    if (key == "nodePort" || key == "healthCheckNodePort") {
      if (value.as_int() != nullptr && !said_.contains(json::dump(value))) value = "<port>";
    } else if (key == "serverAddress") {
      value = "<address>";
    } else if (key == "groups" || key == "items") {
      keep_our_groups(value);
    }
    apply(value);
  }

  void apply_metadata(json::Value& meta, bool collection) {
    auto* object = meta.as_object();
    if (object == nullptr) return;
    if (const auto revision = revision_of(meta["resourceVersion"]))
      meta["resourceVersion"] = rank(*revision, collection);
    if (meta["resourceVersion"].is_null()) object->erase("resourceVersion");
    if (!meta.text("continue").empty()) meta["continue"] = "<continue>";
    if (auto* fields = object->find("managedFields"); fields != nullptr && fields->is_array()) {
      std::ranges::stable_sort(*fields->as_array(), {}, [](const json::Value& f) {
        return std::tuple(f.text("operation"), f.text("manager"), f.text("apiVersion"), f.text("subresource"));
      });
    }
    apply(meta);
  }

  // Of /apis, plain and aggregated.
  void keep_our_groups(json::Value& list) const {
    auto* array = list.as_array();
    if (array == nullptr) return;
    std::erase_if(*array, [this](const json::Value& group) {
      if (!group["versions"].is_array()) return false;
      const auto name = group["name"].is_string() ? group.text("name") : group["metadata"].text("name");
      return std::ranges::find(kGroups, name) == kGroups.end() && !name.contains(space_);
    });
  }

  std::string rank(Revision revision, bool floor) const {
    const auto after = std::distance(revisions_.begin(), revisions_.upper_bound(revision));
    return fmt::format("rv{}{}", after, floor ? "+" : "");
  }

  std::string of_text(std::string text) {
    static const std::regex uid("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
    static const std::regex time(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))");
    static const std::regex revision(
        R"re((ResourceVersion in (?:precondition|object meta): |ResourceVersion in record \(|resourceVersion\\?":\\?")(\d+))re");
    static const std::regex newest(R"((resource version: \d+ \(|current: )\d+)");
    static const std::regex address(R"(\b10\.96\.\d+\.\d+\b)");  // of the range of services
    static const std::regex port(R"(:(3[0-2]\d{3})/)");
    static const std::regex age(R"((\d+(d|h|m|s|ms))+)");
    static const std::regex token(R"(eyJ[\w-]+\.[\w-]+\.[\w-]+)");

    text = replace_all(std::move(text), space_, "$ns");
    for (const auto& name : generated_) {
      text = rewrite(text, name, [](const std::smatch& m) { return m.str().substr(0, m.str().size() - 5) + "*****"; });
    }
    if (std::ranges::none_of(text, [](unsigned char c) { return std::isdigit(c) != 0; })) return text;
    text = rewrite(text, uid, [this](const std::smatch& m) {
      if (said_.contains(m.str())) return m.str();
      return uids_.try_emplace(m.str(), fmt::format("uid-{}", uids_.size() + 1)).first->second;
    });
    text = rewrite(text, time, [this](const std::smatch& m) {
      if (said_.contains(m.str())) return m.str();
      return std::string(m[1].matched ? "<microtime>" : "<time>");
    });
    text = rewrite(text, address, [this](const std::smatch& m) { return said_.contains(m.str()) ? m.str() : "<ip>"; });
    text =
        rewrite(text, port, [this](const std::smatch& m) { return said_.contains(m.str(1)) ? m.str() : ":<port>/"; });
    text = rewrite(text, revision, [this](const std::smatch& m) {
      const Revision number = std::stoull(m.str(2));
      return m.str(1) + (revisions_.contains(number) ? rank(number, false) : m.str(2));
    });
    text = rewrite(text, newest, [](const std::smatch& m) { return m.str(1) + "<rv>"; });
    text = rewrite(text, token, [](const std::smatch&) { return std::string("<token>"); });
    if (std::regex_match(text, age) && !said_.contains(text)) return "<age>";
    return text;
  }

  const std::string said_;
  const std::string space_;
  std::set<Revision> revisions_;
  std::vector<std::regex> generated_;
  std::map<std::string, std::string> uids_;
};

}  // namespace

json::Array normalise(const Scenario& scenario, Transcript transcript) {
  Normaliser normaliser(scenario, std::move(transcript.space));
  for (const auto& answer : transcript.answers) normaliser.learn(answer);
  for (std::size_t i = 0; i < transcript.answers.size(); ++i) {
    auto& answer = transcript.answers[i];
    normaliser.apply(answer);
    auto* body = answer.as_object()->find("body");
    if (body == nullptr) continue;
    const auto& step = scenario.steps[i];
    if (!step.only.empty()) *body = keep_only(*body, step.only);
    drop(*body, step.drop);
  }
  return std::move(transcript.answers);
}

}  // namespace kopper::conformance
