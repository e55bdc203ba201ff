package kinds_test

import (
	"slices"
	"testing"

	"revtail/gateway/api/kinds"
	"revtail/gateway/resource"
)

// TestBuiltin checks that each built-in kind has a strategy and a printer. Namespaces have only a printer.
func TestBuiltin(t *testing.T) {
	for _, res := range kinds.Builtin() {
		t.Run(res.QualifiedName(), func(t *testing.T) {
			if has := res.Strategy != nil; has == res.IsNamespaces() {
				t.Errorf("has a strategy: %t", has)
			} else if has {
				checkZero(t, res)
			}
			if res.Printer == nil {
				t.Fatal("no printer")
			}
			checkPrinter(t, res)
		})
	}
}

func checkZero(t *testing.T, res *resource.Resource) {
	t.Helper()
	if zero := res.Strategy.Zero(); zero["apiVersion"] != res.APIVersion() || zero["kind"] != res.Kind {
		t.Errorf("the zero object is %v", zero)
	}
}

// checkPrinter checks that tables have a name, in the first column unless they are of events, and that an empty object has a cell in each
// column. Kubernetes marks no column of StorageVersionMigrations as the name, and gives an IPAddress a cell for its age without a column.
func checkPrinter(t *testing.T, res *resource.Resource) {
	t.Helper()
	columns := res.Printer.Columns()
	first := columns[0].Format == "name" || res.Kind == "StorageVersionMigration" && columns[0].Name == "Name"
	if !first && (res.Kind != "Event" || !slices.ContainsFunc(columns, func(c resource.Column) bool { return c.Format == "name" })) {
		t.Errorf("the columns are %v, want the name", columns)
	}
	for _, c := range columns {
		if c.Name == "" || c.Type == "" {
			t.Errorf("column %+v lacks its name or type", c)
		}
	}
	want := len(columns)
	if res.Kind == "IPAddress" {
		want++
	}
	if cells, err := res.Printer.Cells([]byte(`{}`)); err != nil || len(cells) != want {
		t.Errorf("an empty object has the cells %v, want %d: %v", cells, want, err)
	}
}
