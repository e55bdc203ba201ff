package client

import (
	"context"
	"fmt"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Objects returns the objects of a query in the order of the gateway, and holds one page of them at a time. All pages are as of one revision. An
// error ends the sequence; that of a continue token which has expired has the code 410.
func (c *Client) Objects(ctx context.Context, q Query) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for next := ""; ; {
			var page metav1.List
			if err := c.get(ctx, q.path(), q.pageValues(next), q.accept(), &page); err != nil {
				yield(Object{}, err)
				return
			}
			for _, item := range page.Items {
				o, err := newObject(withType(item.Raw, q.Resource))
				if err != nil {
					err = fmt.Errorf("%s: %w", q.path(), err)
				}
				if !yield(o, err) || err != nil {
					return
				}
			}
			if next = page.Continue; next == "" {
				return
			}
		}
	}
}
