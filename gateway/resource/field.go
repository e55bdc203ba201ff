package resource

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/gateway/config/suggest"
)

// CheckField returns an error, for the client, if no object of the resource can have a scalar at a path of member names.
func (r *Resource) CheckField(path []string) error {
	switch {
	case path[0] == "metadata":
		return checkTypeField(reflect.TypeFor[struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}](), path)
	case r.GoType != nil:
		return checkTypeField(reflect.TypeOf(r.GoType), path)
	case r.Schema != nil:
		return r.Schema.CheckField(path)
	}
	return nil
}

// namedFields are the fields that kube-apiserver selects by a name which is no path, with the paths that have the value.
var namedFields = map[schema.GroupKind]map[string][][]string{
	{Kind: "Event"}:               {"source": {{"source", "component"}, {"reportingComponent"}}},
	{Kind: "Namespace"}:           {"name": {{"metadata", "name"}}},
	{Kind: "Pod"}:                 {"spec.host": {{"spec", "nodeName"}}},
	{Group: "batch", Kind: "Job"}: {"status.successful": {{"status", "succeeded"}}},
}

// FieldPaths returns the paths of the values of a field whose name in selectors is no path; nil: the name is one.
func (r *Resource) FieldPaths(path []string) [][]string {
	return namedFields[schema.GroupKind{Group: r.Group, Kind: r.Kind}][strings.Join(path, ".")]
}

// absentFields are the values that kube-apiserver selects for fields which the JSON of an object leaves out.
var absentFields = map[schema.GroupKind]map[string]string{
	{Kind: "Node"}:                      {"spec.unschedulable": "false"},
	{Kind: "Pod"}:                       {"spec.hostNetwork": "false"},
	{Kind: "ReplicationController"}:     {"status.replicas": "0"},
	{Group: "apps", Kind: "ReplicaSet"}: {"status.replicas": "0"},
	{Group: "batch", Kind: "Job"}:       {"status.succeeded": "0"},
}

// AbsentValue returns the value that selectors see in a field that an object lacks.
func (r *Resource) AbsentValue(path []string) string {
	return absentFields[schema.GroupKind{Group: r.Group, Kind: r.Kind}][strings.Join(path, ".")]
}

// UnknownField returns the error of a path of which the member at an index is none of those that are possible there. It names the nearest
// path that is.
func UnknownField(path []string, index int, possible []string) error {
	message := "field label not supported: " + strings.Join(path, ".")
	if index < len(path) {
		if near := suggest.Nearest(path[index], possible); near != "" {
			path = slices.Clone(path)
			path[index] = near
			message += " (did you mean " + strings.Join(path, ".") + "?)"
		}
	} else if slices.Sort(possible); len(possible) > 0 {
		message += " (which is an object: select by a field of it, such as " + strings.Join(append(slices.Clone(path), possible[0]), ".") + ")"
	}
	return errors.New(message)
}

// checkTypeField returns an error if the JSON of a Go type has no scalar at a path.
func checkTypeField(t reflect.Type, path []string) error {
	for i := range len(path) + 1 {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		decoder, decodes := reflect.New(t).Interface().(json.Unmarshaler)
		last := i == len(path)
		switch {
		case decodes && (last || decoder.UnmarshalJSON([]byte(`{"a":1}`)) == nil): // the type decodes its own JSON, of any form if an object is one of them
			return nil
		case decodes:
			return UnknownField(path, i, nil)
		case t.Kind() == reflect.Struct:
			members := membersOf(t)
			member, ok := reflect.Type(nil), false
			if !last {
				member, ok = members[path[i]]
			}
			if !ok {
				return UnknownField(path, i, names(members))
			}
			t = member
		case t.Kind() == reflect.Map && !last:
			t = t.Elem()
		case isScalar(t) && last:
			return nil
		default: // a map, a list, or a member of a scalar
			return UnknownField(path, i, nil)
		}
	}
	return nil
}

// isScalar reports whether the JSON of a type is a scalar; that of bytes is a string.
func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Map, reflect.Interface:
		return false
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8
	}
	return true
}

// membersOf returns the types of the members of a struct's JSON, by name.
func membersOf(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out[name] = f.Type
		}
	}
	return out
}

func names(members map[string]reflect.Type) []string {
	out := make([]string, 0, len(members))
	for name := range members {
		out = append(out, name)
	}
	return out
}
