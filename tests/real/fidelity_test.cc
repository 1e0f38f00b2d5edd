// Values that come back from a read-change-write exactly as the server had them.
#include "kopper/api/gen/coordination_v1.h"
#include "kopper/api/gen/policy_v1.h"
#include "kopper/json/value.h"

#include "real/connect.h"

namespace kopper::testing {
namespace {

struct HardCase22 : Real {
  // Made by kubectl, read and written back by us with one label more.
  template <class T>
  void expect_untouched(const std::string& name, const std::string& yaml) {
    const auto made = cluster().kubectl({"apply", "--server-side", "-n", ns, "-f", "-"}, yaml);
    ASSERT_EQ(made.exit, 0) << made.err;
    const auto resource = client::resource_of<T>();
    const auto dynamic = client.of(resource);
    const auto before = run(dynamic.get(key(name)));
    run(client.of<T>().modify(key(name), [](T& object) { object.metadata.labels["touched"] = "yes"; }));
    auto after = run(dynamic.get(key(name)));
    EXPECT_EQ(after["metadata"]["labels"].text("touched"), "yes");
    EXPECT_EQ(json::dump(without_the_touch(after)), json::dump(without_the_touch(before)));
  }
  static json::Value without_the_touch(json::Value object) {
    auto& metadata = object["metadata"];
    for (const auto* changing : {"managedFields", "resourceVersion", "labels"}) metadata.as_object()->erase(changing);
    return object;
  }
};

TEST_F(HardCase22, IntOrString) {
  expect_untouched<Service>("web", R"(
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports:
  - {name: a, port: 80, targetPort: http}
  - {name: b, port: 81, targetPort: 8081}
  - {name: c, port: 82, targetPort: "8082x"}
)");
}

TEST_F(HardCase22, QuantitiesAndNullAgainstAbsent) {
  expect_untouched<Pod>("pod", R"(
apiVersion: v1
kind: Pod
metadata: {name: pod, annotations: {empty: ""}}
spec:
  nodeSelector: null
  terminationGracePeriodSeconds: 0
  automountServiceAccountToken: false
  containers:
  - name: main
    image: busybox
    resources: {requests: {cpu: "0.1", memory: 1500Mi}, limits: {cpu: 1500m, memory: 1.5Gi}}
    env: [{name: EMPTY, value: ""}]
    securityContext: {}
  volumes:
  - {name: scratch, emptyDir: {}}
  - {name: sized, emptyDir: {sizeLimit: 0.5Gi}}
)");
}

TEST_F(HardCase22, Base64) {
  expect_untouched<Secret>("secret", R"(
apiVersion: v1
kind: Secret
metadata: {name: secret}
data: {empty: "", one: AA==, binary: /+7dzLuqmYh3ZlVEMyIRAA==}
)");
}

TEST_F(HardCase22, MicroTime) {
  expect_untouched<api::coordinationv1::Lease>("lease", R"(
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: lease}
spec:
  holderIdentity: ""
  leaseDurationSeconds: 15
  acquireTime: "2026-01-31T10:00:00.000000Z"
  renewTime: "2026-01-31T10:00:00.123456Z"
)");
}

}  // namespace
}  // namespace kopper::testing
