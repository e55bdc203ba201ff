package forms

import (
	"time"

	"revtail/gateway/http/response"
	"revtail/gateway/http/table"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// rows is the form of the objects in a Table.
type rows struct {
	resource *resource.Resource
	shown    response.TableForm
}

// Items returns the function that makes the JSON items of a list of a resource: view's, which is that of the representation.
func (s *Store) Items(res *resource.Resource, f response.Representation, view response.View) func(*watchcache.Object) []byte {
	shown, ok := f.TableForm()
	if !ok {
		return func(o *watchcache.Object) []byte { return view.Item(o.JSON) }
	}
	kept := s.Of(rows{res, shown})
	return func(o *watchcache.Object) []byte {
		row, _ := kept.Get(o, func() (Form, error) { // no error
			now := time.Now()
			return Form{Text: view.Item(o.JSON), Until: table.Until(o.JSON, now)}, nil
		})
		return row
	}
}
