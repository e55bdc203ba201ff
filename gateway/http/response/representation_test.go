package response

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"revtail/gateway/http/status"
)

const (
	mediaTable        = "application/json;as=Table;v=v1;g=meta.k8s.io"
	mediaTableBeta    = "application/json;as=Table;v=v1beta1;g=meta.k8s.io"
	mediaMetadata     = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	mediaMetadataList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
)

// TestFirstAcceptableRange checks that media ranges are tried by quality, those of equal quality in their order.
func TestFirstAcceptableRange(t *testing.T) {
	for _, test := range []struct {
		accept string
		about  Kind
		want   string // the form, or 406
	}{
		{"", Object, "json"},
		{"*/*", List, "json"},
		{"application/*", Watch, "json"},
		{"application/json;foo=bar;profile=x", Object, "json"},
		{"application/cbor,application/json", List, "json"},
		{"application/vnd.kubernetes.protobuf, */*", Watch, "json"},
		{"text/html,*/*;q=0.1", Object, "json"},
		{"application/json;q=0.5,application/yaml", Object, "yaml"},
		{"application/yaml;q=0.5,application/json;q=0.5", Object, "yaml"},
		{"application/yaml;q=0,application/json", Object, "json"},
		{"application/yaml", List, "yaml"},
		{"application/yaml", Watch, "406"},
		{"application/yaml;stream=watch", Object, "406"},
		{"application/yaml,application/json", Watch, "json"},
		{"application/json;stream=watch", Watch, "json"},
		{"application/json;stream=watch", List, "json"},
		{"application/json;stream=bogus", Watch, "406"},
		{"application/vnd.kubernetes.protobuf", Object, "406"},
		{"text/html", List, "406"},
		{"application/json;q=0", List, "406"},
		{mediaTable, Object, "json Table meta.k8s.io/v1"},
		{mediaTable + ",application/json", List, "json Table meta.k8s.io/v1"},
		{mediaTableBeta, Watch, "json Table meta.k8s.io/v1beta1"},
		{"application/yaml;as=Table;v=v1;g=meta.k8s.io", List, "yaml Table meta.k8s.io/v1"},
		{"application/json;as=Table;v=v2;g=meta.k8s.io", List, "406"},
		{"application/json;as=Table;v=v2;g=meta.k8s.io,application/json", List, "json"},
		{"application/json;as=Table;v=v1", List, "406"},
		{"application/json;as=Table", List, "406"},
		{"application/json;v=v1;g=meta.k8s.io", List, "406"},
		{"application/json;as=Bogus;v=v1;g=meta.k8s.io", List, "406"},
		{mediaMetadata, Object, "json PartialObjectMetadata meta.k8s.io/v1"},
		{mediaMetadata, Watch, "json PartialObjectMetadata meta.k8s.io/v1"},
		{mediaMetadata, List, "406"},
		{mediaMetadata + "," + mediaMetadataList, List, "json PartialObjectMetadataList meta.k8s.io/v1"},
		{mediaMetadataList, Object, "406"},
		{mediaTable, Review, "406"},
		{mediaTable + ",application/yaml", Review, "yaml"},
		{mediaMetadata, Review, "json PartialObjectMetadata meta.k8s.io/v1"},
		{mediaMetadataList, Review, "406"},
		{mediaMetadataList + ",application/json", Watch, "json"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", test.accept)
		if got := describe(Negotiate(r, test.about)); got != test.want {
			t.Errorf("%q about %d: %s, want %s", test.accept, test.about, got, test.want)
		}
	}
}

func describe(f Representation, err error) string {
	if err != nil {
		if code := status.Of(err).Code; code != http.StatusNotAcceptable {
			return "wrong code"
		}
		return "406"
	}
	media := "json"
	if f.yaml {
		media = "yaml"
	}
	return strings.TrimSpace(media + " " + f.As + " " + f.apiVersion)
}

// TestRefusalsSayWhy checks that a 406 names the accepted types, or the parameters that exclude each other.
func TestRefusalsSayWhy(t *testing.T) {
	for _, test := range []struct {
		accept string
		about  Kind
		want   string
	}{
		{"text/html", Object, "only the following media types are accepted: application/json, application/yaml"},
		{"application/yaml", Watch, "only the following media types are accepted: application/json"},
		{mediaMetadata, List, "you requested PartialObjectMetadata, but the requested object is a list"},
		{mediaMetadataList, Object, "you requested PartialObjectMetadataList, but the requested object is not a list"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", test.accept)
		_, err := Negotiate(r, test.about)
		if err == nil || err.Error() != test.want {
			t.Errorf("%q: %v, want %s", test.accept, err, test.want)
		}
	}
}
