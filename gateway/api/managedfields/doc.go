// Package managedfields records in metadata.managedFields which manager has written which fields (server-side apply). The field
// managers of apimachinery define the result. Common updates take a faster way, which a fuzz test compares with them.
package managedfields
