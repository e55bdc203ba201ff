package gateway

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"revtail/encoding/protobuf"
)

// TestListsInOtherFormsFollowTheState checks that a list in protobuf or as a Table shows every write before it, though the store keeps messages and
// rows, and that a list in one form never has the objects of another form.
func TestListsInOtherFormsFollowTheState(t *testing.T) {
	s := newTestServer(t)
	s.create("a")
	s.create("b")
	forms := map[string]string{
		"messages": configMaps, "metadata in messages": configMaps,
		"rows": configMaps, "rows with objects": configMaps + "?includeObject=Object", "rows alone": configMaps + "?includeObject=None",
	}
	accept := map[string]string{"messages": protobuf.MediaType, "metadata in messages": protobuf.MediaType + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
	list := func(form string) []byte {
		t.Helper()
		media := accept[form]
		if media == "" {
			media = tableV1
		}
		return []byte(s.get(forms[form], "Accept", media).body)
	}
	first := map[string][]byte{}
	for range 2 {
		for form := range forms {
			first[form] = list(form)
		}
	}
	s.must(http.StatusOK, "PUT", configMaps+"/a", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"step":"second"}},"data":{"more":"entries","than":"before"}}`)
	s.must(http.StatusOK, "DELETE", configMaps+"/b", "")
	for form, before := range first {
		now := list(form)
		if accept[form] != "" && !bytes.Equal(now, list(form)) { // rows have ages
			t.Errorf("%s: another list is different", form)
		}
		switch text := string(now); form {
		case "rows alone":
			if !strings.Contains(text, `"cells":["a",2,`) || strings.Contains(text, `"cells":["b"`) || !strings.Contains(text, `"object":null`) {
				t.Errorf("%s: %s", form, text)
			}
		default:
			if !strings.Contains(text, "second") || strings.Contains(string(before), "second") || strings.Contains(text, "entries") != (form == "messages" || form == "rows with objects") {
				t.Errorf("%s: %q", form, text)
			}
		}
	}
}
