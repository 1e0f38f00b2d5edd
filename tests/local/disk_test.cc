// What `kopper cluster --data-dir` does when the disk does not do its part: it says which file and why, it answers no
// write that would be lost, and what was answered before is there when the disk is well again.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "kopper/base/error.h"
#include "kopper/rt/file.h"
#include "kopper/rt/loop.h"

#include "program.h"

namespace kopper::local {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

class DiskTest : public testing::Test {
 protected:
  void start() {
    loop_.run(program_.start(flags()));
    transport_ = program_.connect();
  }
  void stop() {
    transport_.reset();
    EXPECT_TRUE(loop_.run(program_.stop()).ok()) << program_.log();
  }
  // It does not come up: what it says of it.
  std::string refusal() {
    program_.launch(flags());
    const rt::ExitStatus ended = loop_.run(rt::timeout(60s, program_.ended()));
    EXPECT_NE(ended.code, 0);
    EXPECT_EQ(ended.signal, 0) << ended.str();
    EXPECT_FALSE(program_.ready());
    return program_.log();
  }
  std::vector<std::string> flags() const { return {"--data-dir", program_.data().string()}; }
  std::filesystem::path database() const { return program_.data() / "objects.db"; }

  Answer run(http::Request what) { return loop_.run(rt::timeout(60s, ask(*transport_, std::move(what)))); }
  Answer create(const std::string& name, std::size_t size = 0) {
    return run(
        request("POST", kMaps,
                fmt::format(R"({{"metadata":{{"name":"{}"}},"data":{{"a":"{}"}}}})", name, std::string(size, 'x'))));
  }
  int get(const std::string& name) { return run(request("GET", fmt::format("{}/{}", kMaps, name))).status; }

  // Writes until the disk is full; the names of what was answered.
  std::vector<std::string> fill() {
    program_.wrapper = {"env", "--ignore-signal=XFSZ", "prlimit", "--fsize=1500000:unlimited", "--"};
    start();
    std::vector<std::string> answered;
    Answer last;
    for (int i = 0; i < 200; ++i) {
      last = create(fmt::format("c{}", i), 50'000);
      if (last.status != 201) break;
      answered.push_back(fmt::format("c{}", i));
    }
    EXPECT_EQ(last.status, 500) << last.body;
    EXPECT_THAT(last.body, HasSubstr("objects.db"));
    EXPECT_GT(answered.size(), 5U);
    // What is on the disk may still be read; what is not may not be seen, not even when less room would do.
    EXPECT_EQ(create("small").status, 500);
    for (const std::string& name : answered) EXPECT_EQ(get(name), 200) << name;
    EXPECT_EQ(get(fmt::format("c{}", answered.size())), 500);
    return answered;
  }

  rt::Loop loop_;
  Program program_;
  std::shared_ptr<http::Handler> transport_;
};

TEST_F(DiskTest, AFullDiskLosesNothingThatWasAnswered) {
  const std::vector<std::string> answered = fill();
  stop();
  program_.wrapper.clear();
  start();
  for (const std::string& name : answered) EXPECT_EQ(get(name), 200) << name;
  EXPECT_EQ(get(fmt::format("c{}", answered.size())), 404);
  EXPECT_EQ(create("small").status, 201);
  stop();
}

TEST_F(DiskTest, ItGoesOnWhenThereIsRoomAgain) {
  const std::vector<std::string> answered = fill();
  rt::ProcessSpec more;
  more.argv = {"prlimit", "--fsize=unlimited", "--pid", std::to_string(program_.pid())};
  EXPECT_TRUE(loop_.run(rt::run_process(more)).status.ok());
  const std::string last = fmt::format("c{}", answered.size());  // it was not answered, and comes to be there
  for (int status = 500; status != 200; status = get(last)) loop_.run(rt::sleep(10ms));
  EXPECT_EQ(get("small"), 200);
  EXPECT_EQ(create("later").status, 201);
  EXPECT_EQ(run(request("GET", kMaps)).status, 200);
  stop();
  start();
  for (const std::string& name : answered) EXPECT_EQ(get(name), 200) << name;
  for (const std::string& name : {last, std::string("small"), std::string("later")}) EXPECT_EQ(get(name), 200) << name;
  stop();
}

TEST_F(DiskTest, AFolderThatMayNotBeWritten) {
  start();
  EXPECT_EQ(create("a").status, 201);
  stop();
  rt::write_file_atomic(program_.folder() / "file", "not a folder");
  program_.launch({"--data-dir", (program_.folder() / "file" / "data").string()});
  EXPECT_NE(loop_.run(program_.ended()).code, 0);
  EXPECT_THAT(program_.log(), HasSubstr((program_.folder() / "file").string()));
  // A folder in the place of the database is what even root cannot write to.
  const auto elsewhere = program_.folder() / "elsewhere";
  std::filesystem::create_directories(elsewhere / "objects.db");
  program_.launch({"--data-dir", elsewhere.string()});
  EXPECT_NE(loop_.run(program_.ended()).code, 0);
  EXPECT_THAT(program_.log(), HasSubstr((elsewhere / "objects.db").string()));
}

TEST_F(DiskTest, ADatabaseThatIsNone) {
  start();
  EXPECT_EQ(create("a").status, 201);
  stop();
  const std::string good = rt::read_file(database());
  rt::write_file_atomic(database(), "this is not a database, and never was one" + std::string(5000, '!'));
  EXPECT_THAT(refusal(), HasSubstr(database().string()));
  EXPECT_THAT(rt::read_file(database()), testing::StartsWith("this is not")) << "it must be left as it was";

  std::string half = good;  // pages in the middle are gone
  for (std::size_t i = 4096; i < half.size(); ++i) half[i] = static_cast<char>(i * 31);
  rt::write_file_atomic(database(), half);
  EXPECT_THAT(refusal(), HasSubstr(database().string()));

  rt::write_file_atomic(database(), good);
  start();
  EXPECT_EQ(get("a"), 200);
  stop();
}

void execute(const std::filesystem::path& file, const char* sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

TEST_F(DiskTest, ADatabaseOfAnotherVersion) {
  start();
  EXPECT_EQ(create("a").status, 201);
  stop();
  execute(database(), "PRAGMA user_version = 0");  // of before versions were written
  start();
  EXPECT_EQ(get("a"), 200);
  stop();
  execute(database(), "PRAGMA user_version = 99");
  const std::string said = refusal();
  EXPECT_THAT(said, HasSubstr(database().string()));
  EXPECT_THAT(said, HasSubstr("newer"));
}

TEST_F(DiskTest, AnObjectThatCannotBeRead) {
  start();
  EXPECT_EQ(create("broken").status, 201);
  stop();
  execute(database(), "UPDATE objects SET json = '{\"half' WHERE name = 'broken'");
  const std::string said = refusal();
  EXPECT_THAT(said, HasSubstr(database().string()));
  EXPECT_THAT(said, HasSubstr("default/broken"));
}

TEST_F(DiskTest, OneProgramAFolder) {
  start();
  EXPECT_EQ(create("a").status, 201);
  Program second;
  second.launch(flags());
  EXPECT_NE(loop_.run(second.ended()).code, 0);
  EXPECT_THAT(second.log(), HasSubstr(database().string()));
  EXPECT_THAT(second.log(), HasSubstr("another process has it open"));
  EXPECT_EQ(get("a"), 200);
  EXPECT_EQ(create("b").status, 201);
  stop();
}

}  // namespace
}  // namespace kopper::local
