package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const (
	mediaTable        = "application/json;as=Table;v=v1;g=meta.k8s.io"
	mediaTableBeta    = "application/json;as=Table;v=v1beta1;g=meta.k8s.io"
	mediaMetadata     = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	mediaMetadataList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
)

// TestFirstAcceptableClauseWins: clauses are tried by quality, those of equal quality as they stand.
func TestFirstAcceptableClauseWins(t *testing.T) {
	for _, test := range []struct {
		accept string
		about  subject
		want   string // the form, or 406
	}{
		{"", anObject, "json"},
		{"*/*", aList, "json"},
		{"application/*", aWatch, "json"},
		{"application/json;foo=bar;profile=x", anObject, "json"},
		{"application/cbor,application/json", aList, "json"},
		{"application/vnd.kubernetes.protobuf, */*", aWatch, "json"},
		{"text/html,*/*;q=0.1", anObject, "json"},
		{"application/json;q=0.5,application/yaml", anObject, "yaml"},
		{"application/yaml;q=0.5,application/json;q=0.5", anObject, "yaml"},
		{"application/yaml;q=0,application/json", anObject, "json"},
		{"application/yaml", aList, "yaml"},
		{"application/yaml", aWatch, "406"},
		{"application/yaml;stream=watch", anObject, "406"},
		{"application/yaml,application/json", aWatch, "json"},
		{"application/json;stream=watch", aWatch, "json"},
		{"application/json;stream=watch", aList, "json"},
		{"application/json;stream=bogus", aWatch, "406"},
		{"application/vnd.kubernetes.protobuf", anObject, "406"},
		{"text/html", aList, "406"},
		{"application/json;q=0", aList, "406"},
		{mediaTable, anObject, "json Table meta.k8s.io/v1"},
		{mediaTable + ",application/json", aList, "json Table meta.k8s.io/v1"},
		{mediaTableBeta, aWatch, "json Table meta.k8s.io/v1beta1"},
		{"application/yaml;as=Table;v=v1;g=meta.k8s.io", aList, "yaml Table meta.k8s.io/v1"},
		{"application/json;as=Table;v=v2;g=meta.k8s.io", aList, "406"},
		{"application/json;as=Table;v=v2;g=meta.k8s.io,application/json", aList, "json"},
		{"application/json;as=Table;v=v1", aList, "406"},
		{"application/json;as=Table", aList, "406"},
		{"application/json;v=v1;g=meta.k8s.io", aList, "406"},
		{"application/json;as=Bogus;v=v1;g=meta.k8s.io", aList, "406"},
		{mediaMetadata, anObject, "json PartialObjectMetadata meta.k8s.io/v1"},
		{mediaMetadata, aWatch, "json PartialObjectMetadata meta.k8s.io/v1"},
		{mediaMetadata, aList, "406"},
		{mediaMetadata + "," + mediaMetadataList, aList, "json PartialObjectMetadataList meta.k8s.io/v1"},
		{mediaMetadataList, anObject, "406"},
		{mediaMetadataList + ",application/json", aWatch, "json"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", test.accept)
		if got := describe(negotiateForm(r, test.about)); got != test.want {
			t.Errorf("%q about %d: %s, want %s", test.accept, test.about, got, test.want)
		}
	}
}

func describe(f form, err error) string {
	if err != nil {
		if code := toStatus(err).Code; code != http.StatusNotAcceptable {
			return "wrong code"
		}
		return "406"
	}
	media := "json"
	if f.yaml {
		media = "yaml"
	}
	return strings.TrimSpace(media + " " + f.as + " " + f.apiVersion)
}

// TestRefusalsSayWhy: a 406 names what is accepted, or what does not go together.
func TestRefusalsSayWhy(t *testing.T) {
	for _, test := range []struct {
		accept string
		about  subject
		want   string
	}{
		{"text/html", anObject, "only the following media types are accepted: application/json, application/yaml"},
		{"application/yaml", aWatch, "only the following media types are accepted: application/json"},
		{mediaMetadata, aList, "you requested PartialObjectMetadata, but the requested object is a list"},
		{mediaMetadataList, anObject, "you requested PartialObjectMetadataList, but the requested object is not a list"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", test.accept)
		_, err := negotiateForm(r, test.about)
		if err == nil || err.Error() != test.want {
			t.Errorf("%q: %v, want %s", test.accept, err, test.want)
		}
	}
}
