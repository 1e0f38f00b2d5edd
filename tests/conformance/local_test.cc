#include "conformance/local.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/rt/loop.h"

#include "conformance/suite.h"

namespace kopper::conformance {
namespace {

// tests/real asks the real server whether the recorded answers are still its own.
TEST(Local, AnswersAsTheRealServerDoes) {
  rt::Loop loop;
  const auto target = loop.run(make_local());
  auto known = KnownDifferences::read(home() / "known_differences.txt");
  for (const auto& topic : read_topics(home() / "cases")) {
    const auto ours = loop.run(answers_of(target, topic));
    for (const auto& difference : compare_topic(topic, read_answers(home() / "answers", topic), ours)) {
      if (!known.covers(difference)) ADD_FAILURE() << difference.str();
    }
  }
  for (const auto& pattern : known.unused()) {
    ADD_FAILURE() << "no longer different, take it out of known_differences.txt (conformance prune): " << pattern;
  }
}

}  // namespace
}  // namespace kopper::conformance
