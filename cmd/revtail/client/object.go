package client

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Object is an object and the metadata that the client needs.
type Object struct {
	Namespace, Name string
	Revision        int64
	JSON            json.RawMessage
}

func newObject(text json.RawMessage) (Object, error) {
	var read struct {
		Metadata struct{ Namespace, Name, ResourceVersion string }
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return Object{}, fmt.Errorf("an object: %w", err)
	}
	revision, err := strconv.ParseInt(read.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		return Object{}, fmt.Errorf("resourceVersion of %s: %w", read.Metadata.Name, err)
	}
	return Object{read.Metadata.Namespace, read.Metadata.Name, revision, text}, nil
}

// key identifies the object among those of a resource.
func (o Object) key() string { return o.Namespace + "/" + o.Name }
