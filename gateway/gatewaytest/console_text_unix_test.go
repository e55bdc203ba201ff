//go:build unix

package gatewaytest_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"revtail/gateway/gatewaytest"
)

// openModules opens the console and returns a function that evaluates JavaScript with its modules, as in "yaml.yaml(revtail.parse(given))".
func openModules(t *testing.T, modules ...string) func(expression string, given any) any {
	t.Helper()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 800, 600)
	var imports strings.Builder
	for _, name := range modules {
		fmt.Fprintf(&imports, "const %[1]s = await import('/ui/%[1]s.js'); ", name)
	}
	return func(expression string, given any) any {
		t.Helper()
		text, err := json.Marshal(given)
		if err != nil {
			t.Fatal(err)
		}
		return p.Eval(t, fmt.Sprintf("(async () => { const given = %s; %sreturn %s })()", text, imports.String(), expression))
	}
}

// randomText returns a text that YAML reads as something else without quotes, or random characters that matter to YAML.
func randomText(r *rand.Rand) string {
	known := []string{"", "yes", "No", "null", "~", "0x1f", "0o7", "1e3", "1_000", ".5", "-1", "+1", "2026-11-23", "12:30:45", "250m", "64Mi", "10.0.0.1", "1.2", ".inf", "-.INF", "NaN",
		"true", "on", "y", "=", "<<", "---", "...", "- a", "a: b", "a #b", "#a", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a", "{a", "[a", "'a'", "\"a\"", "a\\b", " a", "a ", "a\t", "\ta",
		"a\nb", "a\nb\n", "a\n\n", "\n", "\n\na", "  a\nb", "a\n  b\n\n c\n", "a\r\nb", "a\tb\n\tc\n", "\ta\nb", "a\n \n", "a \nb \n", "é", "\u00a0", "\u0085", "\u2028a\nb", "\ufeffa", "😀", "\u007f", "\x00", "\x1b[1m",
		"66571a62-c17d-4560-82c2-1572f77e3e41", "12345678-1234-1234-1234-123456789012", "0b1", "0b12", "0xyz", "1e", "25%", "1:2", "key:", "a:b", "http://a/b?c#d", strings.Repeat("long ", 300)}
	if r.IntN(2) == 0 {
		return known[r.IntN(len(known))]
	}
	letters := []rune("ab1 0:-#\n\t\"'{}[]|>&*!%@`\\,.é😀~=/")
	text := make([]rune, r.IntN(12))
	for i := range text {
		text[i] = letters[r.IntN(len(letters))]
	}
	return string(text)
}

func randomValue(r *rand.Rand, depth int) any {
	kinds := 7
	if depth == 0 {
		kinds = 5
	}
	switch r.IntN(kinds) {
	case 0:
		return []any{nil, true, false}[r.IntN(3)]
	case 1:
		return json.Number([]string{"0", "-1", "9007199254740993", "-9223372036854775808", "1.5", "1e21", "1e-7", "12345678901234567"}[r.IntN(8)])
	case 5:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	case 6:
		object := make(map[string]any)
		for range r.IntN(5) {
			object[randomText(r)] = randomValue(r, depth-1)
		}
		return object
	}
	return randomText(r)
}

// TestConsoleYAML checks that Go's YAML parser reads what the console writes as the JSON that it was written of, with every digit.
func TestConsoleYAML(t *testing.T) {
	t.Parallel()
	write := openModules(t, "yaml", "revtail")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // for a test
	texts := make([]string, 1500)
	for i := range texts {
		text, err := json.Marshal(randomValue(r, 4))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	written, _ := write("given.map((text) => yaml.yaml(revtail.parse(text)))", texts).([]any)
	if len(written) != len(texts) {
		t.Fatalf("%d documents of %d", len(written), len(texts))
	}
	for i, document := range written {
		back, err := yaml.YAMLToJSON([]byte(document.(string)))
		if err != nil {
			t.Fatalf("%v\n%s\nwas written of\n%s", err, document, texts[i])
		}
		if diff := cmp.Diff(decodeExactly(t, texts[i]), decodeExactly(t, string(back))); diff != "" {
			t.Fatalf("(-want +got):\n%s\n%s\nwas written of\n%s", diff, document, texts[i])
		}
	}
	want := "metadata:\n  name: web\n  labels:\n    \"on\": \"yes\"\nspec:\n  replicas: 9007199254740993\n  ports:\n  - port: 80\n  - port: 443\n  text: |\n    a\n    b\n"
	given := `{"metadata":{"name":"web","labels":{"on":"yes"}},"spec":{"replicas":9007199254740993,"ports":[{"port":80},{"port":443}],"text":"a\nb\n"}}`
	if diff := cmp.Diff(want, write("yaml.yaml(revtail.parse(given))", given)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// decodeExactly decodes JSON. An integer stays as its digits, any other number is a float.
func decodeExactly(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return exactly(value)
}

func exactly(value any) any {
	switch v := value.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			if f == float64(int64(f)) && f < 1e18 {
				return json.Number(fmt.Sprint(int64(f)))
			}
			return f
		}
		if f, err := v.Float64(); err == nil && len(v.String()) > 19 {
			return f
		}
	case []any:
		for i := range v {
			v[i] = exactly(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = exactly(v[name])
		}
	}
	return value
}

// TestConsoleDiff checks that the edits of two texts turn one into the other and are the fewest, that a merge has both changes, and that
// large texts take a bounded time.
func TestConsoleDiff(t *testing.T) {
	t.Parallel()
	eval := openModules(t, "diff", "merge")
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // for a test
	var pairs [][2][]string
	for range 2000 {
		a := randomLines(r, r.IntN(30))
		pairs = append(pairs, [2][]string{a, changedLines(r, a)})
	}
	results, _ := eval("given.map(([a, b]) => diff.edits(a, b).map((e) => [e.a, e.aEnd, e.b, e.bEnd]))", pairs).([]any)
	for i, result := range results {
		a, b := pairs[i][0], pairs[i][1]
		var out []string
		at, removed := 0, 0
		for _, each := range result.([]any) {
			var e [4]int
			for j, n := range each.([]any) {
				e[j] = int(n.(float64))
			}
			out = append(append(out, a[at:e[0]]...), b[e[2]:e[3]]...)
			removed += e[1] - e[0]
			at = e[1]
		}
		if out = append(out, a[at:]...); !slices.Equal(out, b) {
			t.Fatalf("the edits of\n%q\nlead to\n%q\nwant\n%q", a, out, b)
		}
		if kept := common(a, b); len(a)+len(b) <= 64 && len(a)-removed != kept {
			t.Fatalf("%q and %q: %d lines are kept, want %d", a, b, len(a)-removed, kept)
		}
	}
	if len(results) != len(pairs) {
		t.Fatalf("%d results of %d", len(results), len(pairs))
	}
	parts := eval(`merge.merge(['a', 'b', 'c', 'd', 'e'], ['a', 'B', 'c', 'd', 'E'], ['a', 'b', 'c', 'D', 'e!']).map((part) => part.kind + ':' + part.mine + '/' + part.theirs).join(' ')`, nil)
	if parts != "same:a/a mine:B/b same:c/c conflict:d,E/D,e!" {
		t.Errorf("a merge: %v", parts)
	}
	marks := eval("JSON.stringify(diff.words('image: nginx:1.25', 'image: nginx:1.26')[1].filter((part) => part.changed))", nil)
	if marks != `[{"text":"26","changed":true}]` {
		t.Errorf("the words that differ: %v", marks)
	}
	for name, lines := range map[string]string{"few different lines": "i % 7", "all lines differ": "i + Math.random()", "blocks": "(i * i) % 1009"} {
		took, _ := eval(fmt.Sprintf(`(() => { const a = Array.from({length: 50000}, (_, i) => String(%s)); const b = a.filter((_, i) => i %% 3).reverse(); const at = performance.now(); diff.edits(a, b); return performance.now() - at })()`, lines), nil).(float64)
		t.Logf("50,000 lines, %s: %.0f ms", name, took)
	}
}

func randomLines(r *rand.Rand, n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = string(rune('a' + r.IntN(8)))
	}
	return lines
}

func changedLines(r *rand.Rand, lines []string) []string {
	out := []string{}
	for _, line := range lines {
		switch r.IntN(6) {
		case 0:
		case 1:
			out = append(out, string(rune('a'+r.IntN(10))), line)
		default:
			out = append(out, line)
		}
	}
	return out
}

// common returns the length of the longest common subsequence.
func common(a, b []string) int {
	table := make([][]int, len(a)+1)
	table[0] = make([]int, len(b)+1)
	for i := range a {
		table[i+1] = make([]int, len(b)+1)
		for j := range b {
			table[i+1][j+1] = max(table[i][j+1], table[i+1][j])
			if a[i] == b[j] {
				table[i+1][j+1] = table[i][j] + 1
			}
		}
	}
	return table[len(a)][len(b)]
}

// TestConsoleCommands checks that the commands that the console copies name any key and object, for a shell, for kubectl and in CEL.
func TestConsoleCommands(t *testing.T) {
	t.Parallel()
	eval := openModules(t, "copy", "revtail", "causes")
	key := `/app/it's a "key" $HOME`
	eval("sessionStorage.setItem('revtail.token', 'x')", nil)
	got := eval("[copy.curl(given.item), copy.curl(given.item, 7), copy.kubectl(given.item), copy.filterOf(given.item), copy.filterOf(given.item, ['a-b', 0, 'n'])]",
		map[string]any{"item": map[string]any{"path": "/v1/keys/app/it's%20a%20%22key%22%20%24HOME", "address": map[string]any{"key": key}, "value": map[string]any{"a-b": []any{map[string]any{"n": 1}}}}})
	host, _ := eval("location.origin", nil).(string)
	want := []any{
		`curl -sS -H "Authorization: Bearer $TOKEN" '` + host + `/v1/keys/app/it'\''s%20a%20%22key%22%20%24HOME'`,
		`curl -sS -H "Authorization: Bearer $TOKEN" '` + host + `/v1/keys?key=%2Fapp%2Fit'\''s%20a%20%22key%22%20%24HOME&at=7'`,
		`kubectl --server ` + host + ` --token="$TOKEN" get --raw '/v1/keys/app/it'\''s%20a%20%22key%22%20%24HOME'`,
		`key == "/app/it's a \"key\" $HOME"`,
		`value["a-b"][0].n == 1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("of a key (-want +got):\n%s", diff)
	}
	eval("sessionStorage.clear()", nil)
	got = eval("[copy.kubectl(given), copy.kubectl(given, 9), copy.filterOf(given), copy.filterOf(given, ['metadata', 'namespace'])]", map[string]any{
		"path": "/apis/apps/v1/namespaces/eu/deployments/web", "namespace": "eu", "name": "web", "value": map[string]any{"metadata": map[string]any{"namespace": "eu"}}})
	want = []any{
		"kubectl --server " + host + " get deployments.v1.apps web --namespace eu --output yaml",
		"kubectl --server " + host + " get --raw '/apis/apps/v1/namespaces/eu/deployments?fieldSelector=metadata.name%3Dweb&resourceVersion=9&resourceVersionMatch=Exact'",
		`object.metadata.namespace == "eu" && object.metadata.name == "web"`,
		`object.metadata["namespace"] == "eu"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("of an object (-want +got):\n%s", diff)
	}
	text := "spec:\n  size: 1\n  ports:\n  - name: a\n    port: 80\n  - name: b\n    port: x\n  names:\n  - name: a\ndata:\n  a.b: \"1\"\n"
	lines := eval("['spec.ports[1].port', 'spec.names[0].name', 'data[a.b]', 'spec.size', 'spec.none', 'none'].map((field) => causes.lineOf(given, field) ?? -1)", text)
	if diff := cmp.Diff([]any{6.0, 8.0, 10.0, 1.0, 0.0, -1.0}, lines); diff != "" {
		t.Errorf("lines of fields (-want +got):\n%s", diff)
	}
}

// TestConsoleManagers checks who is said to have made a change when the managers wrote within one second, which is the precision of their times.
func TestConsoleManagers(t *testing.T) {
	t.Parallel()
	eval := openModules(t, "history")
	type fields = map[string]any
	state := func(helm, argo fields) fields {
		entry := func(manager string, owned fields) fields {
			return fields{"manager": manager, "operation": "Update", "time": "2026-11-24T17:06:00Z", "fieldsV1": fields{"f:data": owned}}
		}
		return fields{"value": fields{"metadata": fields{"managedFields": []any{entry("helm", helm), entry("argo", argo)}}}}
	}
	both, one := fields{"f:a": fields{}, "f:b": fields{}}, fields{"f:a": fields{}}
	for name, change := range map[string]struct {
		before, item fields
		want         string
	}{
		"takes a field from another": {state(both, fields{}), state(one, fields{"f:b": fields{}}), "argo (Update)"},
		"gives a field up":           {state(both, one), state(one, one), "helm (Update)"},
		"changes what it has":        {state(one, one), state(one, one), "helm (Update), argo (Update)"}, // nothing says which
	} {
		if got := eval("history.whoOf(given)", fields{"before": change.before, "item": change.item}); got != change.want {
			t.Errorf("%s: %v, want %s", name, got, change.want)
		}
	}
}
