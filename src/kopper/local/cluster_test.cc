#include "kopper/local/cluster.h"

#include <filesystem>
#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/gen/core_v1.h"
#include "kopper/api/pods.h"
#include "kopper/base/log.h"
#include "kopper/client/api.h"
#include "kopper/client/manifests.h"
#include "kopper/rt/file.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/pids.h"
#include "kopper/rt/process.h"
#include "kopper/rt/scope.h"
#include "kopper/runtime/context.h"

// Pods as processes, on a whole cluster in this process. The clock is real, for the programs are; every wait ends with
// what it waits for.
namespace kopper::local {
namespace {

using namespace std::chrono_literals;
using api::corev1::Pod;
using ::testing::HasSubstr;

class LocalCluster : public ::testing::Test {
 protected:
  LocalCluster() {
    log::configure({.level = log::Level::Error});
    start();
  }
  ~LocalCluster() override { loop_.run(cluster_->stop(2s)); }

  void start() {
    ClusterOptions options;
    options.server.data_dir = data_dir_;
    cluster_ = std::make_unique<Cluster>(options);
    loop_.run(cluster_->start());
  }
  void stop() {
    loop_.run(cluster_->stop(2s));
    cluster_.reset();
  }
  void apply(const std::string& yaml) { loop_.run(client::apply_manifests(cluster_->client(), yaml, "default")); }

  static Task<Pod> seen(client::Client client, std::string name, const std::function<bool(const Pod&)>* holds) {
    for (;;) {
      const auto pod = co_await client.of<Pod>().find(Key("default", name));
      if (pod && (*holds)(*pod)) co_return *pod;
      co_await rt::sleep(20ms);
    }
  }
  Pod until(const std::string& name, const std::function<bool(const Pod&)>& holds) {
    try {
      return loop_.run(rt::timeout(60s, seen(cluster_->client(), name, &holds)));
    } catch (const Error&) {
      const auto pod = loop_.run(cluster_->client().of<Pod>().find(Key("default", name)));
      ADD_FAILURE() << name << " is " << (pod ? client::to_json(*pod) : "not there");
      throw;
    }
  }
  static Task<> absent(client::Client client, std::string name) {
    for (;;) {
      const auto pod = co_await client.of<Pod>().find(Key("default", name));
      if (!pod) co_return;
      co_await rt::sleep(20ms);
    }
  }
  void until_gone(const std::string& name) { loop_.run(rt::timeout(60s, absent(cluster_->client(), name))); }
  bool remove(const std::string& name, client::DeleteOptions options = client::DeleteOptions()) {
    return loop_.run(cluster_->client().of<Pod>().remove(Key("default", name), options));
  }
  // A command in a container.
  rt::ProcessResult in(const std::string& pod, const std::string& container, std::vector<std::string> argv) {
    auto* run = cluster_->node().find(Key("default", pod));
    return loop_.run(rt::run_process(run->container(container)->enter(argv)));
  }

  rt::Loop loop_;
  std::filesystem::path data_dir_;
  std::unique_ptr<Cluster> cluster_;
};

std::string sh(const std::string& name, const std::string& script, const std::string& more = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
         "}\nspec:\n  terminationGracePeriodSeconds: 5\n  containers:\n  - name: main\n    image: busybox\n    "
         "command: "
         "[sh, -c, '" +
         script + "']\n" + more;
}

bool is_running(const Pod& pod) { return api::is_ready(pod); }

TEST_F(LocalCluster, APodIsAProcessWithAnAddressAndFilesOfItsOwn) {
  apply(
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: copper, file.txt: from a "
      "map}\n---\n" +
      sh("one", "echo $COLOUR; trap exit TERM; while :; do sleep 0.1; done", R"(    env:
    - {name: COLOUR, valueFrom: {configMapKeyRef: {name: settings, key: colour}}}
    - {name: ADDRESS, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    volumeMounts:
    - {name: settings, mountPath: /etc/settings}
    - {name: scratch, mountPath: /scratch}
  volumes:
  - {name: settings, configMap: {name: settings}}
  - {name: scratch, emptyDir: {}}
)"));
  const auto pod = until("one", is_running);
  EXPECT_EQ(pod.status.phase, "Running");
  EXPECT_THAT(pod.status.podIP, ::testing::MatchesRegex("127.1[2-5][0-9].0.[0-9]+"));
  const auto seen =
      in("one", "main",
         {"sh", "-c", "hostname; cat /etc/settings/file.txt; echo; echo $ADDRESS; touch /scratch/a && ls /scratch"});
  EXPECT_EQ(seen.out, "one\nfrom a map\n" + pod.status.podIP + "\na\n") << seen.err;
  remove("one");
  until_gone("one");
  EXPECT_EQ(cluster_->node().running(), 0U);
}

TEST_F(LocalCluster, PodsListenOnTheSamePort) {
  for (const std::string name : {"a", "b"})
    apply(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
        "}\nspec:\n  containers:\n  - name: main\n    image: memcached\n    readinessProbe: {tcpSocket: {port: 11211}, "
        "periodSeconds: 1}\n");
  const auto a = until("a", is_running);
  const auto b = until("b", is_running);
  EXPECT_NE(a.status.podIP, b.status.podIP);
}

TEST_F(LocalCluster, WhatEndsIsStartedAgainLaterAndLater) {
  apply(sh("crash", "echo no > /dev/termination-log; exit 3"));
  const auto pod = until("crash", [](const Pod& it) {
    return it.status.containerStatuses.size() == 1 && it.status.containerStatuses[0].restartCount == 1 &&
           it.status.containerStatuses[0].state.waiting &&
           it.status.containerStatuses[0].state.waiting->reason == "CrashLoopBackOff";
  });
  const auto& last = *pod.status.containerStatuses[0].lastState.terminated;
  EXPECT_EQ(last.exitCode, 3);
  EXPECT_EQ(last.reason, "Error");
  EXPECT_EQ(last.message, "no\n");
  EXPECT_THAT(pod.status.containerStatuses[0].state.waiting->message, HasSubstr("back-off 10s"));
}

TEST_F(LocalCluster, APodThatIsDoneStaysDone) {
  apply(sh("good", "exit 0", "  restartPolicy: Never\n") + "---\n" + sh("bad", "exit 4", "  restartPolicy: Never\n"));
  EXPECT_EQ(until("good", [](const Pod& it) { return it.status.phase == "Succeeded"; })
                .status.containerStatuses[0]
                .state.terminated->reason,
            "Completed");
  until("bad", [](const Pod& it) { return it.status.phase == "Failed"; });
}

TEST_F(LocalCluster, InitContainersComeFirstAndSidecarsStay) {
  apply(sh("staged", "cat /stage/first; trap exit TERM; while :; do sleep 0.1; done",
           R"(    volumeMounts: [{name: work, mountPath: /stage}]
  initContainers:
  - {name: first, image: busybox, command: [sh, -c, "echo first > /stage/first"], volumeMounts: [{name: work, mountPath: /stage}]}
  - {name: side, image: busybox, restartPolicy: Always, command: [sh, -c, "trap exit TERM; while :; do sleep 0.1; done"]}
  volumes: [{name: work, emptyDir: {}}]
)"));
  const auto pod = until("staged", is_running);
  EXPECT_TRUE(pod.status.initContainerStatuses[0].state.terminated);
  EXPECT_TRUE(pod.status.initContainerStatuses[1].state.running);
}

TEST_F(LocalCluster, ProbesDecide) {
  apply(sh("probed", "touch /tmp/alive; trap exit TERM; while :; do sleep 0.1; done",
           R"(    startupProbe: {exec: {command: [test, -e, /tmp/alive]}, periodSeconds: 1, failureThreshold: 60}
    readinessProbe: {exec: {command: [test, -e, /tmp/ready]}, periodSeconds: 1}
    livenessProbe: {exec: {command: [test, -e, /tmp/alive]}, periodSeconds: 1, failureThreshold: 1}
)"));
  until("probed", [](const Pod& it) {
    return it.status.phase == "Running" && it.status.containerStatuses[0].started.value_or(false) && !api::is_ready(it);
  });
  in("probed", "main", {"touch", "/tmp/ready"});
  until("probed", is_running);
  in("probed", "main", {"rm", "/tmp/alive"});
  until("probed", [](const Pod& it) { return it.status.containerStatuses[0].restartCount == 1; });
}

TEST_F(LocalCluster, HooksRunAtTheStartAndBeforeTheEnd) {
  apply(R"(apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
)" + sh("hooked", "trap \"echo ended >> /data/lines; exit\" TERM; while :; do sleep 0.1; done",
        R"(    volumeMounts: [{name: data, mountPath: /data}]
    lifecycle:
      postStart: {exec: {command: [sh, -c, "echo started >> /data/lines"]}}
      preStop: {exec: {command: [sh, -c, "echo stops >> /data/lines"]}}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
)"));
  until("hooked", is_running);
  EXPECT_EQ(in("hooked", "main", {"cat", "/data/lines"}).out, "started\n");
  remove("hooked");
  until_gone("hooked");
  apply(sh("reader", "exec sleep 60", R"(    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
)"));
  until("reader", is_running);
  EXPECT_EQ(in("reader", "main", {"cat", "/data/lines"}).out, "started\nstops\nended\n");
}

TEST_F(LocalCluster, WhatIsMissingIsNamed) {
  const auto waits_with = [](std::string reason, std::string text) {
    return [reason, text](const Pod& it) {
      if (it.status.containerStatuses.empty()) return false;
      const auto& state = it.status.containerStatuses[0].state;
      const auto& last = it.status.containerStatuses[0].lastState;
      if (last.terminated && last.terminated->reason == reason) return last.terminated->message.contains(text);
      return state.waiting && state.waiting->reason == reason && state.waiting->message.contains(text);
    };
  };
  apply(
      sh("no-map", "true", "    envFrom: [{configMapRef: {name: absent}}]\n") +
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: no-command}\nspec: {containers: [{name: main, image: busybox, "
      "command: [no-such-program]}]}\n" +
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: simulated}\nspec: {containers: [{name: main, image: "
      "example.com/unknown:1}]}\n");
  until("no-map", waits_with("CreateContainerConfigError", "configmap \"absent\" not found"));
  until("no-command", waits_with("StartError", "no-such-program"));
  const auto pod = until("simulated", is_running);
  EXPECT_EQ(pod.metadata.annotations.at("kopper.dev/simulated"), "main");
  apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: absent}\n");
  until("no-map", [](const Pod& it) { return it.status.containerStatuses[0].lastState.terminated.operator bool(); });
}

TEST_F(LocalCluster, AForcedDeletionKills) {
  apply(sh("stubborn", "trap : TERM; while :; do sleep 0.1; done"));
  until("stubborn", is_running);
  const int first = cluster_->node().find(Key("default", "stubborn"))->container("main")->init();
  ASSERT_TRUE(rt::is_running(first));
  client::DeleteOptions now;
  now.grace_period_seconds = 0;
  remove("stubborn", now);
  until_gone("stubborn");
  loop_.run(rt::timeout(20s, [](workloads::Node* node, int pid) -> Task<> {
    while (node->running() > 0 || rt::is_running(pid)) co_await rt::sleep(10ms);
  }(&cluster_->node(), first)));
}

TEST_F(LocalCluster, TwoOfThemDoNotMeet) {
  Cluster other{ClusterOptions()};
  loop_.run(other.start());
  apply(sh("here", "exec sleep 60"));
  loop_.run(client::apply_manifests(other.client(), sh("there", "exec sleep 60"), "default"));
  const auto here = until("here", is_running);
  const std::function<bool(const Pod&)> runs = is_running;
  const auto there = loop_.run(rt::timeout(60s, seen(other.client(), "there", &runs)));
  EXPECT_NE(here.status.podIP, there.status.podIP);
  loop_.run(other.stop(1s));
}

struct ThingSpec {
  std::int32_t size = 1;
};
struct Thing {
  static constexpr Kind kind{"example.com", "v1", "Thing"};
  api::metav1::ObjectMeta metadata;
  ThingSpec spec;
};

Task<runtime::Next> nothing_to_do(runtime::Context<Thing>) { co_return runtime::Next::wait(); }

TEST_F(LocalCluster, OperatorsAreAskedAboutTheirKinds) {
  ClusterOptions options;
  options.operators.name = "things";
  options.operators.controllers = {runtime::controller<Thing>().reconcile(nothing_to_do)};
  options.operators.webhooks.validating<Thing>([](const runtime::Admission<Thing>& request) {
    runtime::Verdict verdict;
    if (request.object.spec.size % 2 == 0) verdict.refuse("spec.size", "must be odd");
    return verdict;
  });
  Cluster other(options);
  loop_.run(other.start());
  const auto thing = [](std::string name, int size) {
    return fmt::format("apiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: {}}}\nspec: {{size: {}}}\n", name,
                       size);
  };
  loop_.run(client::apply_manifests(other.client(), thing("odd", 3), "default"));
  try {
    loop_.run(client::apply_manifests(other.client(), thing("even", 2), "default"));
    ADD_FAILURE() << "an even thing was stored";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::Invalid);
    EXPECT_THAT(error.what(), HasSubstr("spec.size: must be odd"));
  }
  loop_.run(other.stop(1s));
}

class KeptCluster : public LocalCluster {
 protected:
  KeptCluster() {
    stop();
    data_dir_ = std::filesystem::temp_directory_path() / ("kopper-kept-" + std::to_string(rt::own_pid()));
    std::filesystem::remove_all(data_dir_);
    start();
  }
  ~KeptCluster() override { std::filesystem::remove_all(data_dir_); }
};

TEST_F(KeptCluster, GoesOnWhereItStopped) {
  apply(R"(apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
)" + sh("kept", "echo line >> /data/lines; trap exit TERM; while :; do sleep 0.1; done",
        R"(    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
)"));
  const auto before = until("kept", is_running);
  stop();
  start();
  const auto after = until(
      "kept", [](const Pod& it) { return api::is_ready(it) && it.status.containerStatuses[0].restartCount == 1; });
  EXPECT_EQ(before.metadata.uid, after.metadata.uid);
  EXPECT_EQ(before.status.podIP, after.status.podIP);
  EXPECT_EQ(in("kept", "main", {"cat", "/data/lines"}).out, "line\nline\n");
}

}  // namespace
}  // namespace kopper::local
