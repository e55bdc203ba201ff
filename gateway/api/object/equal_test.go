package object

import "testing"

// TestTimeAloneIsNoChange checks that objects which differ only in the times of managedFields are equal.
func TestTimeAloneIsNoChange(t *testing.T) {
	old := New(map[string]any{"metadata": map[string]any{"name": "a", "managedFields": []any{map[string]any{"manager": "m", "time": "1"}}}})
	next := old.Copy()
	next.Metadata()["managedFields"].([]any)[0].(map[string]any)["time"] = "2"
	if !next.SameAs(old) {
		t.Error("objects with different times are not equal")
	}
	next.Metadata()["managedFields"].([]any)[0].(map[string]any)["manager"] = "n"
	if next.SameAs(old) {
		t.Error("objects with different managers are equal")
	}
}
