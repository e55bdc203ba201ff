package main

import (
	"bytes"
	"fmt"
)

// objectSize is the size of every object: as it is stored, or as it is posted.
const objectSize = 1024

const (
	// configMapsURL is where the gateway serves them, and configMapsKey where it keeps them.
	configMapsURL = "/api/v1/namespaces/default/configmaps"
	configMapsKey = "/registry/configmaps/default/"
	// given is what the gateway gives an object that is posted, and those that are put into etcd have.
	given = `"uid":"5ad16b2c-9d0a-4b44-8f0e-1d6ab6a0c1f7","creationTimestamp":"2026-11-21T00:00:00Z",`
)

// configMap is an object as the gateway stores it. target is the value of its label and of its field.
func configMap(name, target string, version int) []byte {
	return paddedConfigMap(name, given, target, version)
}

// postedConfigMap is an object as a client posts it.
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

// objectName is the name of the i-th object.
func objectName(i int) string { return fmt.Sprintf("object-%06d", i) }
