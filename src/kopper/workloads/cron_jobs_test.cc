#include "kopper/workloads/cron_jobs.h"

#include <gtest/gtest.h>

#include "kopper/workloads/jobs.h"

namespace kopper::workloads {
namespace {

using namespace std::chrono_literals;
using api::batchv1::CronJob;
using api::batchv1::Job;

api::Time at(std::string_view text) { return api::Time::parse("2026-03-10T" + std::string(text) + "Z").value(); }

CronJob nightly(std::string schedule = "0 * * * *") {
  CronJob it;
  it.metadata.name = "tidy";
  it.metadata.creationTimestamp = at("09:30:00");
  it.spec.schedule = std::move(schedule);
  it.spec.concurrencyPolicy = "Allow";
  return it;
}

// Of the given hour; `end`: the condition it ended with, or "".
JobRef job(const CronJob& cron, std::string_view hour, std::string end = "") {
  auto it = std::make_shared<Job>(new_job(cron, at(std::string(hour) + ":00:00")));
  it->metadata.uid = it->metadata.name;
  it->status.startTime = it->status.completionTime = at(std::string(hour) + ":00:01");
  if (!end.empty()) it->status.conditions.push_back({.type = std::move(end), .status = "True"});
  return it;
}

CronPlan plan(const CronJob& cron, std::string_view now, std::vector<JobRef> jobs = {}) {
  return plan_cron(cron, jobs, CronSchedule::parse(cron.spec.schedule).value(), TimeZone(), at(now));
}

TEST(CronJobs, StartOnTime) {
  auto cron = nightly();
  EXPECT_EQ(plan(cron, "09:59:00").start, std::nullopt);
  EXPECT_EQ(plan(cron, "09:59:00").again, 60s);
  const auto due = plan(cron, "10:00:00");
  EXPECT_EQ(due.start, at("10:00:00"));
  EXPECT_EQ(due.status.lastScheduleTime, at("10:00:00"));
  EXPECT_EQ(due.again, 1h);
  cron.status = due.status;
  EXPECT_EQ(plan(cron, "10:00:01").start, std::nullopt);
  EXPECT_EQ(plan(cron, "13:20:00").start, at("13:00:00")) << "of those that were missed only the last";
}

TEST(CronJobs, NamesFollowFromTheTime) {
  const auto first = new_job(nightly(), at("10:00:00"));
  EXPECT_EQ(first.metadata.name, new_job(nightly(), at("10:00:00")).metadata.name);
  EXPECT_NE(first.metadata.name, new_job(nightly(), at("11:00:00")).metadata.name);
  EXPECT_EQ(first.metadata.annotations.at("batch.kubernetes.io/cronjob-scheduled-timestamp"), "2026-03-10T10:00:00Z");
}

TEST(CronJobs, AJobTellsThatItWasStarted) {
  const auto cron = nightly();
  EXPECT_EQ(plan(cron, "10:00:05", {job(cron, "10")}).start, std::nullopt) << "though the status does not say so";
}

TEST(CronJobs, TooLateIsNever) {
  auto cron = nightly();
  cron.spec.startingDeadlineSeconds = 60;
  EXPECT_EQ(plan(cron, "10:00:59").start, at("10:00:00"));
  EXPECT_EQ(plan(cron, "10:01:01").start, std::nullopt);
}

TEST(CronJobs, ManyMissedTimesAreTold) {
  auto cron = nightly("* * * * *");
  const auto late = plan(cron, "12:00:00");
  EXPECT_EQ(late.start, at("12:00:00"));
  ASSERT_EQ(late.notes.size(), 1U);
  EXPECT_EQ(late.notes[0].reason, "TooManyMissedTimes");
}

TEST(CronJobs, WhatToDoWithOneThatStillRuns) {
  auto cron = nightly();
  cron.status.lastScheduleTime = at("10:00:00");
  const auto running = job(cron, "10");
  EXPECT_TRUE(plan(cron, "11:00:00", {running}).start);
  EXPECT_EQ(plan(cron, "11:00:00", {running}).status.active.size(), 1U);
  cron.spec.concurrencyPolicy = "Forbid";
  const auto waits = plan(cron, "11:00:00", {running});
  EXPECT_FALSE(waits.start);
  EXPECT_EQ(waits.status.lastScheduleTime, at("10:00:00"));
  EXPECT_EQ(plan(cron, "11:20:00", {job(cron, "10", "Complete")}).start, at("11:00:00")) << "then it goes on";
  cron.spec.concurrencyPolicy = "Replace";
  const auto replaced = plan(cron, "11:00:00", {running});
  EXPECT_EQ(replaced.replace, std::vector<JobRef>{running});
  EXPECT_TRUE(replaced.start);
  EXPECT_TRUE(replaced.status.active.empty());
}

TEST(CronJobs, SuspendedOnesStartNothing) {
  auto cron = nightly();
  cron.spec.suspend = true;
  EXPECT_FALSE(plan(cron, "11:00:00").start);
  EXPECT_FALSE(plan_cron(nightly(), {}, std::nullopt, TimeZone(), at("11:00:00")).start);
}

TEST(CronJobs, HistoryIsKeptUpToItsLimits) {
  auto cron = nightly();
  cron.spec.successfulJobsHistoryLimit = 1;
  cron.spec.failedJobsHistoryLimit = 0;
  cron.status.active.push_back({.name = "tidy-x", .uid = job(cron, "12")->metadata.uid});
  const auto it =
      plan(cron, "12:30:00",
           {job(cron, "12", "Complete"), job(cron, "10", "Complete"), job(cron, "11", "Failed"), job(cron, "09")});
  ASSERT_EQ(it.forget.size(), 2U);
  EXPECT_EQ(it.forget[0]->metadata.name, job(cron, "10")->metadata.name);
  EXPECT_EQ(it.forget[1]->metadata.name, job(cron, "11")->metadata.name);
  EXPECT_EQ(it.status.lastSuccessfulTime, at("12:00:01"));
  EXPECT_EQ(it.notes[0].message, "Saw completed job: tidy-x, condition: Complete");
}

}  // namespace
}  // namespace kopper::workloads
