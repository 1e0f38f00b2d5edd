#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/gen/core_v1.h"
#include "kopper/api/pods.h"
#include "kopper/client/api.h"
#include "kopper/client/manifests.h"
#include "kopper/rt/file.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/pids.h"

#include "program.h"

// `kopper up` as a newcomer meets it, and what is left of it when it is killed.
namespace kopper::local {
namespace {

using namespace std::chrono_literals;
using api::corev1::Pod;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class UpProgram : public ::testing::Test {
 protected:
  UpProgram() { program_.verb = "up"; }

  rt::ExitStatus run(std::vector<std::string> flags) {
    program_.launch(std::move(flags));
    return loop_.run(rt::timeout(120s, program_.ended()));
  }
  client::Client client() const { return client::Client(program_.connect()); }

  static Task<std::vector<Pod>> ready_pods(client::Client client, std::size_t wanted, int restarts) {
    const auto is_there = [restarts](const Pod& pod) {
      return api::is_ready(pod) && pod.status.containerStatuses[0].restartCount == restarts;
    };
    for (;;) {
      const auto pods = co_await client.of<Pod>().list();
      if (pods.items.size() == wanted && std::ranges::all_of(pods.items, is_there)) co_return pods.items;
      co_await rt::sleep(20ms);
    }
  }
  std::vector<Pod> until_ready(std::size_t wanted, int restarts = 0) {
    return loop_.run(rt::timeout(90s, ready_pods(client(), wanted, restarts)));
  }

  // All that the program started, directly or not.
  static void collect(int pid, std::set<int>& into) {  // NOLINT(misc-no-recursion)
    for (const int child : rt::children_of(pid)) {
      if (into.insert(child).second) collect(child, into);
    }
  }
  std::set<int> descendants() const {
    std::set<int> out;
    collect(program_.pid(), out);
    return out;
  }
  // What has ended but was not waited for by its new parent is over all the same.
  static bool runs(int pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(stat, text);
    const auto state = text.rfind(") ");
    return state != text.npos && text[state + 2] != 'Z';
  }
  static Task<> all_ended(std::set<int> pids) {
    while (std::ranges::any_of(pids, runs)) co_await rt::sleep(10ms);
  }

  rt::Loop loop_;
  Program program_;
};

TEST_F(UpProgram, TheDemoBecomesReady) {
  const auto status = run({"--demo", "--until-ready"});
  EXPECT_EQ(status.code, 0) << program_.log();
  EXPECT_THAT(program_.log(),
              AllOf(ContainsRegex("Memcached +demo +[A-Za-z]+ +True"), ContainsRegex("PodSet +demo +[A-Za-z]+ +True"),
                    ContainsRegex("Podbuggertool +demo +[A-Za-z]+ +True"), HasSubstr("all are ready")));
}

TEST_F(UpProgram, WhatIsNotReadyIsNamed) {
  rt::write_file_atomic(program_.folder() / "images.yaml",
                        "images: [{name: memcached, program: no-such-memcached, package: some-package}]\n");
  const auto status = run({"--demo", "--until-ready", "--operators", "memcached,podset", "--timeout", "3s",
                           "--image-map", (program_.folder() / "images.yaml").string()});
  EXPECT_EQ(status.code, 3) << program_.log();
  EXPECT_THAT(program_.log(), HasSubstr("not ready after 3 s: Memcached demo"));
  EXPECT_THAT(program_.log(), ::testing::Not(HasSubstr("not ready after 3 s: PodSet demo")));
}

TEST_F(UpProgram, WrongFlagsAreRefused) {
  EXPECT_EQ(run({"--operators", "memcached,wrong"}).code, 5);
  EXPECT_THAT(program_.log(), AllOf(HasSubstr("wrong"), HasSubstr("podset")));
  EXPECT_EQ(run({"--nodes", "0"}).code, 2);
  EXPECT_EQ(run({"--image-map", "/no/such/file"}).code, 2);
  rt::write_file_atomic(program_.folder() / "images.yaml", "images: [{}]\n");
  EXPECT_EQ(run({"--image-map", (program_.folder() / "images.yaml").string()}).code, 5);
  EXPECT_THAT(program_.log(), AllOf(HasSubstr("images.yaml"), HasSubstr("images[0].name")));
  const auto taken = rt::Listener::tcp();
  EXPECT_EQ(run({"--port", std::to_string(taken.port())}).code, 6);
  EXPECT_THAT(program_.log(), HasSubstr(std::to_string(taken.port())));
}

TEST_F(UpProgram, NothingIsLeftWhenItIsKilled) {
  loop_.run(program_.start({"--demo"}));
  until_ready(6);
  const auto before = descendants();
  EXPECT_GE(before.size(), 18U) << "six pods of at least three processes";
  loop_.run(program_.kill());
  loop_.run(rt::timeout(30s, all_ended(before)));
}

TEST_F(UpProgram, ItStopsInGoodOrder) {
  loop_.run(program_.start({"--demo"}));
  until_ready(6);
  const auto before = descendants();
  const auto status = loop_.run(rt::timeout(60s, program_.stop()));
  EXPECT_EQ(status.code, 0) << program_.log();
  loop_.run(rt::timeout(30s, all_ended(before)));
}

TEST_F(UpProgram, ASecondOneGoesOnWhereTheFirstWasKilled) {
  const std::vector<std::string> flags{"--data-dir", program_.data().string()};
  loop_.run(program_.start(flags));
  loop_.run(client::apply_manifests(client(), R"(apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: writer}
spec:
  containers:
  - name: main
    image: busybox
    command: [sh, -c, "echo line >> /data/lines; exec sleep 600"]
    readinessProbe: {exec: {command: [test, -e, /data/lines]}, periodSeconds: 1}
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: apps.jicki.cn/v1alpha1
kind: PodSet
metadata: {name: kept}
spec: {size: 2}
)",
                                    "default"));
  std::set<std::string> before;
  for (const auto& pod : until_ready(3)) before.insert(pod.metadata.uid);
  loop_.run(program_.kill());
  loop_.run(program_.start(flags));
  std::set<std::string> after;
  for (const auto& pod : until_ready(3, 1)) after.insert(pod.metadata.uid);
  EXPECT_EQ(before, after) << "the same pods, started again";
  std::string lines;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(program_.data() / "volumes"))
    if (entry.path().filename() == "lines") lines = rt::read_file(entry.path());
  EXPECT_EQ(lines, "line\nline\n");
}

}  // namespace
}  // namespace kopper::local
