#pragma once

#include <concepts>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/api/object.h"
#include "kopper/base/error.h"
#include "kopper/json/value.h"
#include "kopper/meta/decode.h"
#include "kopper/meta/encode.h"

namespace kopper::runtime {

// How the versions of one kind become each other: each one (a spoke) knows the way to and from one of them, the hub.
//
//   conversion<v2::Web>().spoke<v1::Web>(
//       [](const v1::Web& from, v2::Web& to) { to.spec.size = from.spec.replicas; },
//       [](const v2::Web& from, v1::Web& to) { to.spec.replicas = from.spec.size; })
//
// `to` is as T's member initialisers make it, with the metadata of `from`. Of that, only labels and annotations may be
// changed, as the API server demands; the rest is kept whatever a function does.
class Conversion {
 public:
  template <api::ObjectType Hub>
  static Conversion of() {
    Conversion made;
    made.kind_ = &Hub::kind;
    made.versions_.push_back(version<Hub>());
    return made;
  }

  template <api::ObjectType Hub, api::ObjectType Spoke, class ToHub, class FromHub>
  void add(ToHub to_hub, FromHub from_hub) {
    static_assert(Spoke::kind.group == Hub::kind.group && Spoke::kind.kind == Hub::kind.kind &&
                      Spoke::kind.version != Hub::kind.version,
                  "the versions of one kind differ in version, and in nothing else of the name");
    Version spoke = version<Spoke>();
    spoke.to_hub = step<Spoke, Hub>(std::move(to_hub));
    spoke.from_hub = step<Hub, Spoke>(std::move(from_hub));
    add(std::move(spoke));
  }

  // The hub's.
  const Kind& kind() const { return *kind_; }
  std::vector<std::string> versions() const;  // "v1", …; the hub's first

  // One object as JSON in the version `to`. Fails with a sentence for the user.
  std::expected<json::Value, std::string> convert(const json::Value& object, std::string_view to) const;

 private:
  using Any = std::shared_ptr<void>;
  using Step = std::function<Any(const void* from)>;
  struct Version {
    const Kind* kind = nullptr;
    std::expected<Any, DecodeError> (*decode)(const json::Value& object) = nullptr;
    json::Value (*encode)(const void* object) = nullptr;
    Step to_hub, from_hub;  // none of the hub itself
  };

  template <class T>
  static Version version() {
    return {.kind = &T::kind, .decode = &decode_any<T>, .encode = &encode_any<T>, .to_hub = {}, .from_hub = {}};
  }
  template <class T>
  static std::expected<Any, DecodeError> decode_any(const json::Value& object) {
    auto decoded = meta::from_value<T>(object);
    if (!decoded) return std::unexpected(std::move(decoded.error()));
    return std::make_shared<T>(std::move(*decoded));
  }
  template <class T>
  static json::Value encode_any(const void* object) {
    return meta::to_value(*static_cast<const T*>(object));
  }
  template <class From, class To, class F>
    requires std::invocable<F&, const From&, To&>
  static Step step(F fn) {
    return [fn = std::move(fn)](const void* any) mutable -> Any {
      const auto& from = *static_cast<const From*>(any);
      auto to = std::make_shared<To>();
      to->metadata = from.metadata;
      fn(from, *to);
      return to;
    };
  }
  // Throws Error{Invalid} when the version is there already.
  void add(Version spoke);
  const Version* find(std::string_view version) const;

  const Kind* kind_ = nullptr;
  std::vector<Version> versions_;
};

// Makes a Conversion spoke by spoke; becomes one by itself.
template <api::ObjectType Hub>
class ConversionOf {
 public:
  template <api::ObjectType Spoke, class ToHub, class FromHub>
  ConversionOf& spoke(ToHub to_hub, FromHub from_hub) {
    made_.template add<Hub, Spoke>(std::move(to_hub), std::move(from_hub));
    return *this;
  }
  operator Conversion() const { return made_; }

 private:
  Conversion made_ = Conversion::of<Hub>();
};

template <api::ObjectType Hub>
ConversionOf<Hub> conversion() {
  return {};
}

// Answers a ConversionReview (apiextensions.k8s.io/v1 or v1beta1): all of its objects in order, or one failure that
// names the object. Fails when it is no such review.
std::expected<json::Value, std::string> answer_conversion(const json::Value& review,
                                                          const std::vector<Conversion>& conversions);

}  // namespace kopper::runtime
