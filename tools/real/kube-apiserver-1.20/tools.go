//go:build tools

// What is built: the server, kubectl, and the generator of the one source file that 1.20 is published without.
package tools

import (
	_ "k8s.io/kube-openapi/cmd/openapi-gen"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
