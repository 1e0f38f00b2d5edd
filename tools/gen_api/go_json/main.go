// Prints how encoding/json sees the fields of the Kubernetes API types: one JSON array. Read by ./generate.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"

	admission "k8s.io/api/admission/v1"
	admissionregistration "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	scheduling "k8s.io/api/scheduling/v1"
	storage "k8s.io/api/storage/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type field struct {
	Package, Record, Name, GoType, Kind, Element, Embedded string
	OmitEmpty, OmitZero, Pointer, Custom                   bool
}

var (
	seen        = map[reflect.Type]bool{}
	fields      []field
	unmarshaler = reflect.TypeOf((*json.Unmarshaler)(nil)).Elem()
	scalars     = map[string]bool{"Quantity": true, "Time": true, "MicroTime": true, "IntOrString": true}
)

func record(t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct && !seen[t] && !scalars[t.Name()] {
		seen[t] = true
		members(t, t, "")
	}
}

func members(owner, t reflect.Type, embedded string) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case name == "" && f.Anonymous:
			if f.Name != "TypeMeta" {
				members(owner, f.Type, strings.TrimPrefix(embedded+"."+f.Name, "."))
			}
			continue
		}
		inner, element := f.Type, ""
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Slice || inner.Kind() == reflect.Map {
			element = inner.Elem().Kind().String()
		}
		fields = append(fields, field{
			Package: owner.PkgPath(), Record: owner.Name(), Name: name, GoType: inner.String(),
			Kind: inner.Kind().String(), Element: element, Embedded: embedded,
			OmitEmpty: strings.Contains(tag, "omitempty"), OmitZero: strings.Contains(tag, "omitzero"),
			Pointer: f.Type.Kind() == reflect.Pointer, Custom: reflect.PointerTo(inner).Implements(unmarshaler),
		})
		record(inner)
	}
}

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admission.AddToScheme, admissionregistration.AddToScheme, apps.AddToScheme, authentication.AddToScheme,
		authorization.AddToScheme, autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, batch.AddToScheme,
		coordination.AddToScheme, core.AddToScheme, discovery.AddToScheme, events.AddToScheme, networking.AddToScheme,
		policy.AddToScheme, rbac.AddToScheme, scheduling.AddToScheme, storage.AddToScheme, apiextensions.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	for _, t := range scheme.AllKnownTypes() {
		record(t)
	}
	if err := json.NewEncoder(os.Stdout).Encode(fields); err != nil {
		panic(err)
	}
}
