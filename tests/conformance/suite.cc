#include "conformance/suite.h"

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/json/writer.h"
#include "kopper/rt/file.h"

#include "conformance/normalise.h"

namespace kopper::conformance {

std::filesystem::path home() { return std::filesystem::path(KOPPER_SOURCE_DIR) / "tests/conformance"; }

Task<json::Value> answers_of(Target target, Topic topic) {
  json::Value out{json::Object()};
  for (const auto& scenario : topic.scenarios) {
    auto transcript = co_await run(target, scenario);
    out[scenario.name] = normalise(scenario, std::move(transcript));
  }
  co_return out;
}

void write_answers(const std::filesystem::path& folder, const Topic& topic, const json::Value& answers) {
  std::string out = "{";
  for (const auto& [scenario, steps] : *answers.as_object()) {
    out += out.size() == 1 ? "\n" : ",\n";
    json::append_quoted(out, scenario);
    out += ": [";
    for (std::size_t i = 0; i < steps.as_array()->size(); ++i) out += (i == 0 ? "\n" : ",\n") + json::dump(steps[i]);
    out += "\n]";
  }
  out += "\n}\n";
  rt::write_file_atomic(folder / (topic.name + ".json"), out);
}

json::Value read_answers(const std::filesystem::path& folder, const Topic& topic) {
  const auto file = folder / (topic.name + ".json");
  auto answers = json::parse(rt::read_file(file));
  if (!answers) throw_error(answers.error(), file.string());
  return *std::move(answers);
}

std::vector<Difference> compare_topic(const Topic& topic, const json::Value& real, const json::Value& ours) {
  std::vector<Difference> out;
  for (const auto& scenario : topic.scenarios) {
    for (std::size_t i = 0; i < scenario.steps.size(); ++i) {
      const auto step = fmt::format("{}/{}/{}", topic.name, scenario.name, scenario.steps[i].name);
      for (auto& difference : compare(step, real[scenario.name][i], ours[scenario.name][i])) {
        out.push_back(std::move(difference));
      }
    }
  }
  return out;
}

}  // namespace kopper::conformance
