package resource

// Conversion converts the objects of a resource between its version and those in which they are stored. Its methods may take as long as a webhook,
// and may be called by any goroutine.
type Conversion interface {
	// FromStored returns stored values as objects of the version of the resource, with the defaults of the version in which they are stored, and
	// for each one an error if it cannot be converted. It does not change the values.
	FromStored(values [][]byte) (converted [][]byte, errs []error)
	// ToStored returns an object of the version as it is stored.
	ToStored(object map[string]any) (map[string]any, error)
}

// ConversionError says, in the words of kube-apiserver, why an object cannot be converted.
type ConversionError struct{ Err error }

func (e *ConversionError) Error() string { return e.Err.Error() }

func (e *ConversionError) Unwrap() error { return e.Err }
