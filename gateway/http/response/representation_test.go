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
		if got := describe(Negotiate(r, test.about, NoProtobuf)); got != test.want {
			t.Errorf("%q about %d: %s, want %s", test.accept, test.about, got, test.want)
		}
	}
}

// TestProtobufRanges checks what a media range for protobuf gets: objects of kinds that have the form, and the metadata of all.
func TestProtobufRanges(t *testing.T) {
	const media = "application/vnd.kubernetes.protobuf"
	for _, test := range []struct {
		accept string
		about  Kind
		offer  Protobuf
		want   string // the form, or 406
	}{
		{media, Object, ObjectProtobuf, "protobuf"},
		{media, Object, MetadataProtobuf, "406"},
		{media, Object, NoProtobuf, "406"},
		{media + ";stream=watch", Watch, ObjectProtobuf, "protobuf"},
		{media + ";stream=watch", List, ObjectProtobuf, "protobuf"},
		{media + ";stream=bogus", Watch, ObjectProtobuf, "406"},
		{media + ",application/json", Watch, ObjectProtobuf, "protobuf"},
		{media + ",application/json", Watch, MetadataProtobuf, "json"},
		{media + ";q=0.5,application/json", List, ObjectProtobuf, "json"},
		{media + ";q=0.5,application/yaml;q=0.4", List, ObjectProtobuf, "protobuf"},
		{media + ";q=0,*/*", List, ObjectProtobuf, "json"},
		{"application/*", List, ObjectProtobuf, "json"},
		{"*/*", Watch, ObjectProtobuf, "json"},
		{media + ";as=Table;v=v1;g=meta.k8s.io", List, ObjectProtobuf, "406"},
		{media + ";as=Table;v=v1;g=meta.k8s.io," + media, List, ObjectProtobuf, "protobuf"},
		{media + ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io", Object, MetadataProtobuf, "protobuf PartialObjectMetadata meta.k8s.io/v1"},
		{media + ";as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io", Watch, ObjectProtobuf, "protobuf PartialObjectMetadata meta.k8s.io/v1beta1"},
		{media + ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", List, MetadataProtobuf, "protobuf PartialObjectMetadataList meta.k8s.io/v1"},
		{media + ";as=PartialObjectMetadataList;v=v2;g=meta.k8s.io", List, MetadataProtobuf, "406"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", test.accept)
		if got := describe(Negotiate(r, test.about, test.offer)); got != test.want {
			t.Errorf("%q about %d, offered %d: %s, want %s", test.accept, test.about, test.offer, got, test.want)
		}
	}
}

// TestStatusInProtobuf checks which clients get errors in protobuf: those that prefer it for objects as they are.
func TestStatusInProtobuf(t *testing.T) {
	const media, metadata = "application/vnd.kubernetes.protobuf", ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	for accept, want := range map[string]bool{
		"": false, "*/*": false, media: true, media + ",application/json": true, "application/json," + media: false, media + ";q=0.1,*/*": false,
		media + metadata: false, media + metadata + ",application/json": false, mediaTable + "," + media: true, media + ";stream=watch": true,
		"text/html": false, "application/yaml," + media: false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", accept)
		if got := prefersProtobuf(r); got != want {
			t.Errorf("%q: %t, want %t", accept, got, want)
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
	switch {
	case f.yaml:
		media = "yaml"
	case f.Protobuf:
		media = "protobuf"
	}
	return strings.TrimSpace(media + " " + f.As + " " + f.apiVersion)
}

// TestRefusalsSayWhy checks that a 406 names the accepted types, or the parameters that exclude each other.
func TestRefusalsSayWhy(t *testing.T) {
	for _, test := range []struct {
		accept string
		about  Kind
		offer  Protobuf
		want   string
	}{
		{"text/html", Object, NoProtobuf, "only the following media types are accepted: application/json, application/yaml"},
		{"text/html", List, MetadataProtobuf, "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"},
		{"application/yaml", Watch, NoProtobuf, "only the following media types are accepted: application/json"},
		{"application/yaml", Watch, ObjectProtobuf, "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"},
		{mediaMetadata, List, NoProtobuf, "you requested PartialObjectMetadata, but the requested object is a list"},
		{mediaMetadataList, Object, NoProtobuf, "you requested PartialObjectMetadataList, but the requested object is not a list"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", test.accept)
		_, err := Negotiate(r, test.about, test.offer)
		if err == nil || err.Error() != test.want {
			t.Errorf("%q: %v, want %s", test.accept, err, test.want)
		}
	}
}
