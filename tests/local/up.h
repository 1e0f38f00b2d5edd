#pragma once

#include <string>

#include "local/kubectl.h"

namespace kopper::testing {

// kubectl on `kopper up`.
class Up : public Kubectl {
 protected:
  // Patience is for a busy machine; the wait ends with the event.
  void wait(const std::string& object, const std::string& condition) {
    ok({"wait", object, "--for=" + condition, "--timeout=90s"});
  }
  void rolled_out(const std::string& object) { ok({"rollout", "status", object, "--timeout=90s"}); }
  // Until the field is so; the whole object otherwise.
  void until(const std::string& object, const std::string& path, const ::testing::Matcher<const std::string&>& holds) {
    std::string last;
    for (int i = 0; i < 900; ++i) {
      last = kubectl({"get", object, "-o", "jsonpath={" + path + "}"}).out;
      if (holds.Matches(last)) return;
      run({"sleep", "0.1"});
    }
    FAIL() << object << " " << path << " is " << last << "\n" << kubectl({"describe", object}).out;
  }
};

}  // namespace kopper::testing
