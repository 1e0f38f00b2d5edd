package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type MemcachedSpec struct {
	Size  int32  `json:"size,omitempty"`
	Image string `json:"image,omitempty"`
}

type MemcachedStatus struct {
	Ready int32 `json:"ready"`
}

type Memcached struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              MemcachedSpec   `json:"spec,omitempty"`
	Status            MemcachedStatus `json:"status,omitempty"`
}

type MemcachedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Memcached `json:"items"`
}

func (in *Memcached) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func (in *MemcachedList) DeepCopyObject() runtime.Object {
	out := *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Memcached, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopyObject().(*Memcached)
	}
	return &out
}

var groupVersion = schema.GroupVersion{Group: "cache.example.com", Version: "v1alpha1"}

func desired(mc *Memcached) *appsapply.DeploymentApplyConfiguration {
	labels := map[string]string{"app": "memcached", "instance": mc.Name}
	return appsapply.Deployment(mc.Name, mc.Namespace).
		WithLabels(labels).
		WithOwnerReferences(metaapply.OwnerReference().
			WithAPIVersion(groupVersion.String()).WithKind("Memcached").WithName(mc.Name).WithUID(mc.UID).
			WithController(true).WithBlockOwnerDeletion(true)).
		WithSpec(appsapply.DeploymentSpec().
			WithReplicas(mc.Spec.Size).
			WithSelector(metaapply.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(coreapply.PodTemplateSpec().
				WithLabels(labels).
				WithSpec(coreapply.PodSpec().WithContainers(coreapply.Container().
					WithName("memcached").WithImage(mc.Spec.Image).
					WithPorts(coreapply.ContainerPort().WithContainerPort(11211))))))
}

type memcachedReconciler struct{ client.Client }

func (r memcachedReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var mc Memcached
	if err := r.Get(ctx, request.NamespacedName, &mc); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	reconciles.Add(1)
	if err := r.Apply(ctx, desired(&mc), client.FieldOwner("memcached"), client.ForceOwnership); err != nil {
		return ctrl.Result{}, err
	}
	var live appsv1.Deployment
	if err := r.Get(ctx, request.NamespacedName, &live); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if mc.Status.Ready == live.Status.ReadyReplicas {
		return ctrl.Result{}, nil
	}
	before := mc.DeepCopyObject().(*Memcached)
	mc.Status.Ready = live.Status.ReadyReplicas
	return ctrl.Result{}, r.Status().Patch(ctx, &mc, client.MergeFrom(before))
}

func runOperator(ctx context.Context) error {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	scheme.AddKnownTypes(groupVersion, &Memcached{}, &MemcachedList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	manager, err := newManager(scheme)
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).For(&Memcached{}).Owns(&appsv1.Deployment{}).
		Complete(memcachedReconciler{manager.GetClient()})
	if err != nil {
		return err
	}
	go run(ctx, manager)
	manager.GetCache().WaitForCacheSync(ctx)
	say("synced")
	return serve(nil)
}
