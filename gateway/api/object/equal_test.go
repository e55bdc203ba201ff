package object

import "testing"

// TestTimeAloneIsNoChange: a configuration that sets what the server owns makes a new entry, but not a new object.
func TestTimeAloneIsNoChange(t *testing.T) {
	old := New(map[string]any{"metadata": map[string]any{"name": "a", "managedFields": []any{map[string]any{"manager": "m", "time": "1"}}}})
	next := old.Copy()
	next.Metadata()["managedFields"].([]any)[0].(map[string]any)["time"] = "2"
	if !next.SameAs(old) {
		t.Error("another time makes another object")
	}
	next.Metadata()["managedFields"].([]any)[0].(map[string]any)["manager"] = "n"
	if next.SameAs(old) {
		t.Error("another manager makes no other object")
	}
}
