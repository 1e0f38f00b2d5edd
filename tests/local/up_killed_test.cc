#include <algorithm>
#include <sstream>

#include "local/up.h"

// An operator beside `kopper up` that is killed again and again while its pods are started and stopped.
namespace kopper::testing {
namespace {

class UpKilled : public Up {
 protected:
  void SetUp() override {
    Up::SetUp();
    const auto crds = run({KOPPER_OPERATOR_MANAGER, "--print-crds", "--operators=podset"});
    ok({"apply", "-f", "-"}, crds.out);
    wait("crd/podsets.apps.jicki.cn", "condition=Established");
  }
  std::vector<std::string> manager() const {
    return {KOPPER_OPERATOR_MANAGER,    "--kubeconfig",      cluster().kubeconfig(),
            "--operators=podset",       "--namespace=" + ns, "--health-probe-bind-address=0",
            "--metrics-bind-address=0", "--log-level=error"};
  }
  // Those that are not on their way out.
  std::size_t pods() {
    std::size_t count = 0;
    std::istringstream lines(
        ok({"get", "pods", "-l", "podset_cr=crowd", "-o",
            "jsonpath={range .items[*]}{.metadata.name} {.metadata.deletionTimestamp}{\"\\n\"}{end}"}));
    for (std::string line; std::getline(lines, line);) count += line.ends_with(' ') ? 1 : 0;
    return count;
  }
  void scale_through_deaths(std::size_t from, std::size_t to) {
    ok({"patch", "podset", "crowd", "--type=merge", "-p", "{\"spec\":{\"size\":" + std::to_string(to) + "}}"});
    for (int life = 0; life < 10; ++life) {
      const Running operator_manager(manager());
      run({"sleep", "0." + std::to_string(life % 4 + 1)});
      EXPECT_LE(pods(), std::max(from, to)) << "no pod too many at any time";
    }
    const Running operator_manager(manager());
    until("podset/crowd", ".status.ready", std::to_string(to));
    EXPECT_EQ(pods(), to);
  }
};

TEST_F(UpKilled, APodSetOf500LosesNoPodAndMakesNoneTooMany) {
  ok({"apply", "-f", "-"},
     "apiVersion: apps.jicki.cn/v1alpha1\nkind: PodSet\nmetadata: {name: crowd}\nspec: {size: 0}\n");
  scale_through_deaths(0, 500);
  scale_through_deaths(500, 10);
  ok({"delete", "podset", "crowd"});
  ok({"wait", "--for=delete", "pod", "-l", "podset_cr=crowd", "--timeout=120s"});
}

}  // namespace
}  // namespace kopper::testing
