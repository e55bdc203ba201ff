// Package encryption is an etcdstore.Store that encrypts values on their way to another store, with the providers of an
// EncryptionConfiguration of Kubernetes. The bytes in etcd are those of a kube-apiserver with this configuration.
package encryption
