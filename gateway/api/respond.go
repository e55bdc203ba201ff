package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"revtail/gateway/api/catalog"
	"revtail/gateway/api/object"
	"revtail/gateway/http/response"
	"revtail/gateway/watchcache"
)

// respondObject writes an object in the representation that the client asks for.
func (h *Handler) respondObject(w http.ResponseWriter, r *http.Request, t catalog.Target, f response.Representation, code int, document []byte) error {
	document, err := object.ToView(t.Ref, document)
	if err != nil {
		return err
	}
	response.WriteDocument(response.NewBody(w, r, code, h.Responder.Compressors), f.Format(r), f.View(t.ViewKind()).Object(document))
	return nil
}

// setAge sets the Age header (RFC 9111, section 5.1) to the time since etcd confirmed the state of the cache. The age grows while etcd
// cannot be reached.
func setAge(w http.ResponseWriter, t catalog.Target) {
	w.Header().Set("Age", strconv.Itoa(int(t.Cache.Age().Seconds())))
}

// warnInvalid warns of the values that the response leaves out because they cannot be decoded.
func (h *Handler) warnInvalid(w http.ResponseWriter, t catalog.Target, objects []*watchcache.Object, count int) {
	for _, o := range objects {
		key := t.Resource.Prefix(h.Store.Prefix) + strings.TrimPrefix(o.Path(), "\x00") // which may be longer than a header
		response.Warn(w, fmt.Sprintf("the value of the key %.256q is not shown: %v", key, o.Invalid))
	}
	if more := count - len(objects); more > 0 {
		response.Warn(w, strconv.Itoa(more)+" more values are not shown because they cannot be decoded")
	}
}
