// What one would write for these structs without any reflection: one function a struct, one comparison a member.
#include <cstring>

#include <simdjson.h>

#include "kopper/json/writer.h"

#include "decode/pod.h"

namespace kopper::bench {
namespace {

namespace od = simdjson::ondemand;
using Error = simdjson::error_code;

bool is(od::raw_json_string key, std::string_view name) { return key.unsafe_is_equal(name); }

Error read(od::value v, std::string& out) {
  std::string_view text;
  if (const Error e = v.get_string().get(text)) return e;
  out.assign(text);
  return simdjson::SUCCESS;
}
Error read(od::value v, bool& out) { return v.get_bool().get(out); }
Error read(od::value v, int64_t& out) { return v.get_int64().get(out); }
Error read(od::value v, int32_t& out) {
  int64_t wide = 0;
  if (const Error e = v.get_int64().get(wide)) return e;
  out = static_cast<int32_t>(wide);
  return out == wide ? simdjson::SUCCESS : simdjson::NUMBER_OUT_OF_RANGE;
}
Error read(od::value v, Map& out) {
  od::object object;
  if (const Error e = v.get_object().get(object)) return e;
  for (auto item : object) {
    std::string_view key;
    od::value value;
    if (const Error e = item.unescaped_key().get(key)) return e;
    if (const Error e = item.value().get(value)) return e;
    if (const Error e = read(value, out.try_emplace(out.end(), std::string(key))->second)) return e;
  }
  return simdjson::SUCCESS;
}

Error read(od::value v, OwnerReference& out);
Error read(od::value v, ContainerPort& out);
Error read(od::value v, EnvVar& out);
Error read(od::value v, Container& out);
Error read(od::value v, PodCondition& out);
Error read(od::value v, ContainerStatus& out);

template <class T>
Error read(od::value v, std::optional<T>& out) {
  if (v.is_null()) return simdjson::SUCCESS;
  return read(v, out.emplace());
}
template <class T>
Error read(od::value v, std::vector<T>& out) {
  od::array array;
  if (const Error e = v.get_array().get(array)) return e;
  for (auto item : array) {
    od::value value;
    if (const Error e = std::move(item).get(value)) return e;
    if (const Error e = read(value, out.emplace_back())) return e;
  }
  return simdjson::SUCCESS;
}

template <class F>
Error members(od::value v, F each) {
  od::object object;
  if (const Error e = v.get_object().get(object)) return e;
  for (auto item : object) {
    od::field field;
    if (const Error e = std::move(item).get(field)) return e;
    const od::raw_json_string key = field.key();
    if (const Error e = each(key, field.value())) return e;
  }
  return simdjson::SUCCESS;
}

Error read(od::value v, OwnerReference& o) {
  return members(v, [&](od::raw_json_string k, od::value x) {
    if (is(k, "apiVersion")) return read(x, o.apiVersion);
    if (is(k, "kind")) return read(x, o.kind);
    if (is(k, "name")) return read(x, o.name);
    if (is(k, "uid")) return read(x, o.uid);
    if (is(k, "controller")) return read(x, o.controller);
    if (is(k, "blockOwnerDeletion")) return read(x, o.blockOwnerDeletion);
    return simdjson::SUCCESS;
  });
}
Error read(od::value v, ObjectMeta& m) {
  return members(v, [&](od::raw_json_string k, od::value x) {
    if (is(k, "name")) return read(x, m.name);
    if (is(k, "generateName")) return read(x, m.generateName);
    if (is(k, "namespace")) return read(x, m.namespace_);
    if (is(k, "uid")) return read(x, m.uid);
    if (is(k, "resourceVersion")) return read(x, m.resourceVersion);
    if (is(k, "creationTimestamp")) return read(x, m.creationTimestamp);
    if (is(k, "deletionTimestamp")) return read(x, m.deletionTimestamp);
    if (is(k, "labels")) return read(x, m.labels);
    if (is(k, "annotations")) return read(x, m.annotations);
    if (is(k, "ownerReferences")) return read(x, m.ownerReferences);
    if (is(k, "finalizers")) return read(x, m.finalizers);
    return simdjson::SUCCESS;
  });
}
Error read(od::value v, ContainerPort& p) {
  return members(v, [&](od::raw_json_string k, od::value x) {
    if (is(k, "name")) return read(x, p.name);
    if (is(k, "containerPort")) return read(x, p.containerPort);
    if (is(k, "protocol")) return read(x, p.protocol);
    return simdjson::SUCCESS;
  });
}
Error read(od::value v, EnvVar& e) {
  return members(v, [&](od::raw_json_string k, od::value x) {
    if (is(k, "name")) return read(x, e.name);
    if (is(k, "value")) return read(x, e.value);
    return simdjson::SUCCESS;
  });
}
Error read(od::value v, Resources& r) {
  return members(v, [&](od::raw_json_string k, od::value x) {
    if (is(k, "limits")) return read(x, r.limits);
    if (is(k, "requests")) return read(x, r.requests);
    return simdjson::SUCCESS;
  });
}
Error read(od::value v, Container& c) {
  return members(v, [&](od::raw_json_string k, od::value x) {
    if (is(k, "name")) return read(x, c.name);
    if (is(k, "image")) return read(x, c.image);
    if (is(k, "command")) return read(x, c.command);
    if (is(k, "args")) return read(x, c.args);
    if (is(k, "ports")) return read(x, c.ports);
    if (is(k, "env")) return read(x, c.env);
    if (is(k, "resources")) return read(x, c.resources);
    if (is(k, "imagePullPolicy")) return read(x, c.imagePullPolicy);
    return simdjson::SUCCESS;
  });
}
Error read(od::value v, PodSpec& s) {
  return members(v, [&](od::raw_json_string k, od::value x) {
    if (is(k, "containers")) return read(x, s.containers);
    if (is(k, "restartPolicy")) return read(x, s.restartPolicy);
    if (is(k, "terminationGracePeriodSeconds")) return read(x, s.terminationGracePeriodSeconds);
    if (is(k, "serviceAccountName")) return read(x, s.serviceAccountName);
    if (is(k, "nodeName")) return read(x, s.nodeName);
    if (is(k, "schedulerName")) return read(x, s.schedulerName);
    if (is(k, "priority")) return read(x, s.priority);
    return simdjson::SUCCESS;
  });
}
Error read(od::value v, PodCondition& c) {
  return members(v, [&](od::raw_json_string k, od::value x) {
    if (is(k, "type")) return read(x, c.type);
    if (is(k, "status")) return read(x, c.status);
    if (is(k, "reason")) return read(x, c.reason);
    if (is(k, "message")) return read(x, c.message);
    if (is(k, "lastTransitionTime")) return read(x, c.lastTransitionTime);
    return simdjson::SUCCESS;
  });
}
Error read(od::value v, ContainerStatus& s) {
  return members(v, [&](od::raw_json_string k, od::value x) {
    if (is(k, "name")) return read(x, s.name);
    if (is(k, "ready")) return read(x, s.ready);
    if (is(k, "restartCount")) return read(x, s.restartCount);
    if (is(k, "image")) return read(x, s.image);
    if (is(k, "imageID")) return read(x, s.imageID);
    if (is(k, "containerID")) return read(x, s.containerID);
    if (is(k, "started")) return read(x, s.started);
    return simdjson::SUCCESS;
  });
}
Error read(od::value v, PodStatus& s) {
  return members(v, [&](od::raw_json_string k, od::value x) {
    if (is(k, "phase")) return read(x, s.phase);
    if (is(k, "conditions")) return read(x, s.conditions);
    if (is(k, "hostIP")) return read(x, s.hostIP);
    if (is(k, "podIP")) return read(x, s.podIP);
    if (is(k, "startTime")) return read(x, s.startTime);
    if (is(k, "containerStatuses")) return read(x, s.containerStatuses);
    if (is(k, "qosClass")) return read(x, s.qosClass);
    return simdjson::SUCCESS;
  });
}
Error read(od::value v, Pod& p) {
  return members(v, [&](od::raw_json_string k, od::value x) {
    if (is(k, "metadata")) return read(x, p.metadata);
    if (is(k, "spec")) return read(x, p.spec);
    if (is(k, "status")) return read(x, p.status);
    return simdjson::SUCCESS;
  });
}

using json::Writer;

void write(Writer& w, const std::string& v) { w.value(v); }
void write(Writer& w, bool v) { w.value(v); }
void write(Writer& w, int32_t v) { w.value(v); }
void write(Writer& w, int64_t v) { w.value(v); }
void write(Writer& w, const OwnerReference& v);
void write(Writer& w, const ContainerPort& v);
void write(Writer& w, const EnvVar& v);
void write(Writer& w, const Container& v);
void write(Writer& w, const PodCondition& v);
void write(Writer& w, const ContainerStatus& v);

void write(Writer& w, const Map& map) {
  w.begin_object();
  for (const auto& [key, value] : map) w.key(key).value(value);
  w.end_object();
}
template <class T>
void write(Writer& w, const std::vector<T>& list) {
  w.begin_array();
  for (const T& item : list) write(w, item);
  w.end_array();
}
template <class T>
void member(Writer& w, std::string_view name, const T& v) {
  if constexpr (requires { v.empty(); })
    if (v.empty()) return;
  w.raw_key(name);
  write(w, v);
}
template <class T>
void member(Writer& w, std::string_view name, const std::optional<T>& v) {
  if (v) member(w, name, *v);
}

void write(Writer& w, const OwnerReference& o) {
  w.begin_object();
  member(w, "\"apiVersion\":", o.apiVersion);
  member(w, "\"kind\":", o.kind);
  member(w, "\"name\":", o.name);
  member(w, "\"uid\":", o.uid);
  member(w, "\"controller\":", o.controller);
  member(w, "\"blockOwnerDeletion\":", o.blockOwnerDeletion);
  w.end_object();
}
void write(Writer& w, const ObjectMeta& m) {
  w.begin_object();
  member(w, "\"name\":", m.name);
  member(w, "\"generateName\":", m.generateName);
  member(w, "\"namespace\":", m.namespace_);
  member(w, "\"uid\":", m.uid);
  member(w, "\"resourceVersion\":", m.resourceVersion);
  member(w, "\"creationTimestamp\":", m.creationTimestamp);
  member(w, "\"deletionTimestamp\":", m.deletionTimestamp);
  member(w, "\"labels\":", m.labels);
  member(w, "\"annotations\":", m.annotations);
  member(w, "\"ownerReferences\":", m.ownerReferences);
  member(w, "\"finalizers\":", m.finalizers);
  w.end_object();
}
void write(Writer& w, const ContainerPort& p) {
  w.begin_object();
  member(w, "\"name\":", p.name);
  member(w, "\"containerPort\":", p.containerPort);
  member(w, "\"protocol\":", p.protocol);
  w.end_object();
}
void write(Writer& w, const EnvVar& e) {
  w.begin_object();
  member(w, "\"name\":", e.name);
  member(w, "\"value\":", e.value);
  w.end_object();
}
void write(Writer& w, const Container& c) {
  w.begin_object();
  member(w, "\"name\":", c.name);
  member(w, "\"image\":", c.image);
  member(w, "\"command\":", c.command);
  member(w, "\"args\":", c.args);
  member(w, "\"ports\":", c.ports);
  member(w, "\"env\":", c.env);
  if (!c.resources.limits.empty() || !c.resources.requests.empty()) {
    w.raw_key("\"resources\":").begin_object();
    member(w, "\"limits\":", c.resources.limits);
    member(w, "\"requests\":", c.resources.requests);
    w.end_object();
  }
  member(w, "\"imagePullPolicy\":", c.imagePullPolicy);
  w.end_object();
}
void write(Writer& w, const PodCondition& c) {
  w.begin_object();
  member(w, "\"type\":", c.type);
  member(w, "\"status\":", c.status);
  member(w, "\"reason\":", c.reason);
  member(w, "\"message\":", c.message);
  member(w, "\"lastTransitionTime\":", c.lastTransitionTime);
  w.end_object();
}
void write(Writer& w, const ContainerStatus& s) {
  w.begin_object();
  member(w, "\"name\":", s.name);
  member(w, "\"ready\":", s.ready);
  member(w, "\"restartCount\":", s.restartCount);
  member(w, "\"image\":", s.image);
  member(w, "\"imageID\":", s.imageID);
  member(w, "\"containerID\":", s.containerID);
  member(w, "\"started\":", s.started);
  w.end_object();
}

}  // namespace

bool decode_by_hand(std::string_view json, Pod& out) {
  thread_local od::parser parser;
  thread_local std::string buffer;
  buffer.assign(json);
  buffer.reserve(json.size() + simdjson::SIMDJSON_PADDING);
  od::document document;
  od::value root;
  if (parser.iterate(buffer.data(), buffer.size(), buffer.capacity()).get(document)) return false;
  return !document.get_value().get(root) && !read(root, out);
}

void encode_by_hand(const Pod& pod, std::string& out) {
  Writer w(out);
  w.begin_object();
  w.raw_key("\"metadata\":");
  write(w, pod.metadata);
  w.raw_key("\"spec\":").begin_object();
  member(w, "\"containers\":", pod.spec.containers);
  member(w, "\"restartPolicy\":", pod.spec.restartPolicy);
  member(w, "\"terminationGracePeriodSeconds\":", pod.spec.terminationGracePeriodSeconds);
  member(w, "\"serviceAccountName\":", pod.spec.serviceAccountName);
  member(w, "\"nodeName\":", pod.spec.nodeName);
  member(w, "\"schedulerName\":", pod.spec.schedulerName);
  member(w, "\"priority\":", pod.spec.priority);
  w.end_object().raw_key("\"status\":").begin_object();
  member(w, "\"phase\":", pod.status.phase);
  member(w, "\"conditions\":", pod.status.conditions);
  member(w, "\"hostIP\":", pod.status.hostIP);
  member(w, "\"podIP\":", pod.status.podIP);
  member(w, "\"startTime\":", pod.status.startTime);
  member(w, "\"containerStatuses\":", pod.status.containerStatuses);
  member(w, "\"qosClass\":", pod.status.qosClass);
  w.end_object().end_object();
}

}  // namespace kopper::bench
