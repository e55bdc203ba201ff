package table

import (
	"encoding/json"
	"time"

	"k8s.io/client-go/util/jsonpath"

	"revtail/encoding"
	"revtail/gateway/resource"
)

// definitionColumns are the columns of CustomResourceDefinitions.
var definitionColumns = Columns{nameColumn, createdColumn}

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
