package informer

import (
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
)

// The kinds that are also read without an informer.
var (
	ResourceQuotas  = corev1.SchemeGroupVersion.WithResource("resourcequotas")
	RuntimeClasses  = nodev1.SchemeGroupVersion.WithResource("runtimeclasses")
	ServiceAccounts = corev1.SchemeGroupVersion.WithResource("serviceaccounts")
)
