package object

import (
	"net/http"
	"testing"

	"revtail/encoding/protobuf"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// TestAcceptedMediaTypes checks that only kinds with a protobuf type accept protobuf, and that the refusal names the accepted types.
func TestAcceptedMediaTypes(t *testing.T) {
	builtin, custom := resource.Builtin()[0], &resource.Resource{Group: "example.com", Version: "v1", Plural: "widgets", Kind: "Widget"}
	for _, tt := range []struct {
		resource          *resource.Resource
		contentType, want string
	}{
		{custom, protobuf.MediaType, "application/json, application/yaml"},
		{custom, "text/plain", "application/json, application/yaml"},
		{builtin, "text/plain", "application/json, application/yaml, application/vnd.kubernetes.protobuf"},
	} {
		_, err := DecodeBody(tt.resource, tt.contentType, []byte(`{}`))
		st := status.Of(err)
		want := "the body of the request was in an unknown format - accepted media types include: " + tt.want
		if st.Code != http.StatusUnsupportedMediaType || st.Message != want {
			t.Errorf("%s, %s: %v", tt.resource.Kind, tt.contentType, st)
		}
	}
}
