// Operators that nobody here wrote the SDK of: the Memcached operator of bench/peers, on controller-runtime and on
// kube-rs, unchanged. $KOPPER_PEER is the program.
#include <cstdlib>

#include "local/kubectl.h"

namespace kopper::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kDefinition = R"(apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: memcacheds.cache.example.com}
spec:
  group: cache.example.com
  scope: Namespaced
  names: {kind: Memcached, plural: memcacheds, singular: memcached, listKind: MemcachedList}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, format: int32, default: 1}
              image: {type: string, default: "memcached:1.6-alpine"}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
)";

class Peer : public Kubectl {
 protected:
  void SetUp() override {
    Kubectl::SetUp();
    ASSERT_NE(std::getenv("KOPPER_PEER"), nullptr);
    ok({"apply", "-f", "-"}, kDefinition);
    ok({"wait", "--for=condition=Established", "crd/memcacheds.cache.example.com", "--timeout=120s"});
  }
  // Follows a field of an object until it is `wanted`.
  void await(const std::string& object, const std::string& path, const std::string& wanted) {
    Running watch(command({"get", object, "-w", "-o", "jsonpath={" + path + R"(}{"\n"})"}));
    std::optional<std::string> line;
    do {
      line = watch.line();
      ASSERT_TRUE(line) << "the watch of " << object << " has ended";
    } while (*line != wanted);
  }
};

TEST_F(Peer, ItsOperatorIsAtHome) {
  ok({"create", "-f", "-"},
     "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: demo}\nspec: {size: 3}\n");
  Running operator_({"env", "KUBECONFIG=" + cluster().kubeconfig(), std::getenv("KOPPER_PEER"), "operator"});
  std::string said;
  const auto listen = [&](const std::string& what) {
    while (!said.contains(what)) {
      const auto line = operator_.line();
      ASSERT_TRUE(line) << "it has ended: " << said;
      said += *line + "\n";
    }
  };
  listen(R"("synced")");
  {
    Running made(command({"get", "deployments", "-w", "-o", "name"}));
    EXPECT_EQ(made.line(), "deployment.apps/demo");
  }
  EXPECT_EQ(field("deployment/demo", ".spec.replicas"), "3");
  EXPECT_EQ(field("deployment/demo", ".metadata.ownerReferences[0].name"), "demo");
  ok({"patch", "memcached", "demo", "--type=merge", "-p", R"({"spec": {"size": 5}})"});
  await("deployment/demo", ".spec.replicas", "5");
  set_status("/apis/apps/v1/namespaces/*/deployments/demo", R"({"replicas": 5, "readyReplicas": 5})");
  await("memcached/demo", ".status.ready", "5");
  ok({"delete", "deployment", "demo"});  // it makes another
  {
    Running made(command({"get", "deployments", "-w", "-o", "name"}));
    EXPECT_EQ(made.line(), "deployment.apps/demo");
  }
  EXPECT_EQ(operator_.wait(), 0);
  while (const auto line = operator_.line()) said += *line + "\n";
  EXPECT_THAT(said, Not(HasSubstr("rror"))) << said;
}

}  // namespace
}  // namespace kopper::testing
