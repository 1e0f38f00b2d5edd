#include "kopper/plane/sqlite_storage.h"

#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/rt/loop.h"

namespace kopper::plane {
namespace {

class SqliteStorageTest : public testing::Test {
 protected:
  SqliteStorageTest()
      : folder_(std::filesystem::path(testing::TempDir()) /
                ("kopper-sqlite-" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
                 testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
  }
  ~SqliteStorageTest() override { std::filesystem::remove_all(folder_); }

  static Write change(std::uint64_t revision, const char* name, std::optional<std::string> json) {
    return {.revision = revision, .table = "pods", .namespace_ = "default", .name = name, .json = std::move(json)};
  }

  rt::Loop loop_;
  const std::filesystem::path folder_;
};

TEST_F(SqliteStorageTest, HasWhatWasDurable) {
  {
    SqliteStorage storage(folder_);
    EXPECT_EQ(loop_.run(storage.load()).revision, 0U);
    storage.write(change(1, "a", "{\"n\":1}"));
    storage.write(change(2, "b", "{\"n\":2}"));
    storage.write(change(3, "a", "{\"n\":3}"));
    storage.write(change(4, "b", std::nullopt));
    loop_.run(storage.durable(4));
  }
  SqliteStorage again(folder_);
  const Storage::Loaded loaded = loop_.run(again.load());
  EXPECT_EQ(loaded.revision, 4U);
  ASSERT_EQ(loaded.objects.size(), 1U);
  EXPECT_EQ(loaded.objects[0].name, "a");
  EXPECT_EQ(loaded.objects[0].revision, 3U);
  EXPECT_EQ(*loaded.objects[0].json, "{\"n\":3}");
}

TEST_F(SqliteStorageTest, OneProcessAtATime) {
  const SqliteStorage first(folder_);
  try {
    const SqliteStorage second(folder_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message.find("another process has it open"), std::string::npos) << error.what();
  }
}

TEST_F(SqliteStorageTest, OnlyItsOwnerMayReadIt) {
  const SqliteStorage storage(folder_);
  EXPECT_EQ(std::filesystem::status(folder_).permissions(), std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace kopper::plane
