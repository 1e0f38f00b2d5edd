#include "kopper/rt/sign.h"

#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/rt/cert.h"

namespace kopper::rt {
namespace {

TEST(SigningKey, VerifiesOnlyWhatItSigned) {
  const SigningKey key = SigningKey::generate();
  const std::string signature = key.sign("text");
  EXPECT_EQ(signature.size(), 64U);
  EXPECT_TRUE(key.verify("text", signature));
  EXPECT_FALSE(key.verify("texT", signature));
  EXPECT_FALSE(key.verify("text", signature.substr(1)));
  EXPECT_FALSE(key.verify("text", std::string(64, '\0')));
  EXPECT_FALSE(key.verify("text", std::string(64, '\xff')));
  EXPECT_FALSE(SigningKey::generate().verify("text", signature));
}

TEST(SigningKey, SurvivesBeingWritten) {
  const SigningKey key = SigningKey::generate();
  const SigningKey copy(key.pem());
  EXPECT_TRUE(copy.verify("text", key.sign("text")));
  EXPECT_EQ(copy.id(), key.id());
  EXPECT_EQ(copy.x(), key.x());
  EXPECT_EQ(copy.x().size() + copy.y().size(), 64U);
  EXPECT_NE(key.id(), SigningKey::generate().id());
}

TEST(SigningKey, RefusesWhatIsNoKey) {
  EXPECT_THROW(SigningKey("nothing"), Error);
  EXPECT_THROW(SigningKey(make_ca("ca").cert_pem), Error);
}

}  // namespace
}  // namespace kopper::rt
