#include <sstream>

#include "local/up.h"

// The operators with pods that run: `kopper up`, where they are a part of the process.
namespace kopper::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class UpOperators : public Up {
 protected:
  std::vector<std::string> words(const std::vector<std::string>& args) {
    std::istringstream text(ok(args));
    std::vector<std::string> out;
    for (std::string word; text >> word;) out.push_back(word);
    return out;
  }
};

TEST_F(UpOperators, AMemcachedServes) {
  ok({"apply", "-f", "-"},
     "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: cache}\nspec: {size: 2}\n");
  wait("memcached/cache", "condition=Available");
  const auto address = ok({"get", "pods", "-l", "memcached_cr=cache", "-o", "jsonpath={.items[0].status.podIP}"});
  EXPECT_THAT(run({"python3", "-c",
                   "import socket, sys\n"
                   "s = socket.create_connection((sys.argv[1], 11211), 10)\n"
                   "s.sendall(b'set metal 0 0 6\\r\\ncopper\\r\\nget metal\\r\\nquit\\r\\n')\n"
                   "print(b''.join(iter(lambda: s.recv(999), b'')).decode())",
                   address})
                  .out,
              AllOf(HasSubstr("STORED"), HasSubstr("copper")));
  ok({"scale", "memcached/cache", "--replicas=4"});
  until("memcached/cache", ".status.ready", "4");
  ok({"delete", "pod", "-l", "memcached_cr=cache", "--wait=false"});
  rolled_out("deployment/cache");
  until("memcached/cache", ".status.ready", "4");
  ok({"delete", "memcached", "cache"});
  ok({"wait", "--for=delete", "pod", "-l", "memcached_cr=cache", "--timeout=90s"});
}

TEST_F(UpOperators, APodSetKeepsItsNumber) {
  ok({"apply", "-f", "-"},
     "apiVersion: apps.jicki.cn/v1alpha1\nkind: PodSet\nmetadata: {name: set}\nspec: {size: 3}\n");
  wait("podset/set", "condition=Ready");
  const auto before = words({"get", "podset", "set", "-o", "jsonpath={.status.nodes[*]}"});
  ASSERT_EQ(before.size(), 3U);
  ok({"delete", "pod", before[0], "--wait=false"});
  until("podset/set", ".status.nodes[*]", Not(HasSubstr(before[0])));
  wait("podset/set", "condition=Ready");
  ok({"scale", "podset/set", "--replicas=1"});
  until("podset/set", ".status.nodes[1]", "");
}

TEST_F(UpOperators, APodbuggertoolIsInItsPods) {
  ok({"apply", "-f", "-"}, R"(apiVersion: v1
kind: Pod
metadata: {name: patient, labels: {app: patient}}
spec: {containers: [{name: main, image: busybox, command: [sleep, "600"]}]}
---
apiVersion: ualter.com/v1beta1
kind: Podbuggertool
metadata: {name: tool}
spec: {label: app=patient, image: busybox}
)");
  wait("podbuggertool/tool", "condition=Ready");
  until("pod/patient", ".status.ephemeralContainerStatuses[0].state.running", HasSubstr("startedAt"));
  const auto name = field("pod/patient", ".spec.ephemeralContainers[0].name");
  EXPECT_EQ(ok({"exec", "patient", "-c", name, "--", "echo", "inside"}), "inside\n");
}

TEST_F(UpOperators, WhatIsWrongIsNamedAndOthersGoOn) {
  const auto set = [](const std::string& size) {
    return "apiVersion: apps.jicki.cn/v1alpha1\nkind: PodSet\nmetadata: {name: wrong}\nspec: {size: " + size + "}\n";
  };
  EXPECT_THAT(refused({"create", "-f", "-"}, set("-1")), HasSubstr("spec.size"));
  EXPECT_THAT(refused({"create", "--validate=false", "-f", "-"}, set("three")), HasSubstr("spec.size"));
  ok({"apply", "-f", "-"}, R"(apiVersion: ualter.com/v1beta1
kind: Podbuggertool
metadata: {name: wrong}
spec: {label: a=b=c, image: busybox}
---
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: strange}
spec: {size: 1, image: "example.com/no-such-image:1"}
)");
  until("podbuggertool/wrong", ".status.conditions[*].message", HasSubstr("a=b=c"));
  until("pods", ".items[0].metadata.annotations", HasSubstr("kopper.dev/simulated"));
  ok({"apply", "-f", "-"},
     "apiVersion: apps.jicki.cn/v1alpha1\nkind: PodSet\nmetadata: {name: right}\nspec: {size: 1}\n");
  wait("podset/right", "condition=Ready");
}

}  // namespace
}  // namespace kopper::testing
