package catalog

import (
	"bytes"
	"context"
	"encoding/json"

	"revtail/encoding"
	"revtail/encoding/jsontext"
	"revtail/gateway/api/customresource"
	"revtail/gateway/api/object"
)

// writeStatus stores the status that a definition should have, if it has another one. All replicas would store the same.
func (d *definitions) writeStatus(ctx context.Context, definition *customresource.Definition, conflict customresource.Conflict) error {
	want, err := json.Marshal(definition.Status(conflict))
	if err != nil {
		return err
	}
	if have, err := json.Marshal(definition.V1.Status); err == nil && bytes.Equal(have, want) {
		return nil
	}
	return d.rewrite(ctx, definition, func(stored object.Object) (mutation, error) {
		if stored.GetGeneration() != definition.V1.Generation {
			return unchanged, nil // the watch brings the newer definition
		}
		stored.Object["status"], err = jsontext.Unmarshal(want)
		return changed, err
	})
}

// mutation is the result of a function that may change a stored definition.
type mutation int

const (
	unchanged mutation = iota
	changed
	removed
)

// rewrite changes a definition in etcd. It does not change another definition of the same name, which has another uid. After a
// concurrent write the error is ErrConflict, and the watch brings the newer definition.
func (d *definitions) rewrite(ctx context.Context, definition *customresource.Definition, change func(stored object.Object) (mutation, error)) error {
	store, key := d.catalog.Own, d.catalog.definitionKey(definition.V1.Name)
	kv, _, err := store.Get(ctx, key)
	if err != nil {
		return err
	}
	decoded, err := jsontext.Unmarshal(kv.Value)
	if err != nil {
		return err
	}
	stored := object.New(decoded)
	if stored.GetUID() != definition.V1.UID {
		return nil
	}
	mutation, err := change(stored)
	if err != nil || mutation == unchanged {
		return err
	}
	if mutation == removed {
		_, err = store.Delete(ctx, key, kv.Modified)
		return err
	}
	value, err := encoding.Marshal(stored.Object)
	if err != nil || bytes.Equal(value, kv.Value) {
		return err
	}
	_, err = store.Update(ctx, key, value, kv.Modified)
	return err
}
