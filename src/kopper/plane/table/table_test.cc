#include "kopper/plane/table/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/time.h"

namespace kopper::plane::table {
namespace {

using json::Value;
using std::chrono::seconds;

Value parse(std::string_view text) { return json::parse(text).value(); }

TEST(HumanDuration, HasTwoUnitsAtMost) {
  const std::pair<std::int64_t, const char*> cases[] = {{-5, "<invalid>"},
                                                        {-1, "0s"},
                                                        {0, "0s"},
                                                        {119, "119s"},
                                                        {120, "2m"},
                                                        {185, "3m5s"},
                                                        {600, "10m"},
                                                        {10799, "179m"},
                                                        {10800, "3h"},
                                                        {12000, "3h20m"},
                                                        {8 * 3600, "8h"},
                                                        {47 * 3600, "47h"},
                                                        {48 * 3600, "2d"},
                                                        {76 * 3600, "3d4h"},
                                                        {8 * 86400, "8d"},
                                                        {400 * 86400LL, "400d"},
                                                        {731 * 86400LL, "2y1d"},
                                                        {3650 * 86400LL, "10y"}};
  for (const auto& [given, said] : cases) EXPECT_EQ(human_duration(seconds(given)), said) << given;
}

TEST(Table, ColumnsAreWhatTheServerDeclares) {
  const auto& pods = columns("", "pods");
  ASSERT_EQ(pods.size(), 9U);
  EXPECT_EQ(pods[0].name, "Name");
  EXPECT_EQ(pods[0].format, "name");
  EXPECT_EQ(pods[7].name, "Nominated Node");
  EXPECT_EQ(pods[7].priority, 1);
  EXPECT_EQ(columns("apps", "replicasets")[1].type, "integer");
  EXPECT_EQ(columns("example.com", "foos")[1].type, "date");
  EXPECT_EQ(columns("", "limitranges")[1].name, "Created At");
}

struct PodCase {
  const char* pod;
  const char* ready;
  const char* status;
  const char* restarts;
};

TEST(Table, APodIsWhatItsContainersAre) {
  const PodCase cases[] = {
      {R"({"spec":{"containers":[{},{}]},"status":{"phase":"Pending"}})", "0/2", "Pending", "0"},
      {R"({"spec":{"containers":[{}]},"status":{"phase":"Running","containerStatuses":[
            {"ready":true,"restartCount":3,"state":{"running":{}},
             "lastState":{"terminated":{"finishedAt":"2026-01-01T00:00:00Z"}}}]}})",
       "1/1", "Running", "3 (5m ago)"},
      {R"({"spec":{"containers":[{}]},"status":{"phase":"Running","containerStatuses":[
            {"restartCount":1,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}})",
       "0/1", "CrashLoopBackOff", "1"},
      {R"({"spec":{"containers":[{}]},"status":{"phase":"Failed","containerStatuses":[
            {"state":{"terminated":{"exitCode":3}}}]}})",
       "0/1", "ExitCode:3", "0"},
      {R"({"spec":{"containers":[{},{}]},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],
            "containerStatuses":[{"state":{"terminated":{"exitCode":0,"reason":"Completed"}}},
                                 {"ready":true,"state":{"running":{}}}]}})",
       "1/2", "Running", "0"},
      {R"({"spec":{"initContainers":[{"name":"a"},{"name":"b"}],"containers":[{}]},"status":{"phase":"Pending",
            "initContainerStatuses":[{"name":"a","state":{"terminated":{"exitCode":0}}},
                                     {"name":"b","state":{"running":{}}}]}})",
       "0/1", "Init:1/2", "0"},
      {R"({"spec":{"initContainers":[{"name":"a"}],"containers":[{}]},"status":{"phase":"Pending",
            "initContainerStatuses":[{"name":"a","restartCount":2,"state":{"terminated":{"exitCode":1,"reason":"Error"}}}]}})",
       "0/1", "Init:Error", "2"},
      {R"({"spec":{"initContainers":[{"name":"a","restartPolicy":"Always"}],"containers":[{}]},"status":{
            "phase":"Running","initContainerStatuses":[{"name":"a","started":true,"ready":true,"state":{"running":{}}}],
            "containerStatuses":[{"ready":true,"state":{"running":{}}}]}})",
       "2/2", "Running", "0"},
      {R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"containers":[{}]},
           "status":{"phase":"Running"}})",
       "0/1", "Terminating", "0"},
      {R"({"spec":{"containers":[{}]},"status":{"phase":"Failed","reason":"Evicted"}})", "0/1", "Evicted", "0"},
  };
  const Time now = api::Time::parse("2026-01-01T00:05:00Z")->point();
  for (const PodCase& one : cases) {
    const json::Array row = cells("", "pods", parse(one.pod), now);
    EXPECT_THAT(row, testing::SizeIs(columns("", "pods").size()));
    EXPECT_EQ(row[1], Value(one.ready)) << one.pod;
    EXPECT_EQ(row[2], Value(one.status)) << one.pod;
    EXPECT_EQ(row[3], Value(one.restarts)) << one.pod;
  }
}

}  // namespace
}  // namespace kopper::plane::table
