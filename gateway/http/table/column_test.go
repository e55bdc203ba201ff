package table

import (
	"encoding/json"
	"strings"
	"testing"

	"revtail/encoding/jsontext"
)

// ownColumns are the columns that this package has itself.
var ownColumns = map[string]Columns{"a definition": definitionColumns, "a scale": scaleColumns, "a mount": mountColumns, "any object": {nameColumn, ageColumn}}

// TestColumnsAreDescribed checks that each column has a description, and that the first one is the name.
func TestColumnsAreDescribed(t *testing.T) {
	types := map[string]bool{"string": true, "date": true, "integer": true, "boolean": true}
	for of, cs := range ownColumns {
		names := map[string]bool{}
		for _, c := range cs {
			if c.name == "" || names[c.name] || !types[c.kind] || !strings.HasSuffix(c.description, ".") {
				t.Errorf("%s: %+v", of, c)
			}
			names[c.name] = true
		}
		if !json.Valid(cs.Definitions()) || cs.Len() != len(cs) || cs[0].format != "name" {
			t.Errorf("%s: %s", of, cs.Definitions())
		}
	}
}

// shapes are values of wrong types.
var shapes = []string{`null`, `true`, `-1`, `1e400`, `""`, `"x"`, `[]`, `{}`, `[null]`, `[1,"x",[],{}]`, `{"a":null}`, `{"":{}}`}

// TestColumnsTakeAnyShape checks that any object has a cell of the type of its column in each column.
func TestColumnsTakeAnyShape(t *testing.T) {
	const doc = `{"metadata":{"name":"w","creationTimestamp":"2026-11-21T11:00:00Z","resourceVersion":"7","annotations":{"revtail/key":"/w",` +
		`"revtail/key64":"L3c="}},"value":{"a":[1]},"undecodable":"no JSON","spec":{"replicas":1,"scope":"Cluster","group":"g","versions":[{"name":"v1","served":true}],` +
		`"names":{"kind":"W","shortNames":["w"]}},"status":{"replicas":1,"conditions":[{"type":"Established","status":"True"}]}}`
	object, err := jsontext.Unmarshal([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	for of, cs := range ownColumns {
		damage(object, func() {
			for _, c := range cs {
				cell := c.cell(jsonValue{object}, testNow)
				if !isOfType(cell, c.kind) {
					t.Fatalf("%s of %s: %v", c.name, of, cell)
				}
			}
		})
	}
}

func isOfType(cell any, kind string) (ok bool) {
	switch kind {
	case "integer":
		_, ok = cell.(int64)
	case "boolean":
		_, ok = cell.(bool)
	default:
		_, ok = cell.(string)
	}
	return ok
}

// damage replaces each value inside a value with each of shapes, and calls check each time.
func damage(value any, check func()) {
	replace := func(old any, set func(any)) {
		for _, text := range shapes {
			var shape any
			decoder := json.NewDecoder(strings.NewReader(text))
			decoder.UseNumber()
			if decoder.Decode(&shape) == nil {
				set(shape)
				check()
			}
		}
		set(old)
		damage(old, check)
	}
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			replace(member, func(v any) { value[name] = v })
		}
	case []any:
		for i, element := range value {
			replace(element, func(v any) { value[i] = v })
		}
	}
}
