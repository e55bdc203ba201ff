package filter

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"revtail/encoding"
	"revtail/encoding/jsontext"
)

const web = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"eu","labels":{"app":"web","tier":"1"}},` +
	`"spec":{"replicas":3,"ratio":0.5,"paused":false,"big":18446744073709551615,"nothing":null,` +
	`"containers":[{"name":"a","image":"nginx:1","memory":"2Gi"},{"name":"b","image":"redis"}]}}`

func mustCompile(tb testing.TB, d *Dialect, text string) *Filter {
	tb.Helper()
	f, err := d.Compile(text)
	if err != nil {
		tb.Fatalf("%.40s: %v", text, err)
	}
	return f
}

func TestMatches(t *testing.T) {
	old := strings.Replace(web, `"replicas":3`, `"replicas":1`, 1)
	object := Input{Type: encoding.Modified, Key: "/registry/apps/deployments/eu/web", Document: []byte(web), Old: []byte(old)}
	added := Input{Type: encoding.Added, Key: object.Key, Document: object.Document}
	key := func(kv encoding.KeyValue) Input {
		return Input{Type: encoding.Added, Key: kv.Key, Document: encoding.AppendKeyValue(nil, kv)}
	}
	for _, test := range []struct {
		dialect *Dialect
		text    string
		in      Input
		want    bool
	}{
		{Objects(), `object.spec.replicas > 2`, object, true},
		{Objects(), `object.spec.replicas > 3`, object, false},
		{Objects(), `object.spec.replicas * 2 == 6`, object, true},
		{Objects(), `object.spec.ratio < 1`, object, true},
		{Objects(), `object.spec.paused`, object, false},
		{Objects(), `!object.spec.paused`, object, true},
		{Objects(), `object.spec.replicas`, object, false}, // not a bool
		{Objects(), `object.spec.big == 18446744073709551615u`, object, true},
		{Objects(), `object.spec.nothing == null`, object, true},
		{Objects(), `object.status.ready == 1`, object, false}, // no such field
		{Objects(), `!(object.status.ready == 1)`, object, false},
		{Objects(), `!has(object.status)`, object, true},
		{Objects(), `has(object.spec.replicas)`, object, true},
		{Objects(), `object.?status.ready.orValue(0) == 0`, object, true},
		{Objects(), `"app" in object.metadata.labels`, object, true},
		{Objects(), `object.metadata.labels["app"] == "web"`, object, true},
		{Objects(), `object.metadata.labels.exists(k, v, k == "tier" && v == "1")`, object, true},
		{Objects(), `object.metadata.labels == {"app": "web", "tier": "1"}`, object, true},
		{Objects(), `object.metadata.labels != {"app": "web"}`, object, true},
		{Objects(), `size(object.metadata.labels) == 2`, object, true},
		{Objects(), `object.spec.containers.exists(c, c.image.startsWith("nginx:"))`, object, true},
		{Objects(), `object.spec.containers.all(c, c.name in ["a", "b"])`, object, true},
		{Objects(), `object.spec.containers.map(c, c.name) == ["a", "b"]`, object, true},
		{Objects(), `object.spec.containers[0].image.matches("^ng.nx:[0-9]$")`, object, true},
		{Objects(), `object.metadata.name.matches("^" + object.spec.containers[0].name) || "a1".matches(object.spec.containers[0].name + "[0-9]")`, object, true},
		{Objects(), `"a".matches("[" + "a")`, object, false},
		{Objects(), `type == "MODIFIED" && type(object.spec.replicas) == int`, object, true},
		{Objects(), `object.spec != old.spec`, object, true},
		{Objects(), `object.spec.replicas > old.spec.replicas`, object, true},
		{Objects(), `old == null`, object, false},
		{Objects(), `old == null && type == "ADDED"`, added, true},
		{Objects(), `object.spec.replicas != old.spec.replicas`, added, false},
		{Objects(), `key == "/registry/apps/deployments/eu/web"`, object, true},
		{Objects(), `text.containsFold("IMAGE\":\"Nginx")`, object, true},
		{Objects(), `text.containsFold("nginx:2")`, object, false},
		{Objects(), `text.containsFold("")`, object, true},
		{Keys(), `text == "{\"n\":2}"`, key(encoding.KeyValue{Key: "/a", Value: []byte(`{"n": 2}`)}), true},
		{Keys(), `text.containsFold("über")`, key(encoding.KeyValue{Key: "/a", Value: []byte("hallo ÜBER")}), true},
		{Keys(), `text.containsFold("/a")`, key(encoding.KeyValue{Key: "/a", Value: []byte("hello")}), false},
		{Keys(), `value.n >= 1.5`, key(encoding.KeyValue{Key: "/a", Value: []byte(`{"n": 2}`)}), true},
		{Keys(), `value == 5`, key(encoding.KeyValue{Key: "/a", Value: []byte(`5`)}), true},
		{Keys(), `value == "hello"`, key(encoding.KeyValue{Key: "/a", Value: []byte("hello")}), true},
		{Keys(), `value == b"\xff\x00"`, key(encoding.KeyValue{Key: "/a", Value: []byte{0xff, 0}}), true},
		{Keys(), `value[1] == "b"`, key(encoding.KeyValue{Key: "/a", Value: []byte(`["a","b"]`)}), true},
		{Keys(), `key.startsWith("/a/") && type == "PUT"`, key(encoding.KeyValue{Key: "/a/b"}), true},
		{Keys(), `type == "DELETE" && value.n == old.n`, Input{Type: encoding.Deleted, Key: "/a", Document: []byte(`{"value":{"n":1},"encoding":"json"}`),
			Old: []byte(`{"value":{"n":1},"encoding":"json"}`)}, true},
	} {
		got, err := mustCompile(t, test.dialect, test.text).Matches(t.Context(), test.in)
		if got != test.want || err != nil {
			t.Errorf("%s: %v, %v, want %v", test.text, got, err, test.want)
		}
	}
}

func TestOfEvents(t *testing.T) {
	for text, want := range map[string]bool{
		`object.spec.replicas > 2 && key != ""`:      false,
		`type(object.spec.replicas) == int`:          false, // the function
		`object.type == "x" && object.old == "y"`:    false,
		`type != "DELETED"`:                          true,
		`object.spec.containers.all(c, old != null)`: true,
	} {
		if got := mustCompile(t, Objects(), text).OfEvents(); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestCompileSaysWhere(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`object.a >`, "filter: line 1, column 11: Syntax error"},
		{`object.a >`, " | object.a >\n | ..........^"},
		{"object.a == 1 &&\n  objct.b == 2", "filter: line 2, column 3: undeclared reference to 'objct': there are object, old, key, type and text\n |   objct.b == 2\n | ..^"},
		{`value == 1`, "there are object, old, key, type and text"},
		{`object.s.matches("[")`, "filter: line 1, column 18: invalid matches argument"},
		{`object.a + 1`, "filter: line 1, column 1: the whole is of type int"},
		{`"x".replace("x", "y") == "y"`, "undeclared reference to 'replace'"},
		{``, "filter: line 1, column 1: Syntax error"},
		{strings.Repeat(" ", 5000), "filter: it has 5000 bytes: 4096 are the limit"},
		{"\xff", "filter: it is not valid UTF-8"},
		{strings.Repeat("(", 4096), "filter: expression recursion limit exceeded"},
	} {
		_, err := Objects().Compile(test.text)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40q: %v, want %q", test.text, err, test.want)
		}
	}
}

// TestCost checks that loops and single calls that take too long fail early, because CEL would count a single call afterwards.
func TestCost(t *testing.T) {
	objects := Objects()
	objects.limit = 5_000 // a twentieth of the work, and of the documents
	numbers := make([]string, 1_000)
	for i := range numbers {
		numbers[i] = fmt.Sprint(i)
	}
	document := fmt.Appendf(nil, `{"text":%q,"list":[%s]}`, strings.Repeat("a", 1<<15), strings.Join(numbers, ","))
	// growing binds twelve names, each to a value made of the one before.
	growing := func(first, step, then string) string {
		text := strings.ReplaceAll(then, "Y", "x12")
		for i := 12; i > 0; i-- {
			text = fmt.Sprintf("[%s].all(x%d, %s)", strings.ReplaceAll(step, "x", fmt.Sprint("x", i-1)), i, text)
		}
		return fmt.Sprintf("[%s].all(x0, %s)", first, text)
	}
	for _, text := range []string{
		`object.list.all(a, object.list.all(b, a + b >= 0))`,
		`object.list.all(a, object.list == object.list)`,
		`object.list.all(a, a in object.list)`,
		`object.list.all(a, object.text.contains("b") || true)`,
		`object.text.matches("(a?){900}b")`,
		`object.list.all(a, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".matches("(a?){900}"))`,
		`object.list.all(a, "x".matches("x" + string(a) + "|x"))`,
		`"x".matches(object.text)`,
		`object.list.all(a, size(object.text) > 0)`,
		`object.list.all(a, object == object)`,
		growing("[1]", "[x, x, x, x]", "Y == Y"), // a value with 4^12 parts, each of which is in memory once
		growing("[1]", "[x, x, x, x]", "dyn(2) in Y"),
		growing("[1]", "x + x + x + x", "size(Y) > 0"),
		growing("'a'", "x + x + x + x", "size(Y) > 0"),
	} {
		_, err := mustCompile(t, objects, text).Matches(t.Context(), Input{Key: "/k", Document: document})
		var cost *CostError
		if !errors.As(err, &cost) || cost.Key != "/k" {
			t.Errorf("%.60s: %v, want a CostError", text, err)
		}
	}
	for _, text := range []string{
		`!object.text.contains("b")`, `object.list == object.list`, `999 in object.list`, `object.text.matches("^a")`, `object.list.size() == 1000`,
	} {
		if ok, err := mustCompile(t, objects, text).Matches(t.Context(), Input{Document: document}); !ok || err != nil {
			t.Errorf("%s: %v, %v", text, ok, err)
		}
	}
}

// TestCostOfLoops checks that a loop over some thousand elements is allowed, but not over many more, because its work grows with the
// square.
func TestCostOfLoops(t *testing.T) {
	for elements, want := range map[int]bool{3_000: true, 10_000: false} {
		document := []byte(`{"list":[1` + strings.Repeat(",1", elements-1) + `]}`)
		ok, err := mustCompile(t, Objects(), "object.list.all(x, x > 0)").Matches(t.Context(), Input{Document: document})
		if ok != want || (err == nil) != want {
			t.Errorf("%d elements: %v, %v", elements, ok, err)
		}
	}
}

func TestMatchesEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := mustCompile(t, Objects(), `object.list.all(a, object.list.all(b, true))`)
	if _, err := f.Matches(ctx, Input{Document: []byte(`{"list":[` + strings.Repeat("0,", 5000) + `0]}`)}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want a cancellation", err)
	}
}

// TestLoopsReadOnce checks that a value which a loop uses repeatedly is decoded once, so that allocations do not grow with the product of
// loop and value.
func TestLoopsReadOnce(t *testing.T) {
	var members strings.Builder
	for i := range 2_000 {
		fmt.Fprintf(&members, `,"m%d":{"x":[1,2,3]}`, i)
	}
	document := []byte(`{"list":[` + strings.Repeat("0,", 999) + `0],"names":["` + strings.Repeat(`n","`, 999) + `n"],"big":{"first":1` + members.String() + `}}`)
	for _, text := range []string{
		`object.list.all(a, object.big.first == 1)`,
		`object.list.all(a, object.list[0] == 0)`,
		`object.list.all(a, has(object.big.m7.x))`,
		`object.list.all(a, !("missing" in object.big))`,
		`object.list.all(a, object.big.exists(k, true))`,
		`object.names.all(name, !((name + "x") in object.big))`,
	} {
		f := mustCompile(t, Objects(), text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if ok, err := f.Matches(t.Context(), Input{Document: document}); !ok || err != nil {
			t.Errorf("%s: %v, %v", text, ok, err)
		}
		runtime.ReadMemStats(&after)
		// Decoding all of big takes some 2 MB, and a list 100 KB: a thousand of them would exceed the bound.
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 20<<20 {
			t.Errorf("%s takes %d MB", text, taken>>20)
		}
	}
}

// FuzzCompile checks that any text compiles and evaluates, or fails with an error, and takes little time.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{`object.a > 3`, `type(old.x) == int && key != type`, `object.?a.b.orValue(1) == 1`, `[1, 2].map(x, x + 1)`, `"`, `quantity("1e9")`,
		`object.list.exists(i, v, i == v)`, `object == old`, `timestamp(object.t).getHours("Asia/Tokyo") == 1`} {
		f.Add(text, `{"a":5,"list":[1,{"b":"c"}]}`)
	}
	objects, keys := Objects(), Keys()
	f.Fuzz(func(t *testing.T, text, document string) {
		if _, err := jsontext.Unmarshal([]byte(document)); err != nil {
			document = `{"a":5}`
		}
		begun := time.Now()
		for _, d := range []*Dialect{objects, keys} {
			compiled, err := d.Compile(text)
			if err != nil {
				continue
			}
			in := Input{Type: encoding.Modified, Key: "/a", Document: []byte(document), Old: []byte(document)}
			if d == keys {
				in.Document = encoding.AppendKeyValue(nil, encoding.KeyValue{Key: "/a", Value: []byte(document)})
				in.Old = nil
			}
			first, err := compiled.Matches(t.Context(), in)
			var cost *CostError
			if err != nil && !errors.As(err, &cost) {
				t.Fatal(err)
			}
			if again, _ := compiled.Matches(t.Context(), in); again != first {
				t.Errorf("%v and then %v", first, again)
			}
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%q took %v", text, took)
		}
	})
}

func BenchmarkMatches(b *testing.B) {
	f := mustCompile(b, Objects(), `object.spec.replicas > 2`)
	in := Input{Document: []byte(web)}
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := f.Matches(b.Context(), in); !ok || err != nil {
			b.Fatal(err)
		}
	}
}
