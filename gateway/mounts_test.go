package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/api/mount"
)

const (
	settings = "/apis/app.example.com/v1/settings"
	teams    = "/apis/app.example.com/v1/namespaces/eu/teams"
)

// settingsMount is read only; teamsMount has namespaces and is writable.
func settingsMount() mount.Mount {
	return mount.Mount{Prefix: "/app/config/", Group: "app.example.com", Version: "v1", Kind: "Setting", Plural: "settings", Codec: "json"}
}

func teamsMount() mount.Mount {
	return mount.Mount{Prefix: "/app/teams/", Group: "app.example.com", Version: "v1", Kind: "Team", Plural: "teams", Codec: "yaml", Namespaced: true, Writable: true}
}

func newMountServer(t *testing.T, mounts ...mount.Mount) *testServer {
	t.Helper()
	store := memory.New()
	return serveMounts(t, store, store, mounts...)
}

// names returns the names in a list, with their namespaces.
func (s *testServer) names(path string) []string {
	s.t.Helper()
	names := []string{}
	for _, item := range s.must(http.StatusOK, http.MethodGet, path, "")["items"].([]any) {
		metadata := item.(map[string]any)["metadata"].(map[string]any)
		name := metadata["name"].(string)
		if namespace, ok := metadata["namespace"].(string); ok {
			name = namespace + "/" + name
		}
		names = append(names, name)
	}
	return names
}

func (s *testServer) stored(key, want string) {
	s.t.Helper()
	kv, _, err := s.store.Get(s.t.Context(), key)
	if err != nil || string(kv.Value) != want {
		s.t.Errorf("%s holds %q (%v), want %q", key, kv.Value, err, want)
	}
}

func TestMountShowsKeys(t *testing.T) {
	s := newMountServer(t, settingsMount())
	first := s.putKeys("/app/config/log-level", `"debug"`, "/app/config/db/host", `{"name":"x", "port":5432}`, "/app/config/DEBUG", "1", "/app/config/bad", "{", "/app/configs", "2",
		"/app/config/"+strings.Repeat("k", 300), "3")
	list := s.must(http.StatusOK, http.MethodGet, settings+"?resourceVersion=0", "")
	if list["kind"] != "SettingList" || list["apiVersion"] != "app.example.com/v1" {
		t.Errorf("the list is a %v of %v", list["kind"], list["apiVersion"])
	}
	if diff := cmp.Diff([]string{"bad", "db--host", strings.Repeat("k", 300), "log-level", "x---4445425547"}, s.names(settings)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	host := s.must(http.StatusOK, http.MethodGet, settings+"/db--host", "")
	uid := text(t, host, "metadata", "uid")
	want := map[string]any{
		"apiVersion": "app.example.com/v1", "kind": "Setting",
		"metadata": map[string]any{"name": "db--host", "uid": uid, "resourceVersion": fmt.Sprint(first), "annotations": map[string]any{"revtail/key": "/app/config/db/host"}},
		"value":    map[string]any{"name": "x", "port": float64(5432)},
	}
	if diff := cmp.Diff(want, host); diff != "" {
		t.Errorf("an object (-want +got):\n%s", diff)
	}
	bad := s.must(http.StatusOK, http.MethodGet, settings+"/bad", "")
	if bad["bytes"] != "ew==" || !strings.Contains(fmt.Sprint(bad["undecodable"]), "the codec json") || bad["value"] != nil {
		t.Errorf("an undecodable value is shown as %v", bad)
	}
	if metrics := s.get("/metrics").body; !strings.Contains(metrics, `revtail_undecodable_values{resource="settings.app.example.com"} 1`) {
		t.Error("undecodable values are not counted")
	}
	for selector, want := range map[string]string{"value.port=5432": "[db--host]", "value=debug": "[log-level]", "metadata.name=bad": "[bad]", "metadata.name!=bad,value=1": "[x---4445425547]"} {
		if got := fmt.Sprint(s.names(settings + "?fieldSelector=" + selector)); got != want {
			t.Errorf("%s selects %s, want %s", selector, got, want)
		}
	}
	if a := s.get(settings + "?fieldSelector=spec.x=1"); a.code != http.StatusBadRequest {
		t.Errorf("a field that no object has: %d", a.code)
	}
	for _, name := range []string{"no", "a---41", "DEBUG", "..%2fregistry", "x---2e2e2f-a"} {
		if a := s.get(settings + "/" + name); a.code != http.StatusNotFound && a.code != http.StatusBadRequest {
			t.Errorf("%s: %d", name, a.code)
		}
	}
	s.putKeys("/app/config/db/host", "1")
	if again := s.must(http.StatusOK, http.MethodGet, settings+"/db--host", ""); text(t, again, "metadata", "uid") != uid {
		t.Error("the uid changes with the value")
	}
	s.store.Txn(nil, []string{"/app/config/db/host"})
	s.putKeys("/app/config/db/host", "1")
	if again := s.must(http.StatusOK, http.MethodGet, settings+"/db--host", ""); text(t, again, "metadata", "uid") == uid {
		t.Error("a key that was created again has the same uid")
	}
}

func TestMountPages(t *testing.T) {
	s := newMountServer(t, settingsMount())
	s.putKeys("/app/config/b", "1", "/app/config/A", "2", "/app/config/a/b", "3", "/app/config/", "4", "/app/config/a", "5")
	var names []string
	for token := ""; ; {
		page := s.must(http.StatusOK, http.MethodGet, settings+"?limit=2&continue="+token, "")
		for _, item := range page["items"].([]any) {
			names = append(names, text(t, item.(map[string]any), "metadata", "name"))
		}
		s.putKeys("/app/config/a0", "6") // not a part of the following pages
		if token, _ = page["metadata"].(map[string]any)["continue"].(string); token == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"a", "a--b", "b", "x---41", "x---empty"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestMountIsWatched(t *testing.T) {
	s := newMountServer(t, settingsMount())
	first := s.putKeys("/app/config/a", "1")
	l := s.follow(settings + "?watch=1&resourceVersion=" + fmt.Sprint(first))
	event := func(kind, value string, revision etcdstore.Revision) string {
		uid := text(t, s.must(http.StatusOK, http.MethodGet, settings+"/a?resourceVersion=0", ""), "metadata", "uid")
		return fmt.Sprintf(`{"type":%q,"object":{"kind":"Setting","apiVersion":"app.example.com/v1","metadata":{"resourceVersion":"%d","name":"a","uid":%q,`+
			`"annotations":{"revtail/key":"/app/config/a"}},%s}}`, kind, revision, uid, value)
	}
	second := event("MODIFIED", `"value":{"x":2}`, s.putKeys("/app/config/a", `{"x": 2}`))
	l.want(second)
	third := s.putKeys("/app/config/a", `]`)
	l.want(event("MODIFIED", `"undecodable":"not what the codec json reads: not JSON: invalid character ']' looking for beginning of value","bytes":"XQ=="`, third))
	fourth := s.putKeys("/app/config/a", `4`)
	l.want(event("MODIFIED", `"value":4`, fourth))
	deleted := event("DELETED", `"value":4`, fourth+1)
	s.store.Txn(nil, []string{"/app/config/a"})
	l.want(deleted)
	// A resumed watch gets the same events.
	l = s.follow(settings + "?watch=1&fieldSelector=metadata.name=a&resourceVersion=" + fmt.Sprint(first))
	l.want(second)
}

func TestMountIsReadOnly(t *testing.T) {
	s := newMountServer(t, settingsMount())
	s.putKeys("/app/config/a", "1")
	body := `{"apiVersion":"app.example.com/v1","kind":"Setting","metadata":{"name":"a"},"value":2}`
	for _, request := range [][2]string{{"POST", settings}, {"DELETE", settings}, {"PUT", settings + "/a"}, {"PATCH", settings + "/a"}, {"DELETE", settings + "/a"}} {
		a := s.do(request[0], request[1], body, "Content-Type", "application/json")
		if a.code != http.StatusMethodNotAllowed || !strings.Contains(a.body, "writable: true") {
			t.Errorf("%s %s: %d %s", request[0], request[1], a.code, a.body)
		}
	}
	s.stored("/app/config/a", "1")
	if a := s.get("/apis/app.example.com/v1"); !strings.Contains(a.body, `"verbs":["get","list","watch"]`) {
		t.Errorf("discovery: %s", a.body)
	}
	if a := s.get("/openapi/v3/apis/app.example.com/v1"); a.code != http.StatusOK || strings.Contains(a.body, `"put"`) || !strings.Contains(a.body, `com.example.app.v1.Setting`) {
		t.Errorf("OpenAPI: %d %s", a.code, a.body)
	}
	if a := s.get("/openapi/v2"); a.code != http.StatusOK || !strings.Contains(a.body, `com.example.app.v1.Setting`) {
		t.Errorf("OpenAPI v2: %d", a.code)
	}
}

func TestMountIsWritten(t *testing.T) {
	s := newMountServer(t, teamsMount())
	team := func(name, rest string) string {
		return `{"apiVersion":"app.example.com/v1","kind":"Team","metadata":{"name":"` + name + `"` + rest + `}`
	}
	dry := s.must(http.StatusCreated, http.MethodPost, teams+"?dryRun=All", team("core--ann", `},"value":1`))
	if text(t, dry, "metadata", "name") != "core--ann" {
		t.Errorf("a dry run: %v", dry)
	}
	made := s.must(http.StatusCreated, http.MethodPost, teams, team("core--ann", `},"value":{"lead":"yes","size":2}`))
	s.stored("/app/teams/eu/core/ann", "lead: \"yes\"\nsize: 2\n")
	if read := s.must(http.StatusOK, http.MethodGet, teams+"/core--ann", ""); cmp.Diff(made, read) != "" {
		t.Errorf("the response of a create differs from the object that is read:\n%s", cmp.Diff(made, read))
	}
	s.must(http.StatusConflict, http.MethodPost, teams, team("core--ann", `},"value":1`))
	revision := text(t, made, "metadata", "resourceVersion")

	same := s.must(http.StatusOK, http.MethodPut, teams+"/core--ann", team("core--ann", `,"resourceVersion":"`+revision+`"},"value":{"size":2,"lead":"yes"}`))
	if text(t, same, "metadata", "resourceVersion") != revision {
		t.Error("an unchanged value is written")
	}
	next := s.must(http.StatusOK, http.MethodPut, teams+"/core--ann", team("core--ann", `,"resourceVersion":"`+revision+`"},"value":[1]`))
	s.stored("/app/teams/eu/core/ann", "- 1\n")
	if read := s.must(http.StatusOK, http.MethodGet, teams+"/core--ann", ""); cmp.Diff(next, read) != "" || text(t, read, "metadata", "uid") != text(t, made, "metadata", "uid") {
		t.Errorf("the response of an update differs from the object that is read:\n%s", cmp.Diff(next, read))
	}
	s.must(http.StatusConflict, http.MethodPut, teams+"/core--ann", team("core--ann", `,"resourceVersion":"`+revision+`"},"value":2`))
	s.must(http.StatusUnprocessableEntity, http.MethodPut, teams+"/core--ann", team("core--ann", `},"value":2`))
	s.must(http.StatusOK, http.MethodPatch, teams+"/core--ann", `{"value":{"a":1}}`, "Content-Type", "application/merge-patch+json")
	s.must(http.StatusOK, http.MethodPatch, teams+"/core--ann", `[{"op":"add","path":"/value/b","value":null}]`, "Content-Type", "application/json-patch+json")
	s.stored("/app/teams/eu/core/ann", "a: 1\nb: null\n")

	for what, body := range map[string]string{
		"labels":      team("x", `,"labels":{"a":"b"}},"value":1`),
		"annotations": team("x", `,"annotations":{"a":"b"}},"value":1`),
		"another key": team("x", `,"annotations":{"revtail/key":"/app/teams/eu/y"}},"value":1`),
		"finalizers":  team("x", `,"finalizers":["a.b/c"]},"value":1`),
		"owners":      team("x", `,"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1"}]},"value":1`),
		"no value":    team("x", `},"x":1`),
		"bytes":       team("x", `},"value":1,"bytes":"eA=="`),
		"a name":      team("Upper", `},"value":1`),
	} {
		if a := s.do(http.MethodPost, teams, body); a.code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", what, a.code, a.body)
		}
	}
	// kubectl's own annotation is dropped, and an annotation that the object always has may be given.
	s.must(http.StatusCreated, http.MethodPost, teams, team("x", `,"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","revtail/key":"/app/teams/eu/x"}},"value":1`))
	s.must(http.StatusCreated, http.MethodPost, strings.Replace(teams, "/eu/", "/x---none/", 1), team("y", `},"value":1`))
	s.stored("/app/teams/y", "1\n")
	s.must(http.StatusUnprocessableEntity, http.MethodPost, strings.Replace(teams, "/eu/", "/a--b/", 1), team("y", `},"value":1`))

	// An undecodable value can be replaced, and deleted.
	s.putKeys("/app/teams/eu/x", "[")
	s.must(http.StatusOK, http.MethodPatch, teams+"/x", `{"value":"word"}`, "Content-Type", "application/merge-patch+json")
	s.stored("/app/teams/eu/x", "word\n")
	s.putKeys("/app/teams/eu/x", "[")
	s.must(http.StatusOK, http.MethodDelete, teams+"/x?propagationPolicy=Foreground", "")
	s.must(http.StatusOK, http.MethodDelete, teams, "")
	if left := fmt.Sprint(s.names("/apis/app.example.com/v1/teams")); left != "[x---none/y]" {
		t.Errorf("the deletion of one namespace leaves %s", left)
	}
}

func TestMountIsNotPartOfANamespace(t *testing.T) {
	s := newMountServer(t, teamsMount())
	s.putKeys("/app/teams/eu/a", "1")
	s.must(http.StatusCreated, http.MethodPost, "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"eu"}}`)
	s.must(http.StatusOK, http.MethodDelete, "/api/v1/namespaces/eu", "")
	if a := s.get("/api/v1/namespaces/eu"); a.code != http.StatusNotFound {
		t.Errorf("the namespace waits for keys of a mount: %d", a.code)
	}
	s.stored("/app/teams/eu/a", "1")
}

func TestMountTable(t *testing.T) {
	s := newMountServer(t, settingsMount())
	s.putKeys("/app/config/A", `{"a":"`+strings.Repeat("é", 100)+`"}`, "/app/config/b", "[", "/app/config/c", `"x\ny"`)
	table := s.must(http.StatusOK, http.MethodGet, settings, "", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	var cells []any
	for _, row := range table["rows"].([]any) {
		cells = append(cells, row.(map[string]any)["cells"].([]any)[:3])
	}
	want := []any{
		[]any{"b", "<undecodable>", "/app/config/b"}, []any{"c", "x y", "/app/config/c"},
		[]any{"x---41", `{"a":"` + strings.Repeat("é", 53) + "…", "/app/config/A"},
	}
	if diff := cmp.Diff(want, cells); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
}

func TestRemount(t *testing.T) {
	s := newMountServer(t, settingsMount())
	s.putKeys("/app/config/a", "1", "/app/teams/eu/a", "2", "/other/a", "3")
	remount := func(mounts ...mount.Mount) {
		t.Helper()
		if err := s.server.Remount(t.Context(), mounts); err != nil {
			t.Fatal(err)
		}
	}
	kept := s.follow(settings + "?watch=1&resourceVersion=2&allowWatchBookmarks=1")
	writable := settingsMount()
	writable.Writable = true
	remount(writable, teamsMount())
	s.must(http.StatusOK, http.MethodPatch, settings+"/a", `{"value":4}`, "Content-Type", "application/merge-patch+json")
	if line, err := kept.reader.ReadString('\n'); err != nil || !strings.Contains(line, `"value":4`) {
		t.Errorf("a watch of a mount that is writable now: %s, %v", line, err)
	}
	if got := fmt.Sprint(s.names("/apis/app.example.com/v1/teams")); got != "[eu/a]" {
		t.Errorf("a new mount: %s", got)
	}
	if a := s.get("/apis/app.example.com/v1"); !strings.Contains(a.body, `"teams"`) {
		t.Errorf("discovery: %s", a.body)
	}

	gone := s.follow("/apis/app.example.com/v1/teams?watch=1&resourceVersion=3")
	other := settingsMount()
	other.Codec = "string"
	remount(other)
	if line, err := kept.reader.ReadString('\n'); err != nil || !strings.Contains(line, `"code":410`) {
		t.Errorf("a watch of a mount with another codec now: %s, %v", line, err)
	}
	gone.ends()
	kept.ends()
	if a := s.get("/apis/app.example.com/v1/teams"); a.code != http.StatusNotFound {
		t.Errorf("a removed mount: %d", a.code)
	}
	if a := s.must(http.StatusOK, http.MethodGet, settings+"/a", ""); a["value"] != "4" {
		t.Errorf("with another codec: %v", a)
	}
	s.must(http.StatusMethodNotAllowed, http.MethodDelete, settings+"/a", "")

	overlapping := teamsMount()
	overlapping.Prefix = "/app/"
	for _, bad := range [][]mount.Mount{{{}}, {other, overlapping}} {
		if err := s.server.Remount(t.Context(), bad); err == nil {
			t.Errorf("%v is served", bad)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.server.Remount(ended, []mount.Mount{teamsMount()}); err == nil {
		t.Error("a change without a difference is made")
	}
	if a := s.must(http.StatusOK, http.MethodGet, settings+"/a", ""); a["value"] != "4" {
		t.Errorf("after refused changes: %v", a)
	}
}

// ends waits for the end of a stream.
func (l *lines) ends() {
	l.t.Helper()
	if line, err := l.reader.ReadString('\n'); err == nil {
		l.t.Errorf("the stream goes on with %q", line)
	}
}

func TestMountsAndDefinitions(t *testing.T) {
	s := newMountServer(t)
	s.define(widgetsDefinition)
	mounted := mount.Mount{Prefix: "/w/", Group: "example.com", Version: "v1", Kind: "Widget", Plural: "ws", Codec: "json"}
	err := s.server.Remount(t.Context(), []mount.Mount{mounted})
	if err == nil || !strings.Contains(err.Error(), `widgets.example.com has these names already: "widget" is already in use`) {
		t.Errorf("a defined kind: %v", err)
	}
	mounted.Kind = "W"
	mounted.Plural = "gadgets"
	if err := s.server.Remount(t.Context(), []mount.Mount{mounted}); err != nil {
		t.Fatal(err)
	}
	s.must(http.StatusOK, http.MethodGet, widgets, "")
	s.must(http.StatusOK, http.MethodGet, "/apis/example.com/v1/gadgets", "")
	gadgets := strings.NewReplacer("widget", "gadget", "Widget", "Gadget", "wd", "gd").Replace(widgetsDefinition)
	s.must(http.StatusCreated, http.MethodPost, crds, asJSON(t, gadgets))
	await(t, "its names to be refused", func() bool { return s.conditions("gadgets.example.com")["NamesAccepted"] == "False PluralConflict" })
	if err := s.server.CheckMounts(t.Context(), []mount.Mount{mounted}); err != nil {
		t.Errorf("a definition without names blocks a mount: %v", err)
	}
	if err := s.server.Remount(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s.established("gadgets.example.com") // the names are free now
}

// TestMountApply checks that an applied configuration replaces the value as a whole, and that a value of another manager is a conflict
// without force.
func TestMountApply(t *testing.T) {
	store := memory.New()
	s := serveMounts(t, store, store, mount.Mount{Prefix: "/app/", Group: "app.example.com", Version: "v1", Kind: "Setting", Plural: "settings", Codec: "json", Writable: true})
	const settings = "/apis/app.example.com/v1/settings"
	apply := func(code int, query, name, members string) map[string]any {
		t.Helper()
		return s.must(code, http.MethodPatch, settings+"/"+name+"?fieldManager=test"+query,
			"apiVersion: app.example.com/v1\nkind: Setting\nmetadata: {name: "+name+"}\n"+members, "Content-Type", "application/apply-patch+yaml")
	}
	made := apply(http.StatusCreated, "", "theme", "value: {colour: red, size: 1}")
	s.stored("/app/theme", `{"colour":"red","size":1}`)
	if same := apply(http.StatusOK, "", "theme", "value: {size: 1, colour: red}"); cmp.Diff(made, same) != "" {
		t.Errorf("applied again: %s", cmp.Diff(made, same))
	}
	refused := apply(http.StatusConflict, "", "theme", "value: {colour: blue}")
	if cause := fmt.Sprint(refused["details"]); !strings.Contains(cause, "FieldManagerConflict") || !strings.Contains(cause, ".value") {
		t.Errorf("the conflict is %v", refused)
	}
	apply(http.StatusOK, "&force=true&dryRun=All", "theme", "value: {colour: blue}")
	s.stored("/app/theme", `{"colour":"red","size":1}`)
	apply(http.StatusOK, "&force=true", "theme", "value: {colour: blue}")
	s.stored("/app/theme", `{"colour":"blue"}`)
	apply(http.StatusOK, "", "theme", "")
	s.stored("/app/theme", `{"colour":"blue"}`)

	s.putKeys("/app/broken", "[")
	apply(http.StatusOK, "", "broken", "")
	apply(http.StatusConflict, "", "broken", "value: 1")
	apply(http.StatusOK, "&force=true", "broken", "value: 1")
	s.stored("/app/broken", "1")
	apply(http.StatusUnprocessableEntity, "", "none", "")
	s.must(http.StatusUnprocessableEntity, http.MethodPatch, settings+"/theme?fieldManager=test&force=true",
		`{"apiVersion":"app.example.com/v1","kind":"Setting","metadata":{"name":"theme","labels":{"a":"b"}},"value":1}`, "Content-Type", "application/apply-patch+yaml")
}
