package openapi

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/http/response"
	"revtail/gateway/resource"
)

// defined returns a resource that is equal to the others, but not identical.
func defined(group string) *resource.Resource {
	return &resource.Resource{Group: group, Version: "v1", Plural: "widgets", Kind: "Widget", GoType: metav1.Status{}}
}

// A cluster may have hundreds of definitions: a change of one of them must not render the documents of the others.
func TestOpenAPIKeepsDocuments(t *testing.T) {
	describe := func(held Documents, resources ...*resource.Resource) Documents {
		return New(resource.Groups(resources), "v1", held.Documents)
	}
	document := func(o Documents, group string) *byte { return &o.Documents["apis/"+group+"/v1"].Render().Body[0] }
	same := defined("same.example.com")
	first := describe(Documents{}, same, defined("example.com"))
	second := describe(first, same, defined("example.com"))
	if document(first, "same.example.com") != document(second, "same.example.com") {
		t.Error("the document of unchanged resources was rendered again")
	}
	if document(first, "example.com") == document(second, "example.com") {
		t.Error("the document of a changed resource is not rendered again")
	}
	if got := describe(second, same).Documents["apis/example.com/v1"]; got.Render != nil {
		t.Error("the document of a removed resource still exists")
	}
	if first.Index().ETag == describe(second, same).Index().ETag {
		t.Error("the ETag of the index does not change when a resource is removed")
	}
}

func TestOpenAPIOfNothing(t *testing.T) {
	if got := string(New(nil, "v1", nil).Index().Body); strings.Contains(got, "null") {
		t.Error(got)
	}
}

// TestOpenAPIV2IsRenderedOnce checks that all clients get the same rendered document.
func TestOpenAPIV2IsRenderedOnce(t *testing.T) {
	forms := newV2(resource.Groups([]*resource.Resource{defined("example.com")}), "v1")
	for name, form := range map[string]func() response.Document{"JSON": forms.JSON, "protobuf": forms.Protobuf} {
		if first, second := form(), form(); &first.Body[0] != &second.Body[0] {
			t.Errorf("%s is rendered for each request", name)
		}
	}
}
