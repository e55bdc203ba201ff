package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// serverFields are those of metadata that the server sets.
var serverFields = []string{
	"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
}

// Restored returns an object without what the server sets, except the status. live is the object that it replaces: the manifest has its
// uid and resourceVersion as a precondition, and its owners; nil: there is none. owners are those of the old object that are left out.
func Restored(old, live json.RawMessage) (manifest map[string]any, owners []string, err error) {
	if manifest, err = DecodeObject(old); err != nil {
		return nil, nil, err
	}
	metadata, _ := manifest["metadata"].(map[string]any)
	for _, field := range serverFields {
		delete(metadata, field)
	}
	owners = ownersOf(metadata)
	delete(metadata, "ownerReferences")
	if live == nil {
		removeGenerated(manifest, metadata)
		return manifest, owners, nil
	}
	now, err := DecodeObject(live)
	if err != nil {
		return nil, nil, err
	}
	current, _ := now["metadata"].(map[string]any)
	if current["deletionTimestamp"] != nil {
		return nil, nil, errors.New("the server is deleting the object of this name: wait until it is gone")
	}
	for _, field := range []string{"uid", "resourceVersion", "ownerReferences"} {
		if value, ok := current[field]; ok {
			metadata[field] = value
		}
	}
	return manifest, nil, nil
}

// ownersOf returns the owners that an object names, as Kind NAME.
func ownersOf(metadata map[string]any) (out []string) {
	references, _ := metadata["ownerReferences"].([]any)
	for _, reference := range references {
		owner, _ := reference.(map[string]any)
		out = append(out, fmt.Sprintf("%v %v", owner["kind"], owner["name"]))
	}
	return out
}

// jobLabels are the labels that a kube-apiserver generates for the pods of a Job, and its selector.
var jobLabels = []string{"controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name"}

// removeGenerated removes what a kube-apiserver has generated from the uid of a Job: with another uid it refuses them.
func removeGenerated(manifest, metadata map[string]any) {
	spec, _ := manifest["spec"].(map[string]any)
	if manifest["kind"] != "Job" || spec["manualSelector"] == true {
		return
	}
	delete(spec, "selector")
	template, _ := spec["template"].(map[string]any)
	podMetadata, _ := template["metadata"].(map[string]any)
	for _, of := range []map[string]any{metadata, podMetadata} {
		labels, _ := of["labels"].(map[string]any)
		for _, label := range jobLabels {
			delete(labels, label)
		}
	}
}

// DecodeObject decodes an object in JSON, and keeps the digits of numbers.
func DecodeObject(text []byte) (content map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&content)
	return content, err
}
