package kinds_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"revtail/gateway/api/kinds"
	"revtail/gateway/resource"
)

// TestClusterDecoders decodes the objects that k8s.io/api keeps of each type, with all fields set, as kube-apiservers of this release and of
// earlier ones store them. Protobuf and JSON become the same object, which is that of Kubernetes' own scheme, and no field is lost.
func TestClusterDecoders(t *testing.T) {
	served := servedTypes(t)
	covered := make(map[*resource.Resource]int)
	others := make(map[string]bool)
	for _, file := range storedFiles(t) {
		object := readStored(t, file)
		resources := served[internalType(object.kind)]
		if len(resources) == 0 {
			others[object.name[strings.IndexByte(object.name, '/')+1:]] = true
		}
		for _, res := range resources {
			object.compare(t, res)
			covered[res]++
		}
	}
	for _, resources := range served {
		for _, res := range resources {
			// The types of APIServices are not in k8s.io/api.
			if covered[res] == 0 && res.Kind != "APIService" {
				t.Errorf("no file has a %s of %s", res.Kind, res.APIVersion())
			}
		}
	}
	t.Logf("%d kinds are decoded; not served: %s", len(covered), strings.Join(slices.Sorted(maps.Keys(others)), "; "))
}

// afterRoundtrip ends the names of files that have what the current release knows of the object in the file without it.
const afterRoundtrip = ".after_roundtrip"

// storedFiles returns the files of k8s.io/api, of this release and of earlier ones, without the ends of their names.
func storedFiles(t *testing.T) (files []string) {
	t.Helper()
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(folder)), "testdata", "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		if file = strings.TrimSuffix(file, ".json"); !strings.HasSuffix(file, afterRoundtrip) {
			files = append(files, file)
		}
	}
	const least = 800
	if len(files) < least {
		t.Fatalf("%d files, want at least %d", len(files), least)
	}
	return files
}

// storedObject is an object in both formats.
type storedObject struct {
	name           string // of the file
	kind           schema.GroupVersionKind
	json, protobuf []byte
	known          []byte // the fields that the current release knows
}

func readStored(t *testing.T, file string) (o storedObject) {
	t.Helper()
	o.name = filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))
	var err, failed error
	if o.json, err = os.ReadFile(file + ".json"); err == nil {
		o.protobuf, err = os.ReadFile(file + ".pb")
	}
	if o.known, failed = os.ReadFile(file + afterRoundtrip + ".json"); errors.Is(failed, os.ErrNotExist) {
		o.known, failed = o.json, nil
	}
	var of struct{ APIVersion, Kind string }
	if err = errors.Join(err, failed, json.Unmarshal(o.json, &of)); err != nil {
		t.Fatal(err)
	}
	o.kind = schema.FromAPIVersionAndKind(of.APIVersion, of.Kind)
	return o
}

// internalType returns the internal type to which Kubernetes converts objects of a type; nil: it has none.
func internalType(of schema.GroupVersionKind) reflect.Type {
	typed, err := legacyscheme.Scheme.New(of)
	if err != nil {
		return nil
	}
	internal, err := legacyscheme.Scheme.ConvertToVersion(typed, schema.GroupVersion{Group: of.Group, Version: runtime.APIVersionInternal})
	if err != nil {
		return nil
	}
	return reflect.TypeOf(internal)
}

// servedTypes returns the resources by the internal types of their objects.
func servedTypes(t *testing.T) map[reflect.Type][]*resource.Resource {
	t.Helper()
	out := make(map[reflect.Type][]*resource.Resource)
	for _, res := range kinds.InCluster() {
		of := internalType(servedType(res))
		if of == nil {
			t.Errorf("%s of %s has no internal type", res.Kind, res.APIVersion())
		}
		out[of] = append(out[of], res)
	}
	return out
}

func servedType(res *resource.Resource) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: res.Group, Version: res.Version, Kind: res.Kind}
}

// compare compares what a resource serves of the object in each format with what Kubernetes' scheme makes of it.
func (o *storedObject) compare(t *testing.T, res *resource.Resource) {
	t.Helper()
	want := decoded(t, string(converted(t, o.kind, servedType(res), o.json)))
	for format, value := range map[string][]byte{"JSON": o.json, "protobuf": o.protobuf} {
		answer, err := res.Decode(value)
		if err != nil {
			t.Errorf("%s in %s as %s: %v", o.name, format, res.APIVersion(), err)
			continue
		}
		got := decoded(t, string(answer))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s in %s as %s (-want +got):\n%s", o.name, format, res.APIVersion(), diff)
		}
		if o.kind == servedType(res) {
			for _, member := range missing("", decoded(t, string(o.known)), got) {
				t.Errorf("%s in %s lacks %s", o.name, format, member)
			}
		}
	}
	if _, err := res.Decode(o.protobuf[len("k8s\x00"):]); err == nil {
		t.Errorf("%s without an envelope is no error", o.name)
	}
}

// converted returns an object as Kubernetes' scheme converts it.
func converted(t *testing.T, from, to schema.GroupVersionKind, text []byte) []byte {
	t.Helper()
	typed, err := legacyscheme.Scheme.New(from)
	if err == nil {
		err = json.Unmarshal(text, typed)
	}
	if err != nil {
		t.Fatal(err)
	}
	legacyscheme.Scheme.Default(typed)
	internal, err := legacyscheme.Scheme.ConvertToVersion(typed, schema.GroupVersion{Group: from.Group, Version: runtime.APIVersionInternal})
	if err != nil {
		t.Fatal(err)
	}
	out, err := legacyscheme.Scheme.ConvertToVersion(internal, to.GroupVersion())
	if err != nil {
		t.Fatal(err)
	}
	out.GetObjectKind().SetGroupVersionKind(to)
	answer, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// replaced are the ends of the paths of values that another field of the object replaces in every kube-apiserver.
var replaced = []string{
	".spec.serviceAccount", // by serviceAccountName
	".spec.podCIDRs[0]",    // by podCIDR
	".status.podIPs[0].ip", // by podIP
	".stringData.stringDataKey",
}

// missing returns the paths of values that are not in another document, or have another value there.
func missing(path string, want, got any) (paths []string) {
	switch want := want.(type) {
	case map[string]any:
		other, _ := got.(map[string]any)
		for name, member := range want {
			paths = append(paths, missing(path+"."+name, member, other[name])...)
		}
		return paths
	case []any:
		other, _ := got.([]any)
		if len(other) != len(want) {
			return []string{path}
		}
		for i := range want {
			paths = append(paths, missing(fmt.Sprintf("%s[%d]", path, i), want[i], other[i])...)
		}
		return paths
	}
	if !cmp.Equal(want, got) && !slices.ContainsFunc(replaced, func(end string) bool { return strings.HasSuffix(path, end) }) {
		return []string{fmt.Sprintf("%s: %v", path, want)}
	}
	return nil
}
