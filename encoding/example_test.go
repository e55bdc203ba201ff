package encoding_test

import (
	"fmt"

	"revtail/encoding"
)

// A stored value becomes an object once, and each watch gets the same bytes in a line of its own.
func ExampleAppendEvent() {
	stored := []byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"motd"},"data":{"text":"hello"}}`)
	object, err := encoding.Normalize(stored, encoding.Identity{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "motd"}, 42)
	if err != nil {
		panic(err)
	}
	fmt.Print(string(encoding.AppendEvent(nil, encoding.Added, object.JSON)))
	// Output:
	// {"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"42","namespace":"default","name":"motd"},"data":{"text":"hello"}}}
}
