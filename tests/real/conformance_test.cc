#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/client/config.h"
#include "kopper/client/transport.h"
#include "kopper/rt/loop.h"

#include "conformance/suite.h"
#include "real/cluster.h"

// The recorded answers are still those of the real server.
namespace kopper::conformance {
namespace {

TEST(Recorded, IsWhatTheRealServerAnswers) {
  rt::Loop loop;
  client::Config config;
  config.server = testing::cluster().url();
  config.ca.file = testing::cluster().ca_file();
  const Target real{.handler = client::make_transport(config),
                    .admin_token = testing::cluster().admin_token(),
                    .nobody_token = testing::cluster().nobody_token()};
  for (const auto& topic : read_topics(home() / "cases")) {
    const auto answers = loop.run(answers_of(real, topic));
    for (const auto& difference : compare_topic(topic, read_answers(home() / "answers", topic), answers)) {
      ADD_FAILURE() << "recorded as real, now as ours: " << difference.str();
    }
  }
}

}  // namespace
}  // namespace kopper::conformance
