#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/client/api.h"
#include "kopper/http/handler.h"
#include "kopper/plane/faults.h"
#include "kopper/plane/plane.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"
#include "kopper/runtime/controller.h"
#include "kopper/runtime/manager.h"

// Tests of operators: a whole cluster in the test's process and thread, on a clock that the test moves.
namespace kopper::testing {

struct ClusterOptions {
  std::string namespace_ = "default";  // of objects and keys that name none
  std::string objects;                 // YAML, applied before the operators start
  std::string user;  // whom the operators are, for RBAC: "system:serviceaccount:default:memcached"; "": administrators
  plane::PlaneOptions plane;
  runtime::ManagerOptions manager;
  rt::Duration patience = std::chrono::minutes(10);  // of the cluster's time: how long until() waits
  // What the operators may ask at once, and in a second of the cluster's time from then on. Without it, operators that
  // go round in circles would do so for ever in no time.
  double burst = 5000;
  double qps = 100;
};

// A request that an operator made.
struct Seen {
  std::string method;
  std::string target;
  int status = 0;  // 0: there was no answer

  bool write() const { return method != "GET"; }
  std::string str() const;  // "PATCH /apis/… 409"
};

// The API server with garbage collection, and the operators under test: one loop, no socket, no thread, no waiting.
//
//   TEST(Memcached, MakesADeployment) {
//     kopper::testing::Cluster cluster(memcached());
//     cluster.apply("{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: demo}, spec: {size:
//     3}}"); cluster.until<Deployment>("demo", [](const Deployment& it) { return it.spec.replicas == 3; });
//   }
//
// Definitions of the operators' own kinds are installed. Nothing runs pods: the test plays the controllers that are not
// there (set_status). Errors are thrown as kopper::Error, which every test framework shows.
class Cluster {
 public:
  template <std::same_as<runtime::ControllerSpec>... Controllers>
  explicit Cluster(Controllers... controllers)
      : Cluster(std::vector<runtime::ControllerSpec>{std::move(controllers)...}, ClusterOptions()) {}
  explicit Cluster(std::vector<runtime::ControllerSpec> controllers, ClusterOptions options = ClusterOptions());
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // What a person would do with kubectl. No fault touches these. A key is "name", in the options' namespace, or
  // "namespace/name".
  // Server-side apply of every document; returns when the server serves the definitions among them.
  void apply(std::string_view yaml);
  template <client::Object T>
  T apply(T object) {
    if (T::kind.scope == Scope::Namespaced && object.metadata.namespace_.empty())
      object.metadata.namespace_ = options_.namespace_;
    client::ApplyOptions how;
    how.force = true;
    return run(client_.of<T>().apply(std::move(object), std::move(how)));
  }
  template <client::Object T>
  T get(std::string_view key) {
    return run(client_.of<T>().get(key_of<T>(key)));
  }
  template <client::Object T>
  std::optional<T> find(std::string_view key) {
    return run(client_.of<T>().find(key_of<T>(key)));
  }
  template <client::Object T>
  std::vector<T> list(client::ListOptions options = client::ListOptions()) {
    return std::move(run(client_.of<T>().list(std::move(options))).items);
  }
  template <client::Object T>
  T modify(std::string_view key, std::function<void(T&)> change) {
    return run(client_.of<T>().modify(key_of<T>(key), std::move(change)));
  }
  // The same through /status: what some other controller would say.
  template <client::Object T>
  T set_status(std::string_view key, std::function<void(T&)> change) {
    client::WriteOptions how;
    how.subresource = "status";
    return run(client_.of<T>().modify(key_of<T>(key), std::move(change), std::move(how)));
  }
  // False when there was none.
  template <client::Object T>
  bool remove(std::string_view key, client::DeleteOptions options = client::DeleteOptions()) {
    return run(client_.of<T>().remove(key_of<T>(key), std::move(options)));
  }

  // Time. Everything runs what it has to do now, as far as it gets without time passing.
  void settle() { loop_.poll(); }
  void advance(rt::Duration by) { loop_.advance(by); }
  // Lets time pass, from one timer to the next, until the condition holds. A condition that throws NotFound does not
  // hold yet. Throws Error{Timeout} that tells what is there instead.
  void until(std::string_view what, const std::function<bool()>& holds);
  // The same about one object: it is there, and as it should be. What is there instead is told as YAML.
  template <client::Object T>
  T until(std::string_view key, const std::function<bool(const T&)>& holds) {
    std::optional<T> seen;
    wait(std::string(T::kind.kind) + " " + std::string(key), [&] {
      seen = find<T>(key);
      return seen && holds(*seen);
    });
    return std::move(*seen);
  }
  // The result of the task. Time passes when it has to wait for something.
  template <class T>
  T run(Task<T> task) {
    std::optional<T> result;
    finish(rt::detail::store(std::move(task), &result));
    return std::move(*result);
  }
  void run(Task<> task) { finish(std::move(task)); }

  // What goes wrong with the operators' requests.
  plane::Faults& faults() { return faults_; }
  // What the operators asked since the last call of either.
  std::vector<Seen> requests();
  // Only those that write: "PATCH /apis/apps/v1/namespaces/default/deployments/demo 200".
  std::vector<std::string> writes();
  // Ends the operators' process and starts another: what they knew is forgotten.
  void restart();

  // For what is not above.
  rt::Loop& loop() { return loop_; }
  plane::Plane& plane() { return plane_; }
  runtime::Manager& manager() { return *manager_; }
  const client::Client& client() const { return client_; }
  // The way of the operators: through the faults, and seen.
  std::shared_ptr<http::Handler> transport();

 private:
  class Wire;

  template <class T>
  Key key_of(std::string_view text) const {
    Key key = Key::parse(text);
    if (T::kind.scope == Scope::Namespaced && key.namespace_.empty()) key.namespace_ = options_.namespace_;
    return key;
  }
  Task<> apply_document(json::Value object);
  void install(const json::Value& definition);
  void start();
  Task<> operate();
  void wait(std::string_view what, const std::function<bool()>& holds);
  void finish(Task<> task);
  std::string instead();

  const ClusterOptions options_;
  const std::vector<runtime::ControllerSpec> controllers_;
  rt::Loop loop_{rt::ClockMode::Manual};
  plane::Plane plane_;
  plane::Faults faults_;
  std::shared_ptr<Wire> wire_;
  client::Client client_;
  std::unique_ptr<runtime::Manager> manager_;
  std::string ended_;  // why the operators' process did
  std::unique_ptr<rt::Scope> running_;
};

}  // namespace kopper::testing
