// conformance: asks a server all cases.
//   conformance record  --server URL --ca FILE --tokens FILE [--topic NAME]…     keep its answers in answers/
//   conformance compare [--server URL --ca FILE --tokens FILE] [--topic NAME]…   say where it differs from answers/
//   conformance prune   take what is no longer different out of known_differences.txt; ours in this process
// The tokens file is that of kube-apiserver's --token-auth-file, with the users token-admin and nobody in it.
// Without a server it is our own, in this process.
#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/client/config.h"
#include "kopper/client/transport.h"
#include "kopper/rt/file.h"
#include "kopper/rt/loop.h"

#include "conformance/local.h"
#include "conformance/suite.h"

namespace kopper::conformance {
namespace {

struct Arguments {
  std::string verb;
  std::string server;
  std::string ca;
  std::string tokens;
  std::vector<std::string> topics;  // none: all

  bool wants(const Topic& topic) const {
    return topics.empty() || std::ranges::find(topics, topic.name) != topics.end();
  }
};

Arguments parse(std::vector<std::string> words) {
  const auto usage = [] {
    return Error(Code::Invalid,
                 "usage: conformance record|compare|prune [--server URL --ca FILE --tokens FILE] [--topic NAME]…");
  };
  if (words.size() < 2 || words.size() % 2 != 0) throw usage();
  Arguments out;
  out.verb = words[1];
  if (out.verb != "record" && out.verb != "compare" && out.verb != "prune") throw usage();
  for (std::size_t i = 2; i < words.size(); i += 2) {
    if (words[i] == "--server") {
      out.server = words[i + 1];
    } else if (words[i] == "--ca") {
      out.ca = words[i + 1];
    } else if (words[i] == "--tokens") {
      out.tokens = words[i + 1];
    } else if (words[i] == "--topic") {
      out.topics.push_back(words[i + 1]);
    } else {
      throw usage();
    }
  }
  if (out.verb == "record" && out.server.empty()) throw usage();
  if (out.verb == "prune" && words.size() > 2) throw usage();
  return out;
}

// A line reads token,user,uid,"groups".
std::string token_of(const std::string& file, std::string_view user) {
  std::istringstream lines(rt::read_file(file));
  for (std::string line; std::getline(lines, line);) {
    const auto comma = line.find(',');
    if (comma != std::string::npos && line.substr(comma + 1).starts_with(fmt::format("{},", user))) {
      return line.substr(0, comma);
    }
  }
  throw Error(Code::Invalid, fmt::format("{}: no token of {}", file, user));
}

Target target_of(const Arguments& arguments) {
  client::Config config;
  config.server = arguments.server;
  config.ca.file = arguments.ca;
  return {.handler = client::make_transport(config),
          .admin_token = token_of(arguments.tokens, "token-admin"),
          .nobody_token = token_of(arguments.tokens, "nobody")};
}

void prune(const std::vector<std::string>& unused) {
  const auto file = home() / "known_differences.txt";
  std::istringstream lines(rt::read_file(file));
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const bool covered =
        std::ranges::any_of(unused, [&](const auto& pattern) { return line.starts_with(pattern + " "); });
    if (!covered) out += line + "\n";
  }
  rt::write_file_atomic(file, out);
}

int run_all(const Arguments& arguments) {
  rt::Loop loop;
  const auto target = arguments.server.empty() ? loop.run(make_local()) : target_of(arguments);
  auto known = KnownDifferences::read(home() / "known_differences.txt");
  std::size_t scenarios = 0, steps = 0, differences = 0, accepted = 0, different_steps = 0;
  for (const auto& topic : read_topics(home() / "cases")) {
    if (!arguments.wants(topic)) continue;
    scenarios += topic.scenarios.size();
    for (const auto& scenario : topic.scenarios) steps += scenario.steps.size();
    const auto answers = loop.run(answers_of(target, topic));
    if (arguments.verb == "record") {
      write_answers(home() / "answers", topic, answers);
      continue;
    }
    std::string last;
    for (const auto& difference : compare_topic(topic, read_answers(home() / "answers", topic), answers)) {
      different_steps += difference.step == last ? 0 : 1;
      last = difference.step;
      if (known.covers(difference)) {
        ++accepted;
        continue;
      }
      std::cout << difference.str() << '\n';
      ++differences;
    }
  }
  const auto unused =
      arguments.topics.empty() && arguments.verb != "record" ? known.unused() : std::vector<std::string>();
  if (arguments.verb == "prune") prune(unused);
  for (const auto& entry : unused) std::cout << "no longer different: " << entry << '\n';
  std::cout << fmt::format("{} scenarios, {} steps, {} of them equal; {} differences, {} known ones\n", scenarios,
                           steps, steps - different_steps, differences, accepted);
  return differences == 0 && unused.empty() ? 0 : 1;
}

}  // namespace
}  // namespace kopper::conformance

int main(int argc, char** argv) {
  try {
    return kopper::conformance::run_all(kopper::conformance::parse({argv, argv + argc}));
  } catch (const kopper::Error& error) {
    std::cerr << "conformance: " << error.what() << '\n';
    return kopper::exit_code(error.code);
  }
}
