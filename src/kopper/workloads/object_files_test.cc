#include "kopper/workloads/object_files.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/rt/file.h"
#include "kopper/workloads/test_folder.h"

namespace kopper::workloads {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names(const fs::path& directory) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(directory)) out.push_back(entry.path().filename());
  std::ranges::sort(out);
  return out;
}

TEST(ObjectFiles, AreReplacedAllAtOnce) {
  const TestFolder folder;
  const auto volume = folder.path() / "v";
  EXPECT_TRUE(write_object_files(volume, {{"a", {"1"}}, {"tls/key", {"k", 0400}}}));
  EXPECT_EQ(rt::read_file(volume / "a"), "1");
  EXPECT_EQ(rt::read_file(volume / "tls/key"), "k");
  EXPECT_EQ(fs::status(volume / "tls/key").permissions(), fs::perms::owner_read);
  EXPECT_EQ(fs::read_symlink(volume / "a"), "..data/a");
  const auto before = fs::read_symlink(volume / "..data");

  EXPECT_TRUE(write_object_files(volume, {{"a", {"2"}}, {"b", {"3"}}}));
  EXPECT_NE(fs::read_symlink(volume / "..data"), before);
  EXPECT_EQ(rt::read_file(volume / "a"), "2");
  EXPECT_EQ(rt::read_file(volume / "b"), "3");
  EXPECT_EQ(names(volume), (std::vector<std::string>{"..2", "..data", "a", "b"}));
}

TEST(ObjectFiles, StayWhenNothingChanged) {
  const TestFolder folder;
  const auto volume = folder.path() / "v";
  EXPECT_TRUE(write_object_files(volume, {{"a", {"1"}}}));
  EXPECT_FALSE(write_object_files(volume, {{"a", {"1"}}}));
  EXPECT_EQ(fs::read_symlink(volume / "..data"), "..1");
  EXPECT_TRUE(write_object_files(volume, {{"a", {"1", 0600}}}));
  EXPECT_TRUE(write_object_files(volume, {}));
  EXPECT_EQ(names(volume), (std::vector<std::string>{"..3", "..data"}));
}

TEST(ObjectFiles, GoOnAfterACrash) {
  const TestFolder folder;
  const auto volume = folder.path() / "v";
  write_object_files(volume, {{"a", {"1"}}});
  fs::create_directory(volume / "..2");
  rt::write_file_in_place(volume / "..2" / "half", "x");
  fs::create_directory_symlink("..2", volume / "..data_tmp");
  EXPECT_TRUE(write_object_files(volume, {{"a", {"2"}}}));
  EXPECT_EQ(rt::read_file(volume / "a"), "2");
  EXPECT_EQ(names(volume), (std::vector<std::string>{"..2", "..data", "a"}));
  EXPECT_EQ(names(volume / "..2"), (std::vector<std::string>{"a"}));
}

TEST(ObjectFiles, DoNotLeaveTheirVolume) {
  const TestFolder folder;
  const auto volume = folder.path() / "v";
  for (const auto* path : {"../x", "/x", "a/../../x", "..data", ""}) {
    EXPECT_THROW(write_object_files(volume, {{path, {"1"}}}), Error) << path;
  }
  EXPECT_FALSE(fs::exists(volume));
}

}  // namespace
}  // namespace kopper::workloads
