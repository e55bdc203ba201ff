package main

import (
	"bytes"
	"fmt"
)

// objectSize is the size of every object, stored or posted.
const objectSize = 1024

const (
	// configMapsURL is the collection in the gateway, and configMapsKey its prefix in etcd.
	configMapsURL = "/api/v1/namespaces/default/configmaps"
	configMapsKey = "/registry/configmaps/default/"
	// given is the metadata that the gateway adds to a posted object. The objects written to etcd have it too.
	given = `"uid":"5ad16b2c-9d0a-4b44-8f0e-1d6ab6a0c1f7","creationTimestamp":"2026-11-21T00:00:00Z",`
)

// configMap returns an object as the gateway stores it. target is the value of its label and of its field.
func configMap(name, target string, version int) []byte {
	return paddedConfigMap(name, given, target, version)
}

// postedConfigMap returns an object as a client posts it.
func postedConfigMap(name string, version int) []byte {
	return paddedConfigMap(name, "", "all", version)
}

func paddedConfigMap(name, metadata, target string, version int) []byte {
	const end = `"}}`
	object := fmt.Appendf(nil, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"%s","namespace":"default",%s"labels":{"app":"bench","target":"%s"}},`+
		`"data":{"target":"%s","version":"%d","value":"`, name, metadata, target, target, version)
	object = append(object, bytes.Repeat([]byte("x"), objectSize-len(object)-len(end))...)
	return append(object, end...)
}

// objectName returns the name of the i-th object.
func objectName(i int) string { return fmt.Sprintf("object-%06d", i) }
