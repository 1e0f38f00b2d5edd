#pragma once

// The types that operators name all day, without their group: kopper::Pod is kopper::api::corev1::Pod.

#include "kopper/api/conditions.h"
#include "kopper/api/gen/apps_v1.h"
#include "kopper/api/gen/batch_v1.h"
#include "kopper/api/gen/core_v1.h"
#include "kopper/api/gen/meta_v1.h"
#include "kopper/api/int_or_string.h"
#include "kopper/api/labels.h"
#include "kopper/api/object.h"
#include "kopper/api/owner.h"
#include "kopper/api/pods.h"
#include "kopper/api/quantity.h"
#include "kopper/api/selector.h"
#include "kopper/api/time.h"

namespace kopper {

using api::IntOrString;
using api::Labels;
using api::MicroTime;
using api::Quantity;
using api::Selector;
using api::Time;

using api::condition;
using api::failure;
using api::key_of;

using api::metav1::Condition;
using api::metav1::LabelSelector;
using api::metav1::ObjectMeta;
using api::metav1::OwnerReference;

using api::corev1::ConfigMap;
using api::corev1::Container;
using api::corev1::ContainerPort;
using api::corev1::EnvVar;
using api::corev1::Namespace;
using api::corev1::PersistentVolumeClaim;
using api::corev1::Pod;
using api::corev1::PodSpec;
using api::corev1::PodTemplateSpec;
using api::corev1::Probe;
using api::corev1::ResourceRequirements;
using api::corev1::Secret;
using api::corev1::Service;
using api::corev1::ServiceAccount;
using api::corev1::ServicePort;
using api::corev1::Volume;
using api::corev1::VolumeMount;

using api::appsv1::DaemonSet;
using api::appsv1::Deployment;
using api::appsv1::StatefulSet;

using api::batchv1::CronJob;
using api::batchv1::Job;

}  // namespace kopper
