package gateway

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"revtail/gateway/watchcache"
)

// respondObject writes an object in the form that the client asks for.
func (h *apiHandler) respondObject(w http.ResponseWriter, r *http.Request, t target, f form, code int, document []byte) {
	document, err := toView(t.Ref, document)
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	send(newPayload(w, r, code, h.responder.compressors), f.format(r), f.view(t.ViewKind()).object(document))
}

// setAge says when etcd was last known to have the state that is answered from memory (RFC 9111, section 5.1). The age grows
// while etcd cannot be reached.
func setAge(w http.ResponseWriter, t target) {
	w.Header().Set("Age", strconv.Itoa(int(t.cache.Age().Seconds())))
}

// warnInvalid names the values that the answer leaves out because they cannot be decoded.
func (h *apiHandler) warnInvalid(w http.ResponseWriter, t target, objects []*watchcache.Object, count int) {
	for _, o := range objects {
		key := t.Resource.Prefix(h.store.prefix) + strings.TrimPrefix(o.Path(), "\x00") // which may be longer than a header
		warn(w, fmt.Sprintf("the value of the key %.256q is not shown: %v", key, o.Invalid))
	}
	if more := count - len(objects); more > 0 {
		warn(w, strconv.Itoa(more)+" more values are not shown because they cannot be decoded")
	}
}
