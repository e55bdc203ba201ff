package resource

// Printer makes the rows of the tables of a kind. It is safe for concurrent use.
type Printer interface {
	// Columns returns the columns of a table. The name is the first one, but for events.
	Columns() []Column
	// Cells returns the cells of the row of an object, one for each column: a string, an integer, a float64, a bool or nil. Strings share
	// the memory of its document. An error says that the object is none of the kind.
	Cells(document []byte) ([]any, error)
}
