#pragma once

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "real/cluster.h"

// kubectl, whichever one $KOPPER_KUBECTL or PATH offers, in a namespace of the test's own.
namespace kopper::testing {

class Kubectl : public ::testing::Test {
 protected:
  void SetUp() override;

  // Its exit code and outputs.
  Output kubectl(std::vector<std::string> args, const std::string& input = "");
  // What it prints when it must succeed; a failure of the test otherwise.
  std::string ok(std::vector<std::string> args, const std::string& input = "");
  // What it says when it must fail.
  std::string refused(std::vector<std::string> args, const std::string& input = "");
  std::vector<std::string> command(std::vector<std::string> args) const;
  // As a controller would: `status`, JSON, becomes the status of the object at `path`, whose * is this namespace.
  void set_status(const std::string& path, const std::string& status);
  // Waits for the end of a `kubectl wait --for=delete`, which older ones answer with NotFound when they come too late.
  static void expect_gone(Running& wait);
  // jsonpath of one object.
  std::string field(const std::string& object, const std::string& path);

  // 1.<minor>, of kubectl.
  static int client_minor();

  std::string ns;
};

// $KUBE_EDITOR for the time of a test.
class Editor {
 public:
  explicit Editor(const std::string& command);
  ~Editor();
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;
};

inline std::string config_map(const std::string& name, const std::string& data) {
  return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", labels: {app: " + name + "}}\ndata: {" +
         data + "}\n";
}

}  // namespace kopper::testing
