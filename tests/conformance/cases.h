#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// The cases are data: cases/<topic>.yaml is a list of scenarios, README.md says how one is written.
namespace kopper::conformance {

enum class User { Admin, Nobody, Anonymous, BadToken };

struct Step {
  // Call: ask, and take the answer. Watch: ask, and leave the stream open. Collect: read events of an open stream.
  enum class Form { Call, Watch, Collect };

  std::string name;  // unique in its scenario
  Form form = Form::Call;

  // Call and Watch; all but `method` may hold placeholders
  std::string method;
  std::string target;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  User user = User::Admin;
  std::optional<std::string> until;  // ask again until the answer has this text

  // Collect
  std::string watch;                  // the step that opened the stream
  std::optional<std::size_t> events;  // so many; else until the stream ends

  // What is compared of the answer's body: patterns of paths, "/items/*/metadata/name".
  std::vector<std::string> only;
  std::vector<std::string> drop;
};

struct Scenario {
  std::string name;
  std::vector<Step> steps;

  // All that its requests say, placeholders unresolved.
  std::string said() const;
};

struct Topic {
  std::string name;  // of the file
  std::vector<Scenario> scenarios;
};

// Throws Error{Invalid} naming the file, scenario and step that cannot be read.
Topic read_topic(const std::filesystem::path& file);
// All of a folder, by name.
std::vector<Topic> read_topics(const std::filesystem::path& folder);

}  // namespace kopper::conformance
