#include "kopper/plane/builtin/autoscaler_versions.h"

#include <gtest/gtest.h>

namespace kopper::plane::builtin {
namespace {

json::Value parsed(const char* text) { return json::parse(text).value(); }

TEST(AutoscalerVersions, CpuIsAField) {
  const json::Value v1 = autoscaler_to_v1(parsed(R"({"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2",
    "metadata":{"name":"h"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"minReplicas":1,"maxReplicas":5,
    "metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}}]},
    "status":{"desiredReplicas":0,"currentMetrics":null}})"));
  EXPECT_EQ(v1, parsed(R"({"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v1","metadata":{"name":"h"},
    "spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"minReplicas":1,"maxReplicas":5,
    "targetCPUUtilizationPercentage":80},"status":{"currentReplicas":0,"desiredReplicas":0}})"));
}

TEST(AutoscalerVersions, NothingIsLost) {
  const json::Value v2 = parsed(R"({"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2",
    "metadata":{"name":"h","annotations":{"mine":"1"}},
    "spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"minReplicas":1,"maxReplicas":5,
    "metrics":[
      {"type":"Resource","resource":{"name":"memory","target":{"averageValue":"100Mi","type":"AverageValue"}}},
      {"type":"Pods","pods":{"metric":{"name":"rps","selector":{"matchLabels":{"a":"b"}}},
        "target":{"averageValue":"5","type":"AverageValue"}}},
      {"type":"Object","object":{"describedObject":{"kind":"Service","name":"s"},"metric":{"name":"hits"},
        "target":{"value":"10","type":"Value"}}},
      {"type":"External","external":{"metric":{"name":"queue"},"target":{"value":"30","type":"Value"}}},
      {"type":"ContainerResource","containerResource":{"name":"cpu","target":{"averageUtilization":60,"type":"Utilization"},
        "container":"c"}},
      {"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}],
    "behavior":{"scaleDown":{"stabilizationWindowSeconds":60,"policies":[{"type":"Pods","value":1,"periodSeconds":15}]}}},
    "status":{"observedGeneration":2,"currentReplicas":3,"desiredReplicas":4,
      "currentMetrics":[{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":70,"averageValue":"7m"}}}],
      "conditions":[{"type":"AbleToScale","status":"True"}]}})");
  const json::Value v1 = autoscaler_to_v1(v2);
  EXPECT_EQ(v1["spec"]["targetCPUUtilizationPercentage"], json::Value(50));
  EXPECT_EQ(v1["status"]["currentCPUUtilizationPercentage"], json::Value(70));
  const json::Value& annotations = v1["metadata"]["annotations"];
  EXPECT_EQ(
      annotations.text("autoscaling.alpha.kubernetes.io/behavior"),
      R"({"ScaleDown":{"StabilizationWindowSeconds":60,"Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":15}]}})");
  EXPECT_TRUE(annotations.text("autoscaling.alpha.kubernetes.io/metrics")
                  .starts_with(R"([{"type":"Resource","resource":{"name":"memory","targetAverageValue":"100Mi"}})"));
  EXPECT_EQ(autoscaler_to_v2(v1), v2);
}

}  // namespace
}  // namespace kopper::plane::builtin
