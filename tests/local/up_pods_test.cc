
#include "local/up.h"

// What kubectl can do with pods that run: `kopper up --nodes 3`.
namespace kopper::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string pod(const std::string& name, const std::string& script, const std::string& more = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
         "}\nspec:\n  terminationGracePeriodSeconds: 5\n  containers:\n  - name: main\n    image: busybox\n    "
         "command: "
         "[sh, -c, '" +
         script + "']\n" + more;
}

TEST_F(Up, LogsAreFollowedAndThoseOfTheRunBeforeAreKept) {
  ok({"apply", "-f", "-"},
     pod("talker", "echo one; echo two >&2; while [ ! -e /tmp/go ]; do sleep 0.1; done; echo three; exit 3",
         "  restartPolicy: OnFailure\n"));
  wait("pod/talker", "condition=Ready");
  EXPECT_EQ(ok({"logs", "talker"}), "one\ntwo\n");
  EXPECT_EQ(ok({"logs", "talker", "--tail=1"}), "two\n");
  EXPECT_THAT(ok({"logs", "talker", "--timestamps", "--tail=1"}), ContainsRegex("^[0-9]{4}-.*Z two"));
  EXPECT_EQ(ok({"logs", "talker", "--since=1h"}), "one\ntwo\n");
  Running follow(command({"logs", "-f", "talker"}));
  EXPECT_EQ(follow.line(), "one");
  EXPECT_EQ(follow.line(), "two");
  ok({"exec", "talker", "--", "touch", "/tmp/go"});
  EXPECT_EQ(follow.line(), "three");
  EXPECT_EQ(follow.line(), std::nullopt) << "the container has ended";
  EXPECT_EQ(follow.wait(), 0);
  until("pod/talker", ".status.containerStatuses[0].restartCount", "1");
  EXPECT_EQ(ok({"logs", "talker", "--previous"}), "one\ntwo\nthree\n");
  EXPECT_EQ(field("pod/talker", ".status.containerStatuses[0].lastState.terminated.exitCode"), "3");
}

TEST_F(Up, CommandsRunInContainers) {
  ok({"apply", "-f", "-"}, pod("shell", "trap exit TERM; while :; do sleep 0.1; done"));
  wait("pod/shell", "condition=Ready");
  EXPECT_EQ(ok({"exec", "shell", "--", "hostname"}), "shell\n");
  EXPECT_EQ(ok({"exec", "-i", "shell", "--", "wc", "-c"}, "12345"), "5\n");
  const auto failed = kubectl({"exec", "shell", "--", "sh", "-c", "echo no >&2; exit 7"});
  EXPECT_EQ(failed.exit, 7) << failed.err;
  EXPECT_THAT(failed.err, HasSubstr("no"));
  EXPECT_THAT(refused({"exec", "shell", "--", "no-such-program"}), HasSubstr("no-such-program"));
  EXPECT_THAT(refused({"exec", "shell", "-c", "other", "--", "true"}), HasSubstr("container"));
  EXPECT_THAT(ok({"exec", "shell", "--", "cat", "/etc/hosts"}), HasSubstr("kubernetes.default.svc.cluster.local"));
}

// script(1) is the terminal that kubectl sits at. A shell that has job control ends with the code it is told.
TEST_F(Up, ShellsHaveATerminalOfTheirOwn) {
  ok({"apply", "-f", "-"}, pod("desk", "trap exit TERM; while :; do sleep 0.1; done"));
  wait("pod/desk", "condition=Ready");
  std::string line;
  for (const std::string& word : command({"exec", "-it", "desk", "--", "sh"})) line += "'" + word + "' ";
  const Output done = run({"script", "-qec", line, "/dev/null"}, "stty size >/dev/null && echo a-$((1 + 1))\nexit 5\n");
  EXPECT_THAT(done.out, HasSubstr("a-2\r\n"));
  EXPECT_EQ(done.exit, 5) << done.out;
}

TEST_F(Up, ADebugContainerSeesTheProcessesOfItsTarget) {
  if (client_minor() < 23) GTEST_SKIP() << "this kubectl has only alpha debug";
  ok({"apply", "-f", "-"}, pod("patient", "trap exit TERM; while :; do sleep 0.1; done"));
  wait("pod/patient", "condition=Ready");
  ok({"debug", "patient", "--image=busybox", "--target=main", "--container=doctor", "--", "sh", "-c",
      "ps ax; sleep 60"});
  until("pod/patient", ".status.ephemeralContainerStatuses[0].state.running", HasSubstr("startedAt"));
  std::string seen;
  for (int i = 0; i < 100 && seen.find("while") == seen.npos; ++i) seen = ok({"logs", "patient", "-c", "doctor"});
  EXPECT_THAT(seen, HasSubstr("while :"));
}

TEST_F(Up, CrashesBackOff) {
  ok({"apply", "-f", "-"}, pod("crash", "echo last words; exit 1"));
  until("pod/crash", ".status.containerStatuses[0].state.waiting.reason", "CrashLoopBackOff");
  EXPECT_THAT(ok({"get", "pods"}), ContainsRegex("crash +0/1 +(CrashLoopBackOff|Error)"));
  EXPECT_THAT(ok({"get", "events", "--field-selector", "involvedObject.name=crash"}), HasSubstr("BackOff"));
  EXPECT_EQ(ok({"logs", "crash"}), "last words\n");
  EXPECT_EQ(ok({"logs", "crash", "--previous"}), "last words\n");
}

TEST_F(Up, WhatIsWrongIsSaid) {
  ok({"apply", "-f", "-"},
     "apiVersion: v1\nkind: Pod\nmetadata: {name: no-program}\nspec: {containers: [{name: a, image: busybox, command: "
     "[no-such-program]}]}\n---\n"
     "apiVersion: v1\nkind: Pod\nmetadata: {name: unknown}\nspec: {containers: [{name: a, image: "
     "example.com/unknown}]}\n---\n" +
         pod("taken", "exit 0", "    ports: [{containerPort: 80}]\n  nodeSelector: {no: where}\n"));
  until("pod/no-program", ".status.containerStatuses[0].lastState.terminated.message", HasSubstr("no-such-program"));
  wait("pod/unknown", "condition=Ready");
  EXPECT_THAT(ok({"describe", "pod", "unknown"}), HasSubstr("kopper.dev/simulated"));
  until("pod/taken", ".status.conditions[?(@.type==\"PodScheduled\")].message", HasSubstr("0/3 nodes are available"));
}

TEST_F(Up, AntiAffinitySpreadsOverNodes) {
  ok({"apply", "-f", "-"}, R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: apart}
spec:
  replicas: 4
  selector: {matchLabels: {app: apart}}
  template:
    metadata: {labels: {app: apart}}
    spec:
      terminationGracePeriodSeconds: 1
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: apart}}}
      containers: [{name: main, image: busybox, command: [sleep, "600"]}]
)");
  until("deployment/apart", ".status.readyReplicas", "3");
  const auto nodes = ok({"get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}"});
  EXPECT_THAT(nodes, ::testing::AllOf(HasSubstr("local-1"), HasSubstr("local-2"), HasSubstr("local-3")));
  const auto waiting = ok({"get", "pods", "--field-selector=status.phase=Pending", "-o",
                           "jsonpath={.items[*].status.conditions[*].message}"});
  EXPECT_THAT(waiting, HasSubstr("anti-affinity"));
}

TEST_F(Up, AStatefulSetKeepsItsDataOverThePods) {
  ok({"apply", "-f", "-"}, R"(apiVersion: v1
kind: Service
metadata: {name: redis}
spec: {clusterIP: None, selector: {app: redis}, ports: [{port: 6379}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: redis}
spec:
  serviceName: redis
  replicas: 3
  selector: {matchLabels: {app: redis}}
  template:
    metadata: {labels: {app: redis}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
      - name: redis
        image: redis:7
        args: [--appendonly, "yes", --dir, /data]
        ports: [{containerPort: 6379}]
        readinessProbe: {exec: {command: [redis-cli, ping]}, periodSeconds: 1}
        volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
)");
  rolled_out("statefulset/redis");
  for (const std::string name : {"redis-0", "redis-1", "redis-2"})
    EXPECT_EQ(ok({"exec", name, "--", "redis-cli", "set", "me", name}), "OK\n");
  // By name, from one pod to another.
  EXPECT_EQ(ok({"exec", "redis-0", "--", "redis-cli", "-h", "redis-2.redis", "get", "me"}), "redis-2\n");
  const auto before = field("pod/redis-1", ".metadata.uid");
  ok({"delete", "pod", "redis-1", "redis-2"});
  until("pod/redis-1", ".metadata.uid", ::testing::AllOf(::testing::Ne(before), ::testing::Ne("")));
  rolled_out("statefulset/redis");
  wait("pod/redis-2", "condition=Ready");
  EXPECT_EQ(ok({"exec", "redis-1", "--", "redis-cli", "get", "me"}), "redis-1\n");
  EXPECT_EQ(ok({"exec", "redis-2", "--", "redis-cli", "get", "me"}), "redis-2\n");
}

// Asks again and again, by new connections, and prints each answer that differs from the one before. Ends with its
// standard input.
constexpr const char* kAsker = R"(
import sys, threading, urllib.request
url, last, asked = sys.argv[1], None, 0
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
while not ended.is_set():
    try:
        answer = urllib.request.urlopen(url, timeout=10).read().decode().strip()
    except Exception as error:
        answer = 'refused: %s' % error
    asked += 1
    if answer != last and (answer.startswith('refused') or last is None or answer > last):
        print(answer, flush=True)
        last = answer
print('asked', 'enough' if asked > 20 else 'only %d times' % asked, flush=True)
)";

std::string site(const std::string& text) {
  return R"(apiVersion: v1
kind: ConfigMap
metadata: {name: site-)" +
         text + R"(}
data:
  nginx.conf: |
    worker_processes 1;
    pid /tmp/nginx.pid;
    events {}
    http {
      access_log off;
      client_body_temp_path /tmp/body; proxy_temp_path /tmp/proxy; fastcgi_temp_path /tmp/fastcgi;
      uwsgi_temp_path /tmp/uwsgi; scgi_temp_path /tmp/scgi;
      server { listen 8080; location / { return 200 "version )" +
         text + R"(\n"; } }
    }
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: site}
spec:
  replicas: 3
  strategy: {rollingUpdate: {maxUnavailable: 1, maxSurge: 1}}
  selector: {matchLabels: {app: site}}
  template:
    metadata: {labels: {app: site}}
    spec:
      terminationGracePeriodSeconds: 10
      containers:
      - name: nginx
        image: nginx:1.27
        ports: [{name: web, containerPort: 8080}]
        readinessProbe: {httpGet: {path: /, port: web}, periodSeconds: 1}
        volumeMounts: [{name: conf, mountPath: /etc/nginx/nginx.conf, subPath: nginx.conf}]
      volumes: [{name: conf, configMap: {name: site-)" +
         text + R"(}}]
---
apiVersion: v1
kind: Service
metadata: {name: site}
spec: {selector: {app: site}, ports: [{port: 80, targetPort: web}]}
)";
}

TEST_F(Up, ARolloutRefusesNoRequest) {
  ok({"apply", "-f", "-"}, site("1"));
  rolled_out("deployment/site");
  const auto url = "http://" + field("service/site", ".spec.clusterIP") + "/";
  until("endpoints/site", ".subsets[0].addresses[2].ip", StartsWith("127."));
  Running asker({"python3", "-c", kAsker, url});
  EXPECT_EQ(asker.line(), "version 1");
  ok({"apply", "-f", "-"}, site("2"));
  EXPECT_EQ(asker.line(), "version 2");
  rolled_out("deployment/site");
  asker.wait();
  std::vector<std::string> rest;
  while (const auto line = asker.line()) rest.push_back(*line);
  EXPECT_THAT(rest, ::testing::ElementsAre("asked enough"));
}

TEST_F(Up, JobsAndCronJobsRun) {
  ok({"apply", "-f", "-"}, R"(apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  completions: 3
  parallelism: 2
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox, command: [sh, -c, "echo done"]}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: never}
spec:
  backoffLimit: 0
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox, command: ["false"]}]}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: often}
spec:
  schedule: "@every 1s"
  concurrencyPolicy: Forbid
  jobTemplate:
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox, command: ["true"]}]}}}
)");
  wait("job/once", "condition=Complete");
  EXPECT_EQ(field("job/once", ".status.succeeded"), "3");
  wait("job/never", "condition=Failed");
  until("cronjob/often", ".status.lastSuccessfulTime", StartsWith("20"));
  ok({"delete", "cronjob", "often"});
}

TEST_F(Up, PortsAreForwarded) {
  if (client_minor() < 23) GTEST_SKIP() << "this kubectl does not say which port it chose when it is asked for any";
  ok({"apply", "-f", "-"}, site("1"));
  rolled_out("deployment/site");
  Running forward(command({"port-forward", "deployment/site", ":8080"}));
  const auto line = forward.line();
  ASSERT_TRUE(line);
  EXPECT_THAT(*line, StartsWith("Forwarding from 127.0.0.1:"));
  const auto port = line->substr(sizeof "Forwarding from 127.0.0.1:" - 1,
                                 line->find(" ->") - (sizeof "Forwarding from 127.0.0.1:" - 1));
  EXPECT_EQ(run({"curl", "-s", "http://127.0.0.1:" + port}).out, "version 1\n");
}

}  // namespace
}  // namespace kopper::testing
