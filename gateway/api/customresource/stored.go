package customresource

// stored converts objects between a version and the one in which they are stored. As in kube-apiserver, an object has the fields and the
// defaults of the stored version, less the fields that the other version lacks.
type stored struct {
	storage *schema // prunes and sets defaults only
	version *schema
}

// newStored returns the conversion of a version's objects; nil: they are stored in this version.
func newStored(d *Definition, version string, s *schema) (*stored, error) {
	storage := d.storageVersion()
	if storage == version {
		return nil, nil
	}
	props, err := propsOf(d, storage)
	if err != nil {
		return nil, err
	}
	structural, err := newStructural(props)
	return &stored{storage: &schema{structural: structural, preserve: s.preserve}, version: s}, err
}

// read changes a stored object to the version.
func (s *stored) read(object map[string]any) {
	plainNumbers(object)
	s.storage.prune(object)
	s.storage.setDefaults(object)
	s.version.prune(object)
}

// write changes an object of the version to the stored one.
func (s *stored) write(object map[string]any) { s.storage.prune(object) }
