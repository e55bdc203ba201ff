//go:build unix

package gatewaytest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

const (
	moduleDocument = "../console/README.md"
	moduleFolder   = "../console/static"
)

// servePages serves pages at another origin than the gateway's: page n at /n. The function that it returns sets them.
func servePages(t *testing.T) (origin string, set func(pages ...string)) {
	t.Helper()
	var pages []string
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for n, page := range pages {
			if r.URL.Path == fmt.Sprint("/", n) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, page)
				return
			}
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL, func(all ...string) { pages = all }
}

// pageOf returns the page in a section of the document of revtail.js, for a gateway.
func pageOf(t *testing.T, section string, gw *gatewaytest.Gateway) string {
	t.Helper()
	block := gatewaytest.Section(t, gatewaytest.ReadDocument(t, moduleDocument), section)[0]
	if block.Language != "html" {
		t.Fatalf("%s: the section %q has no page", moduleDocument, section)
	}
	return strings.ReplaceAll(block.Text, "http://127.0.0.1:8080", gw.URL)
}

// TestModuleDocument runs the pages in the document of revtail.js unchanged, at another origin than the gateway's.
func TestModuleDocument(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	origin, set := servePages(t)
	gw := gatewaytest.Start(t, "--cors-allowed-origins", origin)
	g := startGuarded(t, false, []string{"reader", "stranger"}, role("reader", `{keys: ["/app/"], verbs: [get, list, watch, create, update, delete]}`)+bind("reader", "reader"),
		"--cors-allowed-origins", origin, "--log-level", "debug")
	set(pageOf(t, "A table", gw), pageOf(t, "A map that stays true", gw), pageOf(t, "Every change of some keys", g.Gateway))

	gw.Create(t, "/apis/apps/v1/namespaces/default/deployments", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":3,`+
		`"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"main","image":"nginx"}]}}}}`)
	p := gatewaytest.OpenPage(t, origin+"/0", 800, 600)
	p.Wait(t, "document.querySelector('#table').rows.length === 2")
	if text := p.Text(t, "#table"); !strings.HasPrefix(text, "NameReady") || !strings.Contains(text, "web0/3") {
		t.Errorf("the table is %q", text)
	}

	theme := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"theme","labels":{"app":"web"}},"data":{"colour":"red"}}`
	gw.Create(t, configMaps, theme)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("other", "x"))
	p.Open(t, origin+"/1")
	has := func(text string) {
		t.Helper()
		p.Wait(t, fmt.Sprintf("document.querySelector('#names').textContent === %q", text))
	}
	has("default/theme: red")
	gw.Patch(t, configMaps+"/theme", `{"data":{"colour":"blue"}}`)
	has("default/theme: blue")
	gw.Kill(t)
	p.Wait(t, "document.querySelector('#state').textContent.endsWith('reconnecting')")
	gw.Restart(t)
	p.Wait(t, "document.querySelector('#state').textContent.endsWith('live')")
	gw.Delete(t, configMaps+"/theme")
	has("")

	p.Open(t, origin+"/2#token=token-of-reader")
	logged := func(text string) {
		t.Helper()
		p.Wait(t, fmt.Sprintf("document.querySelector('#log').textContent.includes(%q)", text))
	}
	logged("0 keys at revision ")
	logged("live")
	g.user("reader").Do(t, http.MethodPut, "/v1/keys/app/n", `{"n":18446744073709551615}`)
	logged(`ADDED /app/n {"n":18446744073709551615}`)
	for _, secret := range []string{"token-of-reader", "base64url.bearer"} {
		if strings.Contains(g.Log(t), secret) {
			t.Errorf("the log has %s", secret)
		}
	}
	p.Open(t, origin+"/2?again#token=token-of-stranger")
	logged("refused: 403 ")
	p.Open(t, origin+"/2?without")
	logged("refused: 401 ")
}

// module is the beginning of scripts: the module, and a path of 8 KiB values.
const module = `const { Gateway, RevtailError, parse } = await import('/ui/revtail.js'); const put = (key, body) => gateway.request('/v1/keys' + key, { method: 'PUT', body });
	const stop = new AbortController(); const { signal } = stop;`

// run runs the body of an asynchronous function in a page, with a Gateway of a transport.
func run(t *testing.T, p *gatewaytest.Page, transport, body string) string {
	t.Helper()
	return fmt.Sprint(p.Eval(t, fmt.Sprintf("(async () => { %s const gateway = new Gateway({ transport: %q }); %s })()", module, transport, body)))
}

// TestModule checks the promises of revtail.js over each of its transports.
func TestModule(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	for _, transport := range []string{"websocket", "fetch", "sse"} {
		t.Run(transport, func(t *testing.T) {
			gw := gatewaytest.Start(t, "--keys-writable", "*")
			p := gatewaytest.OpenPage(t, gw.URL+"/version", 800, 600)
			moduleResumes(t, gw, p, transport)
			moduleListsAgain(t, gw, p, transport)
			moduleSlowReader(t, gw, p, transport)
			moduleRefusals(t, p, transport)
			moduleMap(t, p, transport)
			if errors := p.Errors(); errors != nil {
				t.Errorf("the page has had errors: %s", errors)
			}
		})
	}
}

// moduleResumes checks that a watch has each change once and in order while the gateway is killed.
func moduleResumes(t *testing.T, gw *gatewaytest.Gateway, p *gatewaytest.Page, transport string) {
	t.Helper()
	run(t, p, transport, `
		window.seen = []; window.states = []; window.stopResuming = stop
		const onState = (state) => states.push(state)
		window.done = (async () => { for await (const { type, item } of gateway.watch('/v1/keys/resume/', { signal, onState })) if (item) seen.push(type + item.name.slice(8)) })()`)
	p.Wait(t, "states.includes('live')")
	var want []string
	for life := range 3 {
		key := fmt.Sprint("/resume/", life)
		put(t, gw, key, "1")
		put(t, gw, key, "2")
		gw.Do(t, http.MethodDelete, "/v1/keys"+key, "")
		want = append(want, "ADDED", "MODIFIED", "DELETED")
		for i := len(want) - 3; i < len(want); i++ {
			want[i] += fmt.Sprint(life)
		}
		p.Wait(t, fmt.Sprintf("seen.length === %d", len(want)))
		gw.Kill(t)
		p.Wait(t, "states.at(-1) === 'reconnecting'")
		gw.Restart(t)
	}
	p.Wait(t, "states.at(-1) === 'live'")
	if got := p.Eval(t, "stopResuming.abort(), done.then(() => seen.join())"); got != strings.Join(want, ",") {
		t.Errorf("the changes are %v, want %v", got, want)
	}
}

// moduleListsAgain checks that a watch from a revision that etcd has compacted lists, and says why.
func moduleListsAgain(t *testing.T, gw *gatewaytest.Gateway, p *gatewaytest.Page, transport string) {
	t.Helper()
	put(t, gw, "/again/a", "1")
	now := put(t, gw, "/again/b", "1")
	gatewaytest.DialEtcd(t, gw.EtcdEndpoint).Compact(t, now)
	for _, path := range []string{"/v1/keys/again/", "/api/v1/configmaps"} {
		gw.Kill(t) // whose log still has what etcd has compacted
		gw.Restart(t)
		got := run(t, p, transport, fmt.Sprintf(`for await (const event of gateway.watch(%q, { since: 1, signal })) { stop.abort(); return event.type + event.compacted + event.items.length }`, path))
		if want := map[string]string{"/v1/keys/again/": "LISTtrue2", "/api/v1/configmaps": "LISTtrue0"}[path]; got != want {
			t.Errorf("%s: the first event is %s, want %s", path, got, want)
		}
	}
}

// moduleSlowReader checks that a reader that waits while 16 MB come gets everything, once and in order.
func moduleSlowReader(t *testing.T, gw *gatewaytest.Gateway, p *gatewaytest.Page, transport string) {
	t.Helper()
	run(t, p, transport, `
		window.seen = []; window.listed = false; window.stopReading = stop
		window.go = new Promise((resolve) => { window.let = resolve })
		window.done = (async () => {
			for await (const { type, item } of gateway.watch('/v1/keys/slow/', { signal })) {
				if (type === 'LIST') listed = true
				if (!item) continue
				seen.push(item.name)
				await go
			}
		})()`)
	p.Wait(t, "listed")
	const all = 2000
	putMany(t, gw, "/slow/", 1, all, func(int) string { return `"` + strings.Repeat("0123456789abcdef", 512) + `"` })
	p.Wait(t, "seen.length === 1")
	p.Eval(t, "window.let()")
	p.Wait(t, fmt.Sprintf("seen.length >= %d", all))
	if got := p.Eval(t, fmt.Sprintf("stopReading.abort(), done.then(() => seen.length === %d && seen.every((name, i) => name === '/slow/' + String(i + 1).padStart(6, '0')))", all)); got != true {
		t.Errorf("the slow reader has %v", p.Eval(t, "seen.length"))
	}
}

// moduleRefusals checks the errors.
func moduleRefusals(t *testing.T, p *gatewaytest.Page, transport string) {
	t.Helper()
	for call, want := range map[string]string{
		`gateway.list('/api/v1/nothings')`:                                                           "404",
		`gateway.list('/api/v1/configmaps', { filter: '((' })`:                                       "400 BadRequest",
		`gateway.watch('/api/v1/configmaps', { filter: '((', since: 1, signal }).next()`:             "400 BadRequest",
		`gateway.watch('/v1/keys/app/', { filter: '((' }).next()`:                                    "400",
		`gateway.live('/api/v1/nothings')`:                                                           "404",
		`new Gateway({ url: 'http://127.0.0.1:1/', transport: 'fetch' }).list('/api/v1/configmaps')`: "0 Unreachable",
		`gateway.list('/api/v1/configmaps', { at: 999999999 })`:                                      "504",
		`gateway.request('/v1/keys/nothing')`:                                                        "404",
	} {
		got := run(t, p, transport, fmt.Sprintf("try { await %s; return 'accepted' } catch (error) { return error instanceof RevtailError ? error.status + ' ' + error.reason + ' ' + error.message : error }", call))
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", call, got, want)
		}
	}
}

// moduleMap checks that a map stays true, and that a slow reader of its changes gets one for each key.
func moduleMap(t *testing.T, p *gatewaytest.Page, transport string) {
	t.Helper()
	got := run(t, p, transport, `
		await put('/map/a', '{"n":9007199254740993}')
		const map = await gateway.live('/v1/keys/map/', { signal })
		const heard = []; map.addEventListener('change', ({ detail }) => heard.push(detail.type))
		const changes = map.changes(); const first = changes.next()
		for (let n = 0; n < 5; n++) await put('/map/b', String(n))
		await put('/map/c', '1'); await gateway.request('/v1/keys/map/a', { method: 'DELETE' }); await put('/map/end', '1')
		while (!map.has('/map/end')) await new Promise((resolve) => map.addEventListener('change', resolve, { once: true }))
		const read = [(await first).value]
		while (read.at(-1).id !== '/map/end') read.push((await changes.next()).value)
		map.close()
		const last = {}; for (const { id, type } of read) last[id] = type
		return [[...map.keys()].sort().join(), map.get('/map/b').text, heard.length, read.find(({ id }) => id === '/map/a').old.text, last['/map/a'], last['/map/c']].join(' ')`)
	if want := `/map/b,/map/c,/map/end 4 8 {"n":9007199254740993} DELETED ADDED`; got != want {
		t.Errorf("the map is %s, want %s", got, want)
	}
}

// TestModuleTypes checks the types of revtail.js: a program that uses them, by a compiler of TypeScript if there is one, and that what they
// declare is what the module exports.
func TestModuleTypes(t *testing.T) {
	t.Parallel()
	types, err := os.ReadFile(filepath.Join(moduleFolder, "revtail.d.ts"))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("exports", func(t *testing.T) {
		gatewaytest.NeedBrowser(t)
		var declared []string
		for _, match := range regexp.MustCompile(`(?m)^export (?:class|function|const) (\w+)`).FindAllStringSubmatch(string(types), -1) {
			declared = append(declared, match[1])
		}
		slices.Sort(declared)
		gw := gatewaytest.Start(t)
		p := gatewaytest.OpenPage(t, gw.URL+"/version", 800, 600)
		if got := p.Eval(t, "import('/ui/revtail.js').then((m) => Object.keys(m).sort().join())"); got != strings.Join(declared, ",") {
			t.Errorf("the module exports %v, and the types declare %v", got, declared)
		}
	})
	t.Run("compiled", func(t *testing.T) {
		tsc, err := exec.LookPath("tsc")
		if err != nil {
			t.Skip("there is no compiler of TypeScript: install Debian's package node-typescript for this test")
		}
		dir := t.TempDir()
		for name, text := range map[string]string{"revtail.d.ts": string(types), "use.ts": usesTypes} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), tsc, "--noEmit", "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "node", "--lib", "es2022,dom,dom.iterable", "use.ts")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// usesTypes is a program that uses all functions of revtail.js.
const usesTypes = `
import { ExactNumber, Gateway, Item, list, live, Live, parse, RevtailError, same, stringify, watch } from './revtail.js'

export async function use() {
  const page = await list('/api/v1/configmaps', { url: 'http://127.0.0.1:8080', token: async () => 'secret', columns: true, at: 5 })
  const revision: number = page.items[0].revision
  for await (const event of watch('/v1/keys/app/', { transport: 'sse', prev: 1, since: revision, onState: (state) => state === 'live' })) {
    if (event.type === 'LIST') event.items.map((item) => item.id + event.compacted)
    else if (event.item) event.item.value.n
  }
  const map: Live = await live('/v1/keys/app/', { labelSelector: 'app=web' })
  map.addEventListener('change', ({ detail }) => detail.item?.text)
  for (const [id, item] of map) console.log(id, item.cells)
  for await (const { old, type } of map.changes()) console.log(old?.name, type)
  const gateway = new Gateway({ tickets: true })
  for await (const { items } of gateway.pages('/v1/keys/app/')) console.log(items.length)
  const { text } = await gateway.request('/v1/keys/app/a', { method: 'PUT', body: stringify({ n: new ExactNumber('9007199254740993') }) })
  try {
    same(parse(text), text)
  } catch (error) {
    if (error instanceof RevtailError && error.gone) console.log(error.retryAfter)
  }
  // @ts-expect-error: there is no such transport
  new Gateway({ transport: 'post' })
  // @ts-expect-error: an item cannot be changed
  page.items[0].revision = 1
  const item: Item | undefined = map.get('a')
  return item
}
`
