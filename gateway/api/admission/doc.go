// Package admission decides about clients' writes as the admission policies and webhooks in etcd say, by the plugins of kube-apiserver.
package admission
