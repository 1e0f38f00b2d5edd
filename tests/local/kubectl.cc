#include "local/kubectl.h"

#include <cstdlib>

#include "kopper/json/value.h"

namespace kopper::testing {
namespace {

std::string line_of(const std::vector<std::string>& args) {
  std::string out = "kubectl";
  for (const std::string& word : args) out += " " + word;
  return out;
}

// So that two tests never meet, whichever run alone.
std::string namespace_of_this_test() {
  std::string out = "kubectl";
  for (const char c : std::string(::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper) out += '-';
    out += static_cast<char>(upper ? c - 'A' + 'a' : c);
  }
  return out.substr(0, 63);
}

}  // namespace

int Kubectl::client_minor() {
  static const int minor = [] {
    const Output said = cluster().kubectl({"version", "--client", "-o", "json"});
    const auto parsed = json::parse(said.out);
    if (!parsed) throw std::runtime_error("kubectl version: " + said.out + said.err);
    const std::string version((*parsed)["clientVersion"].text("gitVersion"));  // v1.20.2
    RecordProperty("kubectl", version);
    return std::stoi(version.substr(sizeof "v1." - 1));
  }();
  return minor;
}

void Kubectl::SetUp() {
  ns = namespace_of_this_test();
  const Output made = cluster().kubectl({"create", "namespace", ns});
  ASSERT_EQ(made.out, "namespace/" + ns + " created\n") << made.err;
}

std::vector<std::string> Kubectl::command(std::vector<std::string> args) const {
  args.insert(args.begin(), {"-n", ns});
  return cluster().kubectl_command(std::move(args));
}

Output Kubectl::kubectl(std::vector<std::string> args, const std::string& input) {
  return run(command(std::move(args)), input);
}

std::string Kubectl::ok(std::vector<std::string> args, const std::string& input) {
  const std::string line = line_of(args);
  Output done = kubectl(std::move(args), input);
  EXPECT_EQ(done.exit, 0) << line << "\n" << done.out << done.err;
  return done.out;
}

std::string Kubectl::refused(std::vector<std::string> args, const std::string& input) {
  const std::string line = line_of(args);
  const Output done = kubectl(std::move(args), input);
  EXPECT_NE(done.exit, 0) << line << "\n" << done.out << done.err;
  return done.out + done.err;
}

void Kubectl::set_status(const std::string& path, const std::string& status) {
  const std::string url = path.substr(0, path.find('*')) + ns + path.substr(path.find('*') + 1);
  json::Value object = json::parse(ok({"get", "--raw", url})).value();
  object["metadata"].as_object()->erase("resourceVersion");
  object["status"] = json::parse(status).value();
  ok({"replace", "--raw", url + "/status", "-f", "-"}, json::dump(object));
}

void Kubectl::expect_gone(Running& wait) {
  std::string said;
  while (const auto line = wait.line()) said += *line + "\n";
  const int exit = wait.wait();
  // Older ones do not like it when it is gone before they look.
  const bool gone = said.contains("(NotFound)") || said.contains("no matching resources found");
  EXPECT_TRUE(exit == 0 || (client_minor() < 23 && gone)) << said;
}

std::string Kubectl::field(const std::string& object, const std::string& path) {
  return ok({"get", object, "-o", "jsonpath={" + path + "}"});
}

Editor::Editor(const std::string& command) { setenv("KUBE_EDITOR", command.c_str(), 1); }
Editor::~Editor() { unsetenv("KUBE_EDITOR"); }

}  // namespace kopper::testing
