//go:build unix

package gatewaytest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// evil is a key, and a value, that runs a script if text becomes markup.
const evil = `<img src=x onerror="window.harmed=1">`

const (
	isLive = "document.querySelector('#status').dataset.state === 'live'"
	isAway = "document.querySelector('#status').dataset.state === 'reconnecting'"
	rows   = "document.querySelectorAll('.row[data-id]').length"
)

// row returns an expression: the text of a row of the console's table.
func row(id string) string {
	return fmt.Sprintf("(document.querySelector(%q)?.textContent ?? '')", fmt.Sprintf(".row[data-id=%q]", id))
}

func put(t *testing.T, gw *gatewaytest.Gateway, key, value string) (revision int64) {
	t.Helper()
	answer := gw.Do(t, http.MethodPut, "/v1/keys"+key, value)
	var done struct{ Revision int64 }
	if err := json.Unmarshal([]byte(answer.Body), &done); err != nil || answer.Code != http.StatusOK {
		t.Fatalf("PUT %s: %d %s", key, answer.Code, answer.Body)
	}
	return done.Revision
}

// TestConsole uses the page as a person does, with the mouse and the keyboard of a real browser, and checks what it shows. -artifacts keeps
// the screenshots.
func TestConsole(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t, "--keys-writable", "/app/")
	put(t, gw, "/app/config/limits", `{"requests":{"cpu":"250m","memory":"64Mi"},"burst":true}`)
	put(t, gw, "/app/config/motd", "hello, world")
	before := put(t, gw, "/app/config/theme", `{"colour":"red","size":12,"fonts":["Inter","Menlo"]}`)
	put(t, gw, "/app/orders/1001", `{"customer":"ada","items":[{"sku":"A-1","qty":2}],"total":41.5,"state":"open"}`)
	put(t, gw, "/app/"+strings.NewReplacer("<", "%3C", ">", "%3E", " ", "%20", `"`, "%22").Replace(evil), evil)
	put(t, gw, "/app/orders/1002", `{"customer":"`+strings.ReplaceAll(evil, `"`, `'`)+`","items":[],"total":0,"state":"open"}`)

	p := gatewaytest.OpenPage(t, gw.URL+"/", 1600, 1000) // redirects to the console
	p.Click(t, "[role=treeitem][data-id='key:key=%2Fapp%2F'] .label")
	p.Wait(t, isLive)
	p.Wait(t, rows+" === 6")
	p.Click(t, "[role=treeitem][data-id='key:key=%2Fapp%2Fconfig%2F'] .twist")
	p.Wait(t, "document.querySelector(\"[role=treeitem][data-id='key:key=%2Fapp%2Fconfig%2Ftheme']\")")

	changesOfKeys(t, gw, p)
	filterRows(t, gw, p)
	thePast(t, gw, p, before)
	p.Wait(t, isLive)
	pictures(t, p)
	resources(t, gw, p)

	if harmed := p.Eval(t, "window.harmed ?? document.images.length"); harmed != 1.0 { // the icon
		t.Errorf("a stored value has become markup: %v", harmed)
	}
	if errors := p.Errors(); errors != nil {
		t.Errorf("the page has had errors: %s", errors)
	}
}

// changesOfKeys changes keys, and finds the fields in the events.
func changesOfKeys(t *testing.T, gw *gatewaytest.Gateway, p *gatewaytest.Page) {
	t.Helper()
	put(t, gw, "/app/orders/1001", `{"customer":"ada","items":[{"sku":"A-1","qty":3},{"sku":"B-7","qty":1}],"total":58.5,"state":"paid"}`)
	put(t, gw, "/app/orders/1003", `{"customer":"grace","items":[{"sku":"C-3","qty":1}],"total":12,"state":"open"}`)
	gw.Do(t, http.MethodDelete, "/v1/keys/app/orders/1002", "")
	put(t, gw, "/app/config/theme", `{"colour":"blue","size":12,"fonts":["Inter","JetBrains Mono"]}`)
	p.Wait(t, "document.querySelectorAll('.event').length === 4")
	p.Wait(t, row("/app/config/theme")+".includes('blue')")
	p.Wait(t, row("/app/orders/1003")+".includes('grace') && "+row("/app/orders/1002")+" === ''")
	for n, want := range []string{`colour"red"→"blue"`, `− {"customer":"`, `customer":"grace"`, `items[0].qty2→3`} {
		if got := p.Text(t, fmt.Sprintf(".event:nth-child(%d) .fields", n+1)); !strings.Contains(got, strings.TrimPrefix(want, "− ")) {
			t.Errorf("event %d shows %q, want %q in it", n, got, want)
		}
	}
	p.Click(t, ".row[data-id='/app/orders/1001']")
	p.Wait(t, `document.querySelector('#detail-value').textContent.includes('state: paid')`)
}

// filterRows filters with the keyboard only.
func filterRows(t *testing.T, gw *gatewaytest.Gateway, p *gatewaytest.Page) {
	t.Helper()
	p.Press(t, "/")
	p.Type(t, "GRACE")
	p.Wait(t, rows+" === 1")
	put(t, gw, "/app/orders/1004", `{"customer":"grace","state":"open"}`)
	p.Wait(t, rows+" === 2")
	p.Press(t, "Escape")
	p.Wait(t, rows+" === 7")
	gw.Do(t, http.MethodDelete, "/v1/keys/app/orders/1004", "")
	p.Wait(t, rows+" === 6")
	p.Press(t, "/")
	p.Type(t, "= ((") // is not an expression
	p.Wait(t, "document.querySelector('#filter-note').textContent.includes('does not take this expression') && "+rows+" === 6")
	p.Press(t, "Escape")
	p.Wait(t, "document.querySelector('#filter-note').hidden")
	p.Press(t, "Escape") // closes the full value
	p.Press(t, "s")
	p.Press(t, "End")
	p.Press(t, "Enter")
	p.Wait(t, "document.querySelector('#detail-title').textContent === '/app/orders/1003'")
	p.Press(t, "g")
	p.Press(t, "Home")
	p.Press(t, "ArrowLeft") // closes the namespaces
	p.Wait(t, "document.activeElement.getAttribute('aria-expanded') === 'false' && !document.querySelector('.namespace')")
	p.Press(t, "ArrowRight")
	p.Wait(t, "document.querySelector('.namespace')")
}

// thePast shows earlier revisions, beyond etcd's history, and returns to the present.
func thePast(t *testing.T, gw *gatewaytest.Gateway, p *gatewaytest.Page, before int64) {
	t.Helper()
	p.Eval(t, fmt.Sprintf("(() => { const a = document.querySelector('#at'); a.value = %d; a.dispatchEvent(new Event('change')) })()", before))
	p.Wait(t, row("/app/config/theme")+".includes('red') && "+rows+" === 3")
	put(t, gw, "/app/config/motd", "hello from now")
	p.Wait(t, "document.querySelector('.event .fields')?.textContent.includes('hello from now')")
	if got := p.Eval(t, row("/app/config/motd")); strings.Contains(fmt.Sprint(got), "now") {
		t.Errorf("the past has changed: %v", got)
	}
	p.Press(t, "[")
	p.Wait(t, rows+" === 2")
	gatewaytest.DialEtcd(t, gw.EtcdEndpoint).Compact(t, before+1)
	p.Press(t, "[")
	p.Wait(t, fmt.Sprintf("document.querySelector('#message').textContent.includes('compacted') && document.querySelector('#at').min === '%d'", before+1))
	p.Click(t, "#message button")
	p.Wait(t, rows+" === 4")
	p.Eval(t, "document.activeElement.blur()")
	p.Press(t, "Escape")
	p.Press(t, "Escape")
	p.Wait(t, row("/app/config/motd")+".includes('now')")
}

// pictures stores screenshots of the page.
func pictures(t *testing.T, p *gatewaytest.Page) {
	t.Helper()
	p.Click(t, ".row[data-id='/app/orders/1001']")
	grounds := make(map[any]bool)
	for _, scheme := range []string{"light", "dark"} {
		p.Prefer(t, scheme)
		grounds[p.Eval(t, "getComputedStyle(document.body).backgroundColor")] = true
		p.Screenshot(t, filepath.Join(t.ArtifactDir(), scheme+".png"))
	}
	p.Press(t, "t")
	grounds[p.Eval(t, "getComputedStyle(document.body).backgroundColor")] = true
	if len(grounds) != 2 || p.Text(t, "#theme-button") != "Theme: light" {
		t.Errorf("light, dark, and light by choice: %v", grounds)
	}
}

// resources follows a resource, without --keys.
func resources(t *testing.T, gw *gatewaytest.Gateway, p *gatewaytest.Page) {
	t.Helper()
	p.Click(t, "[role=treeitem][data-id='/api/v1/configmaps']")
	p.Wait(t, isLive+" && "+rows+" === 0")
	gw.Create(t, configMaps, gatewaytest.ConfigMap("theme", "red"))
	p.Wait(t, row("default/theme")+".startsWith('defaulttheme')")
	gw.Patch(t, configMaps+"/theme", `{"data":{"value":"blue"}}`)
	p.Wait(t, `document.querySelector('.event .fields')?.textContent === 'data.value"red"→"blue"'`)
}

// TestConsoleIsPublic checks that the page needs no credentials, and that everything else does.
func TestConsoleIsPublic(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, false, []string{"reader"}, role("reader", reader)+bind("reader", "reader"))
	for path, code := range map[string]int{"/ui": 301, "/ui/": 200, "/ui/main.js": 200, "/ui/revtail.js": 200, "/favicon.ico": 200, "/ui/nothing": 404, "/": 303, "/uix": 401, "/ui%2f": 400, "/v1/keys": 401, "/version": 401} {
		if resp, _ := ask(t, g.Gateway, "GET", path, "", "Accept: text/html,*/*"); resp.StatusCode != code {
			t.Errorf("GET %s: %s, want %d", path, resp.Status, code)
		}
	}
	if resp, _ := ask(t, g.Gateway, "GET", "/", "", "Accept: */*"); resp.StatusCode != 401 {
		t.Errorf("/ for a program: %s", resp.Status)
	}
}

// TestConsoleShowsForeignData checks that the page says when the data is not revtail's own, and only then.
func TestConsoleShowsForeignData(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	keeper, _ := others(t)
	gw := gatewaytest.Start(t, "--etcd-endpoints", keeper.EtcdEndpoint)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/#resource=/api/v1/configmaps", 1200, 800)
	p.Wait(t, isLive)
	p.Wait(t, "!document.querySelector('#problems').hidden && document.querySelector('#problems').textContent.includes('served read-only')")
	p = gatewaytest.OpenPage(t, keeper.URL+"/ui/#resource=/api/v1/configmaps", 1200, 800)
	p.Wait(t, isLive)
	if shown := p.Eval(t, "document.querySelector('#problems').hidden"); shown != true {
		t.Errorf("the page has a problem where there is none: %v", p.Eval(t, "document.querySelector('#problems').textContent"))
	}
}

// TestConsoleToken checks that the page asks for a token if the gateway does, and stores it in its tab.
func TestConsoleToken(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	g := startGuarded(t, false, []string{"reader"}, role("reader", reader)+bindInA("reader", "reader"), "--log-level", "debug")
	p := gatewaytest.OpenPage(t, g.URL+"/ui/#resource=/api/v1/configmaps", 1200, 800)
	p.Wait(t, "document.querySelector('#token-dialog').open && document.querySelector('#token-refused').textContent.includes('asks who you are')")
	p.Type(t, "unknown-token-1")
	p.Press(t, "Enter")
	p.Wait(t, "document.querySelector('#token-dialog').open && document.querySelector('#token-refused').textContent.includes('refused this token (15 characters)')")
	for _, fault := range faults(t, p) {
		t.Errorf("refused token: %s", fault)
	}
	p.Type(t, "token-of-reader")
	p.Press(t, "Enter")
	p.Wait(t, "document.querySelector('#message').textContent.includes('forbidden')") // in all namespaces
	p.Click(t, "#namespace")
	p.Type(t, "a")
	p.Press(t, "Enter")
	p.Wait(t, isLive)
	if kept := p.Eval(t, "JSON.stringify({...localStorage}) + location.href + document.cookie"); strings.Contains(fmt.Sprint(kept), "token-of-reader") {
		t.Errorf("the token is kept in %v", kept)
	}
	g.writeTokens(t) // removes all tokens
	p.Wait(t, "document.querySelector('#token-dialog').open")
	if strings.Contains(g.Log(t), "token-of-reader") {
		t.Error("the token is in the log")
	}
	if errors := p.Errors(); errors != nil {
		t.Errorf("the page has had errors: %s", errors)
	}
}

// TestConsoleClick checks that a click counts on an element that changes between the press and the release of the button.
func TestConsoleClick(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t, "--keys-writable", "/app/")
	put(t, gw, "/app/config/a", "1")
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/#key=/app/config/", 1200, 800)
	p.Wait(t, isLive)
	for n, click := range []struct{ on, does string }{
		{".row[data-id='/app/config/a'] .value", "document.querySelector('#detail-title').textContent === '/app/config/a'"},
		{"[role=treeitem][data-id='key:key=%2Fapp%2F'] .label", "location.hash === '#key=%2Fapp%2F'"},
	} {
		release := p.Hold(t, click.on)
		put(t, gw, "/app/config/a", fmt.Sprint("changed ", n))
		put(t, gw, fmt.Sprint("/app/config/new", n), "1")                // a row in the tree
		p.Wait(t, "document.querySelector('#rate').textContent !== '0'") // the events have been received
		p.Eval(t, "new Promise((later) => setTimeout(later, 600))")      // and drawn
		release()
		p.Wait(t, click.does)
		p.Wait(t, row("/app/config/a")+fmt.Sprintf(".includes('changed %d')", n))
	}
}

// TestConsoleUnderLoad checks that the page responds during a thousand events a second, and loses nothing when the gateway is killed.
func TestConsoleUnderLoad(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t, "--keys-writable", "*")
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/#key=/load/", 1600, 1000)
	p.Wait(t, isLive)
	p.Eval(t, "(() => { window.longest = 0; let last = performance.now(); const frame = (now) => { longest = Math.max(longest, now - last); last = now; requestAnimationFrame(frame) }; requestAnimationFrame(frame) })()")

	stop := pour(t, gw, loadKey)
	p.Wait(t, "Number(document.querySelector('#received').textContent.replace(/\\D/g, '')) > 2000")
	p.Press(t, "/")
	p.Type(t, "key-00")
	p.Wait(t, rows+" === 10")
	p.Press(t, "Escape")
	p.Wait(t, rows+" > 10")
	p.Screenshot(t, filepath.Join(t.ArtifactDir(), "load.png"))
	t.Logf("%v events/s, longest time between two frames: %.0f ms, %s%s", p.Text(t, "#rate"), p.Eval(t, "longest"), p.Text(t, "#received"), p.Text(t, "#left-out"))

	gw.Kill(t) // during the load
	p.Wait(t, isAway)
	p.Screenshot(t, filepath.Join(t.ArtifactDir(), "away.png"))
	stop()
	gw.Restart(t)
	stop = pour(t, gw, loadKey)
	p.Wait(t, isLive+" && document.querySelector('.events .note').textContent.includes('connected again')")
	stop()

	// Keys are written and never deleted, so the sum of their versions is the number of events.
	versions := 0
	var list struct {
		Items []struct {
			Key                  string
			Version, ModRevision int
		}
	}
	if err := json.Unmarshal([]byte(gw.Do(t, http.MethodGet, "/v1/keys/load/", "").Body), &list); err != nil {
		t.Fatal(err)
	}
	for _, item := range list.Items {
		versions += item.Version
	}
	p.Wait(t, fmt.Sprintf("document.querySelector('#received').textContent.replace(/\\D/g, '') === '%d'", versions))
	for _, item := range list.Items[:20] {
		p.Wait(t, fmt.Sprintf("%s.endsWith(' B%d')", row(item.Key), item.ModRevision)) // after the size
	}
	p.Screenshot(t, filepath.Join(t.ArtifactDir(), "recovered.png"))
	if n, _ := p.Eval(t, "document.querySelectorAll('.events > li').length").(float64); n > 201 || p.Text(t, "#left-out") == "" {
		t.Errorf("of %d events, %v are in the list, and it says %q", versions, n, p.Text(t, "#left-out"))
	}
	if errors := p.Errors(); errors != nil {
		t.Errorf("the page has had errors: %s", errors)
	}
}

// pour writes a thousand keys a second, or as many as possible, until it is stopped or the gateway has ended. member returns the n-th key and value,
// as members of a put; ten of them in a row have different keys.
func pour(t *testing.T, gw *gatewaytest.Gateway, member func(n int) string) (stop func()) {
	t.Helper()
	var writing sync.WaitGroup
	stopped := make(chan struct{})
	writing.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n += 10 {
			var ops []string
			for i := range 10 {
				ops = append(ops, `{"put":{`+member(n+i)+`}}`)
			}
			if _, err := gw.Try(t.Context(), http.MethodPost, "/v1/txn", `{"then":[`+strings.Join(ops, ",")+`]}`); err != nil {
				return // the gateway has ended
			}
			select {
			case <-tick.C:
			case <-stopped:
				return
			}
		}
	})
	return func() { close(stopped); writing.Wait() }
}

// loadKey is one of 300 keys, whose number and state change.
func loadKey(n int) string {
	round := n / 10
	return fmt.Sprintf(`"key":"/load/key-%02d%d","value":{"n":%d,"state":%q}`, round%30, n%10, round, []string{"open", "paid", "sent"}[round%3])
}
