#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kopper/api/gen/admissionregistration_v1.h"
#include "kopper/api/gen/authentication_v1.h"
#include "kopper/api/object.h"
#include "kopper/base/error.h"
#include "kopper/base/key.h"
#include "kopper/json/value.h"
#include "kopper/meta/decode.h"
#include "kopper/meta/encode_over.h"
#include "kopper/rt/task.h"
#include "kopper/runtime/conversion.h"

// Functions that the API server asks before it stores an object.
//
//   webhooks()
//       .defaulting<Memcached>([](Memcached& mc) { if (mc.spec.image.empty()) mc.spec.image = "memcached:1.6"; })
//       .validating<Memcached>([](const Admission<Memcached>& request) {
//         Verdict verdict;
//         if (request.old && request.object.spec.size < request.old->spec.size)
//           verdict.refuse("spec.size", "must not shrink");
//         return verdict;
//       })
//       .converting(conversion<Memcached>().spoke<MemcachedV1>(to_hub, from_hub));
//
// Serve them with WebhookServer (webhook_server.h); webhook_config.h makes what the API server must be told.
namespace kopper::runtime {

enum class Operation : std::uint8_t { Create, Update, Delete, Connect };
std::string_view to_string(Operation operation);  // "CREATE"

// Who wants what.
struct AdmissionInfo {
  std::string uid;
  Operation operation = Operation::Create;
  Key key;                  // the name is empty while the server has yet to make one (generateName)
  std::string subresource;  // "status", "scale"; "" for the object itself
  bool dry_run = false;     // nothing will be stored: there must be no side effects either
  api::authenticationv1::UserInfo user;
  json::Value options;  // CreateOptions, UpdateOptions, …
};

template <class T>
struct Admission : AdmissionInfo {
  T object;              // of a Delete, what goes
  std::optional<T> old;  // of an Update, what is stored; nothing when T cannot hold that
};

// The answer of a validating function: allowed unless something was refused.
class Verdict {
 public:
  static Verdict allow() { return {}; }
  // 403 with this message, as `kubectl` shows it.
  static Verdict deny(std::string message);

  // 422, naming the field: "spec.size: must be odd". Several are shown together.
  Verdict& refuse(std::string field, std::string message) &;
  Verdict&& refuse(std::string field, std::string message) && {
    return std::move(refuse(std::move(field), std::move(message)));
  }
  // Shown to the user, whatever the answer. Keep it below 120 characters.
  Verdict& warn(std::string text) &;
  Verdict&& warn(std::string text) && { return std::move(warn(std::move(text))); }

  bool allowed() const { return !denied_ && causes_.empty(); }
  std::string message() const;
  const std::vector<Cause>& causes() const { return causes_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  bool denied_ = false;
  std::string message_;
  std::vector<Cause> causes_;
  std::vector<std::string> warnings_;
};

// When the API server asks, and what it does when nobody answers.
struct HookOptions {
  std::vector<Operation> operations = {Operation::Create, Operation::Update};
  std::vector<std::string> subresources = {};  // besides the object itself
  bool fail_closed = true;                     // no answer: the request is refused; false: it is let through
  std::chrono::seconds timeout = std::chrono::seconds(10);
  bool equivalent_versions = true;        // also asked for objects sent in another version, converted to this one
  bool reinvoke = false;                  // defaulting only: asked again when a later webhook changed the object
  bool side_effects_on_real_run = false;  // the function has side effects, but none on a dry run
  std::optional<api::metav1::LabelSelector> namespace_selector = {};
  std::optional<api::metav1::LabelSelector> object_selector = {};
  std::vector<api::admissionregistrationv1::MatchCondition> match_conditions = {};  // CEL
};

namespace detail {

// What a function made of an object. The texts are JSON that still holds what the type does not know.
struct HookResult {
  std::string before, after;  // defaulting: equal or empty when nothing changed
  Verdict verdict;            // validating
};
// Fails when the object cannot be decoded. `object` is never empty; `old` may be.
using HookFn = std::function<Task<std::expected<HookResult, DecodeError>>(AdmissionInfo info, std::string object,
                                                                          std::string old)>;

template <class R>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<Task<T>> = true;

template <class F, class T>
concept AsyncDefaulter = std::same_as<std::invoke_result_t<F&, Admission<T>>, Task<T>>;
template <class F, class T>
concept Defaulter = std::invocable<F&, T&> || std::invocable<F&, T&, const AdmissionInfo&> || AsyncDefaulter<F, T>;
template <class F, class T>
concept Validator = std::same_as<std::invoke_result_t<F&, Admission<T>>, Verdict> ||
                    std::same_as<std::invoke_result_t<F&, Admission<T>>, Task<Verdict>>;

template <class T>
std::expected<Admission<T>, DecodeError> admission(AdmissionInfo info, std::string_view object, std::string_view old) {
  auto decoded = meta::decode<T>(object);
  if (!decoded) return std::unexpected(std::move(decoded.error()));
  Admission<T> request{std::move(info), std::move(*decoded), std::nullopt};
  // What is stored may be broken in a way that this very update repairs.
  if (auto stored = old.empty() ? std::unexpected(DecodeError{}) : meta::decode<T>(old))
    request.old = std::move(*stored);
  return request;
}

template <class T, class F>
Task<std::expected<HookResult, DecodeError>> run_defaulter(std::shared_ptr<F> fn, AdmissionInfo info,
                                                           std::string object, std::string old) {
  auto request = admission<T>(std::move(info), object, old);
  if (!request) co_return std::unexpected(std::move(request.error()));
  HookResult result;
  auto before = meta::encode_over(object, request->object);
  if constexpr (std::invocable<F&, T&>) {
    (*fn)(request->object);
  } else if constexpr (std::invocable<F&, T&, const AdmissionInfo&>) {
    const AdmissionInfo& asked = *request;
    (*fn)(request->object, asked);
  } else {
    Admission<T> copy = *request;
    request->object = co_await (*fn)(std::move(copy));
  }
  auto after = meta::encode_over(object, request->object);
  if (!before || !after) co_return std::unexpected(before ? after.error() : before.error());
  result.before = std::move(*before);
  result.after = std::move(*after);
  co_return result;
}

template <class T, class F>
Task<std::expected<HookResult, DecodeError>> run_validator(std::shared_ptr<F> fn, AdmissionInfo info,
                                                           std::string object, std::string old) {
  auto request = admission<T>(std::move(info), object, old);
  if (!request) co_return std::unexpected(std::move(request.error()));
  HookResult result;
  if constexpr (is_task<std::invoke_result_t<F&, Admission<T>>>) {
    result.verdict = co_await (*fn)(std::move(*request));
  } else {
    result.verdict = (*fn)(std::move(*request));
  }
  co_return result;
}

}  // namespace detail

// A registered function.
struct Hook {
  enum class Type : std::uint8_t { Defaulting, Validating };

  Type type = Type::Defaulting;
  const Kind* kind = nullptr;  // of static storage
  HookOptions options;
  std::string path;  // "/mutate-cache-example-com-v1alpha1-memcached", as controller-runtime has it
  detail::HookFn run;
};

// The functions of a program; one a kind, version and type of hook. Movable, not copied.
class Webhooks {
 public:
  // `fn` is void(T&), void(T&, const AdmissionInfo&), or Task<T>(Admission<T>) when it must wait for something.
  // Answered with a patch of what it changed: members that T does not know stay.
  template <api::ObjectType T, detail::Defaulter<T> F>
  Webhooks& defaulting(F fn, HookOptions options = {}) & {
    return add(Hook::Type::Defaulting, T::kind, std::move(options),
               erase<T>(&detail::run_defaulter<T, F>, std::move(fn)));
  }
  // `fn` is Verdict(const Admission<T>&), or Task<Verdict>(Admission<T>).
  template <api::ObjectType T, detail::Validator<T> F>
  Webhooks& validating(F fn, HookOptions options = {}) & {
    return add(Hook::Type::Validating, T::kind, std::move(options),
               erase<T>(&detail::run_validator<T, F>, std::move(fn)));
  }
  Webhooks& converting(Conversion conversion) &;

  // The same in a chain that ends as a value.
  template <api::ObjectType T, detail::Defaulter<T> F>
  Webhooks&& defaulting(F fn, HookOptions options = {}) && {
    return std::move(defaulting<T>(std::move(fn), std::move(options)));
  }
  template <api::ObjectType T, detail::Validator<T> F>
  Webhooks&& validating(F fn, HookOptions options = {}) && {
    return std::move(validating<T>(std::move(fn), std::move(options)));
  }
  Webhooks&& converting(Conversion conversion) && { return std::move(converting(std::move(conversion))); }

  // Takes back all of this kind, whatever its version.
  void drop(const Kind& kind);

  const std::vector<Hook>& hooks() const { return hooks_; }
  const std::vector<Conversion>& conversions() const { return conversions_; }
  bool empty() const { return hooks_.empty() && conversions_.empty(); }

 private:
  template <class T, class F, class Run>
  static detail::HookFn erase(Run run, F fn) {
    return [run, fn = std::make_shared<F>(std::move(fn))](AdmissionInfo info, std::string object, std::string old) {
      return run(fn, std::move(info), std::move(object), std::move(old));
    };
  }
  // Throws Error{Invalid} when there is one already.
  Webhooks& add(Hook::Type type, const Kind& kind, HookOptions options, detail::HookFn run);

  std::vector<Hook> hooks_;
  std::vector<Conversion> conversions_;
};

inline Webhooks webhooks() { return {}; }

}  // namespace kopper::runtime
