// Package historyapi reads the changes of objects that a gateway with --history-dir has recorded.
package historyapi
