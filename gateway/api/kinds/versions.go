package kinds

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"revtail/encoding/gotype"
	"revtail/encoding/jsontext"
	"revtail/gateway/resource"
)

// joinVersions makes the resources whose objects have the same keys versions of each other: those that are not stored convert what they read
// and write.
func joinVersions(all []*resource.Resource) {
	for _, res := range all {
		if res.Storage.Empty() {
			continue
		}
		var versions []*resource.Resource
		for _, other := range all {
			if other.SamePlace(res) {
				versions = append(versions, other)
			}
		}
		for _, version := range versions {
			version.Versions, version.Convert = versions, convert
		}
		stored, served := res.Storage.WithKind(res.Kind), groupVersionKind(res)
		res.Defaults = func(object map[string]any) { convertInPlace(object, stored, served) }
		res.Store = func(object map[string]any) { convertInPlace(object, served, stored) }
	}
}

func groupVersionKind(res *resource.Resource) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: res.Group, Version: res.Version, Kind: res.Kind}
}

// convertInPlace converts an object. It leaves an object that another program has stored, and that is none of the kind, as it is.
func convertInPlace(object map[string]any, from, to schema.GroupVersionKind) {
	converted, err := convertKind(object, from, to)
	if err != nil {
		return
	}
	clear(object)
	maps.Copy(object, converted)
}

// convert is resource.Resource.Convert.
func convert(object map[string]any, to schema.GroupVersion) (map[string]any, error) {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	return convertKind(object, schema.FromAPIVersionAndKind(apiVersion, kind), to.WithKind(kind))
}

// convertKind converts an object between two versions of its kind, by way of the internal type of both. It sets defaults of the first. The
// managed fields stay as they are: each entry names its version.
func convertKind(object map[string]any, from, to schema.GroupVersionKind) (map[string]any, error) {
	internal, err := decode(object, from)
	if err != nil {
		return nil, err
	}
	typed, err := legacyscheme.Scheme.UnsafeConvertToVersion(internal, to.GroupVersion())
	if err != nil {
		return nil, err
	}
	return encode(typed, to, object)
}

// decode returns an object, with its defaults, in the type of which Kubernetes' strategies are. Managed fields are left out: they have no
// meaning for a strategy, and can be the largest part of an object.
func decode(object map[string]any, kind schema.GroupVersionKind) (runtime.Object, error) {
	if metadata, ok := object["metadata"].(map[string]any); ok && metadata["managedFields"] != nil {
		metadata = maps.Clone(metadata)
		delete(metadata, "managedFields")
		object = maps.Clone(object)
		object["metadata"] = metadata
	}
	typed, err := legacyscheme.Scheme.New(kind)
	if err != nil {
		return nil, err
	}
	if err = gotype.Decode(object, typed); err != nil {
		return nil, err
	}
	return toInternal(typed, kind)
}

// decodeDocument is decode for a document, with which the object shares memory.
func decodeDocument(document []byte, kind schema.GroupVersionKind) (runtime.Object, error) {
	typed, err := legacyscheme.Scheme.New(kind)
	if err != nil {
		return nil, err
	}
	if err = gotype.Unmarshal(withoutManagedFields(document), typed); err != nil {
		return nil, err
	}
	return toInternal(typed, kind)
}

// withoutManagedFields returns a document whose managed fields are null. It does not change the document.
func withoutManagedFields(document []byte) []byte {
	s, found := jsontext.Seek(document, "metadata", "managedFields")
	start := s.Pos()
	if !found || !s.Skip() {
		return document
	}
	out := make([]byte, 0, start+len("null")+len(document)-s.Pos())
	return append(append(append(out, document[:start]...), "null"...), document[s.Pos():]...)
}

// toInternal returns an object of a kind, with its defaults, in the internal type. It takes over its memory.
func toInternal(typed runtime.Object, kind schema.GroupVersionKind) (runtime.Object, error) {
	legacyscheme.Scheme.Default(typed)
	return legacyscheme.Scheme.UnsafeConvertToVersion(typed, schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal})
}

// encode returns the JSON members of a typed object of a kind, with the managed fields of another.
func encode(typed runtime.Object, kind schema.GroupVersionKind, managed map[string]any) (map[string]any, error) {
	contents, err := gotype.Encode(typed)
	if err != nil {
		return nil, err
	}
	metadata, _ := managed["metadata"].(map[string]any)
	if entries := metadata["managedFields"]; entries != nil {
		contents["metadata"].(map[string]any)["managedFields"] = entries // every object has metadata
	}
	contents["apiVersion"], contents["kind"] = kind.GroupVersion().String(), kind.Kind
	return contents, nil
}
