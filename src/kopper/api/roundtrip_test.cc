// Objects as a real API server stores them (tests/golden/api) go through the generated types and come out the same.
#include <algorithm>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/gen/admission_v1.h"
#include "kopper/api/gen/admissionregistration_v1.h"
#include "kopper/api/gen/apiextensions_v1.h"
#include "kopper/api/gen/apps_v1.h"
#include "kopper/api/gen/autoscaling_v2.h"
#include "kopper/api/gen/batch_v1.h"
#include "kopper/api/gen/coordination_v1.h"
#include "kopper/api/gen/core_v1.h"
#include "kopper/api/gen/discovery_v1.h"
#include "kopper/api/gen/events_v1.h"
#include "kopper/api/gen/networking_v1.h"
#include "kopper/api/gen/policy_v1.h"
#include "kopper/api/gen/rbac_v1.h"
#include "kopper/api/gen/storage_v1.h"
#include "kopper/meta/compare.h"
#include "kopper/meta/decode.h"
#include "kopper/meta/encode.h"

namespace kopper::api {
namespace {

using ::testing::IsEmpty;

std::string golden(std::string_view name) {
  std::ifstream file("tests/golden/api/" + std::string(name) + ".json");
  return {std::istreambuf_iterator<char>(file), {}};
}

bool blank(const json::Value& v) {
  if (const auto* object = v.as_object()) {
    return std::ranges::all_of(*object, [](const auto& member) { return blank(member.second); });
  }
  return v.is_null() || v == json::Value(0) || v == json::Value("");
}

// The server writes some parts even when there is nothing in them, as Go does for structs that are not pointers. For it
// an absent one is the same, and we leave it out.
json::Value without_blank_parts(const json::Value& v) {
  if (const auto* array = v.as_array()) {
    json::Array out;
    std::ranges::transform(*array, std::back_inserter(out), without_blank_parts);
    return out;
  }
  const auto* object = v.as_object();
  if (object == nullptr) return v;
  json::Object out;
  for (const auto& [key, value] : *object) {
    static const std::vector<std::string_view> kParts{"metadata",        "resources", "status",
                                                      "strategy",        "lastState", "loadBalancer",
                                                      "daemonEndpoints", "nodeInfo",  "deprecatedSource"};
    const bool part = std::ranges::find(kParts, key) != kParts.end() && value.is_object() &&
                      (key != "status" || object->contains("metadata"));
    if (value.is_null() || (part && blank(value))) continue;
    out[key] = without_blank_parts(value);
  }
  return out;
}

// kind and apiVersion change places.
json::Value without_type(json::Value v) {
  if (auto* array = v.as_array()) {
    for (auto& item : *array) item = without_type(std::move(item));
  } else if (auto* object = v.as_object()) {
    object->erase("kind");
    object->erase("apiVersion");
    for (auto& [key, value] : *object) value = without_type(std::move(value));
  }
  return v;
}

template <class T>
void expect_round_trip(std::string_view name) {
  SCOPED_TRACE(name);
  const auto text = golden(name);
  std::vector<std::string> unknown;
  const auto object = meta::decode<T>(text, {.unknown = &unknown});
  ASSERT_TRUE(object) << object.error().str();
  EXPECT_THAT(unknown, IsEmpty());
  const auto expected = without_blank_parts(*json::parse(text));
  EXPECT_EQ(meta::to_value(*object), expected);

  // The same order as well: decoding guesses the next member by it.
  const auto written = *json::parse(meta::encode(*object));
  EXPECT_EQ(json::dump(without_type(written)), json::dump(without_type(expected)));

  EXPECT_EQ(*object, *meta::decode<T>(text));
  EXPECT_FALSE(*object == T{});
}

TEST(RoundTrip, Core) {
  expect_round_trip<corev1::Pod>("pod");
  expect_round_trip<corev1::Service>("service");
  expect_round_trip<corev1::ConfigMap>("configmap");
  expect_round_trip<corev1::Secret>("secret");
  expect_round_trip<corev1::ServiceAccount>("serviceaccount");
  expect_round_trip<corev1::PersistentVolume>("persistentvolume");
  expect_round_trip<corev1::PersistentVolumeClaim>("persistentvolumeclaim");
  expect_round_trip<corev1::ResourceQuota>("resourcequota");
  expect_round_trip<corev1::Node>("node");
}

TEST(RoundTrip, Workloads) {
  expect_round_trip<appsv1::Deployment>("deployment");
  expect_round_trip<appsv1::StatefulSet>("statefulset");
  expect_round_trip<appsv1::DaemonSet>("daemonset");
  expect_round_trip<batchv1::Job>("job");
  expect_round_trip<batchv1::CronJob>("cronjob");
  expect_round_trip<autoscalingv2::HorizontalPodAutoscaler>("horizontalpodautoscaler");
  expect_round_trip<policyv1::PodDisruptionBudget>("poddisruptionbudget");
}

TEST(RoundTrip, TheRest) {
  expect_round_trip<networkingv1::NetworkPolicy>("networkpolicy");
  expect_round_trip<networkingv1::Ingress>("ingress");
  expect_round_trip<rbacv1::Role>("role");
  expect_round_trip<rbacv1::RoleBinding>("rolebinding");
  expect_round_trip<rbacv1::ClusterRole>("clusterrole");
  expect_round_trip<coordinationv1::Lease>("lease");
  expect_round_trip<eventsv1::Event>("event");
  expect_round_trip<discoveryv1::EndpointSlice>("endpointslice");
  expect_round_trip<storagev1::StorageClass>("storageclass");
  expect_round_trip<admissionregistrationv1::ValidatingWebhookConfiguration>("validatingwebhookconfiguration");
  expect_round_trip<apiextensionsv1::CustomResourceDefinition>("customresourcedefinition");
  expect_round_trip<metav1::Status>("status");
}

TEST(RoundTrip, AdmissionReview) {
  const auto* text = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1",
    "kind":{"group":"apps","version":"v1","kind":"Deployment"},"resource":{"group":"apps","version":"v1",
    "resource":"deployments"},"name":"web","namespace":"default","operation":"UPDATE","userInfo":{"username":"jane",
    "groups":["system:authenticated"],"extra":{"scopes":["a","b"]}},"object":{"kind":"Deployment","spec":{}},
    "oldObject":null,"dryRun":false,"options":{"kind":"UpdateOptions"}}})";
  const auto review = meta::decode<admissionv1::AdmissionReview>(text);
  ASSERT_TRUE(review) << review.error().str();
  ASSERT_TRUE(review->request);
  EXPECT_EQ(review->request->kind.kind, "Deployment");
  EXPECT_EQ(review->request->dryRun, false);
  EXPECT_TRUE(review->request->oldObject.is_null());

  admissionv1::AdmissionReview answer;
  answer.response = admissionv1::AdmissionResponse{.uid = "u1", .allowed = false, .warnings = {"careful"}};
  EXPECT_EQ(meta::encode(answer), R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",)"
                                  R"("response":{"uid":"u1","allowed":false,"warnings":["careful"]}})");
}

// A port without a protocol is the TCP one that the server made of it.
TEST(Covers, ListKeysThatTheServerDefaults) {
  corev1::Container wanted;
  wanted.ports.push_back({.containerPort = 11211});
  auto live = wanted;
  live.ports[0].protocol = "TCP";
  EXPECT_TRUE(meta::covers(live, wanted));
  live.ports[0].protocol = "UDP";
  EXPECT_FALSE(meta::covers(live, wanted));
}

}  // namespace
}  // namespace kopper::api
