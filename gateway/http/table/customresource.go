package table

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/util/jsonpath"

	"revtail/encoding"
	"revtail/gateway/resource"
)

// definitionColumns are the columns of CustomResourceDefinitions.
var definitionColumns = Columns{
	nameColumn,
	stringColumn("Scope", "Whether objects are in namespaces: Namespaced or Cluster.", func(o jsonValue) string { return o.at("spec", "scope").text() }),
	stringColumn("Versions", "The versions that are served; one of all is that of stored objects.", servedVersions),
	createdColumn,
	wide(stringColumn("Group", "The group of the resource.", func(o jsonValue) string { return o.at("spec", "group").text() })),
	wide(stringColumn("Kind", "The kind of the objects.", func(o jsonValue) string { return o.at("spec", "names", "kind").text() })),
	wide(stringColumn("ShortNames", "The short names of the resource.", shortNames)),
	wide(column{name: "Established", kind: "boolean", description: "Whether the resource is served.", cell: func(o jsonValue, _ time.Time) any { return established(o) }}),
}

func servedVersions(definition jsonValue) string {
	var served []string
	for version := range definition.at("spec", "versions").elements {
		name := version.at("name").text()
		if version.at("storage").value == true {
			name += "(storage)"
		}
		if version.at("served").value == true {
			served = append(served, name)
		}
	}
	slices.Sort(served)
	return strings.Join(served, ",")
}

func shortNames(definition jsonValue) string {
	var names []string
	for name := range definition.at("spec", "names", "shortNames").elements {
		names = append(names, name.text())
	}
	return strings.Join(names, ",")
}

func established(definition jsonValue) bool {
	for condition := range definition.at("status", "conditions").elements {
		if condition.at("type").text() == "Established" {
			return condition.at("status").text() == "True"
		}
	}
	return false
}

// scaleColumns are the columns of the scale subresource of any kind.
var scaleColumns = Columns{
	nameColumn,
	{name: "Desired", kind: "integer", description: "How many replicas there should be.", cell: func(o jsonValue, _ time.Time) any { return o.at("spec", "replicas").integer() }},
	{name: "Available", kind: "integer", description: "How many replicas there are.", cell: func(o jsonValue, _ time.Time) any { return o.at("status", "replicas").integer() }},
	ageColumn,
}

// createdColumn is a time and not an age, although its type is date, as in Kubernetes.
var createdColumn = column{name: "Created At", kind: "date", description: "When it was created.", cell: func(o jsonValue, _ time.Time) any {
	created := o.at("metadata", "creationTimestamp").time()
	if created.IsZero() {
		return unknown
	}
	return created.UTC().Format(time.RFC3339)
}}

// definedColumns returns the column of the name, and those of a resource's definition. The cells of a column with an invalid path are empty.
func definedColumns(defined []resource.Column) Columns {
	cs := Columns{nameColumn}
	for _, d := range defined {
		path := jsonpath.New(d.Name).AllowMissingKeys(true)
		valid := path.Parse("{"+d.JSONPath+"}") == nil
		cs = append(cs, column{
			name: d.Name, kind: d.Type, format: d.Format, description: d.Description, priority: d.Priority,
			cell: func(object jsonValue, now time.Time) any {
				if !valid {
					return nil
				}
				return definedCell(d.Type, found(path, object), now)
			},
		})
	}
	return cs
}

// found returns the first value at a path; nil: there is none.
func found(path *jsonpath.JSONPath, object jsonValue) any {
	results, err := path.FindResults(object.value)
	if err != nil || len(results) == 0 || len(results[0]) == 0 || !results[0][0].IsValid() {
		return nil
	}
	return results[0][0].Interface()
}

// definedCell returns the cell of a value in a column of an OpenAPI type; nil: the value has another type.
func definedCell(kind string, value any, now time.Time) any {
	v := jsonValue{value}
	_, isInt := value.(int64)
	_, isFloat := value.(float64)
	_, isNumber := value.(json.Number)
	_, isBool := value.(bool)
	switch {
	case kind == "integer" && (isInt || isFloat):
		return v.integer()
	case kind == "number" && (isInt || isFloat || isNumber), kind == "boolean" && isBool:
		return value
	case kind == "date" && v.exists() && v.time().IsZero():
		return "<invalid>"
	case kind == "date" && v.exists():
		return v.age(now)
	case kind == "string":
		return textCell(v)
	}
	return nil
}

// textCell returns a value of any type as text.
func textCell(v jsonValue) any {
	if !v.exists() {
		return nil
	}
	if text := v.scalar(); text != "" || v.value == "" {
		return text
	}
	text, err := encoding.MarshalValue(v.value)
	if err != nil {
		return nil
	}
	return string(text)
}
