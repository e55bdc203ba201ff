package gateway

import (
	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/watchcache"
)

// kubernetesFrames are the JSON lines of Kubernetes.
type kubernetesFrames struct{ view view }

func (kubernetesFrames) contentType() string { return jsonType }

func (kubernetesFrames) opening() []byte { return nil }

func (f kubernetesFrames) event(dst []byte, c watchcache.Change, _ bool) []byte {
	return encoding.AppendEvent(dst, c.Type, f.view.object(c.Object.JSON))
}

func (f kubernetesFrames) mark(dst []byte, through etcdstore.Revision, end bool) []byte {
	return encoding.AppendEvent(dst, encoding.Bookmark, f.view.bookmark(through, end))
}

func (kubernetesFrames) failure(dst []byte, err error) []byte {
	return encoding.AppendError(dst, toStatus(err))
}

func (f kubernetesFrames) shared() bool {
	switch f.view.(type) {
	case plainView, projectedView:
		return true
	}
	return false
}
