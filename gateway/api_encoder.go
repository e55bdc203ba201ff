package gateway

import (
	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/watchcache"
)

// kubernetesEncoder are the JSON lines of Kubernetes.
type kubernetesEncoder struct{ view view }

func (kubernetesEncoder) contentType() string { return jsonType }

func (kubernetesEncoder) preamble() []byte { return nil }

func (f kubernetesEncoder) event(dst []byte, c watchcache.Change, _ bool) []byte {
	return encoding.AppendEvent(dst, c.Type, f.view.object(c.Object.JSON))
}

func (f kubernetesEncoder) bookmark(dst []byte, through etcdstore.Revision, end bool) []byte {
	return encoding.AppendEvent(dst, encoding.Bookmark, f.view.bookmark(through, end))
}

func (kubernetesEncoder) errorEvent(dst []byte, err error) []byte {
	return encoding.AppendError(dst, toStatus(err))
}

func (f kubernetesEncoder) shared() bool {
	switch f.view.(type) {
	case plainView, projectedView:
		return true
	}
	return false
}
