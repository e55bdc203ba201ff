//go:build unix

package gatewaytest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

const (
	panelText = "document.querySelector('#object-panel').textContent"
	said      = "document.querySelector('.object-said').textContent"
	when      = "document.querySelector('.object-when').textContent"
	area      = "document.querySelector('#editor-text')"
)

// openObject opens the page of one object. The query makes it another page: a change of the fragment alone loads nothing.
func openObject(t *testing.T, p *gatewaytest.Page, gw *gatewaytest.Gateway, source, id, view string) {
	t.Helper()
	p.Open(t, fmt.Sprintf("%s/ui/?%d#%s&object=%s%s", gw.URL, rand.Uint64(), source, strings.ReplaceAll(id, "/", "%2F"), view)) //nolint:gosec // for a test
	p.Wait(t, fmt.Sprintf("document.querySelector('#detail-title')?.textContent === %q", id))
}

// act clicks the button of an action.
func act(t *testing.T, p *gatewaytest.Page, action string) {
	t.Helper()
	p.Wait(t, fmt.Sprintf("document.querySelector('[data-action=%s]:not(:disabled)')", action))
	p.Click(t, fmt.Sprintf("[data-action=%s]", action))
}

// replaceText replaces a part of the text of the editor by typing.
func replaceText(t *testing.T, p *gatewaytest.Page, old, replacement string) {
	t.Helper()
	p.Wait(t, area+" && !"+area+".hidden")
	if found := p.Eval(t, fmt.Sprintf("(() => { const a = %s; a.focus(); const at = a.value.indexOf(%q); a.setSelectionRange(at, at + %d); return at >= 0 })()", area, old, len(old))); found != true {
		t.Fatalf("the editor has no %q: %v", old, p.Eval(t, area+".value"))
	}
	p.Type(t, replacement)
}

// noErrors checks that the page has had no errors.
func noErrors(t *testing.T, p *gatewaytest.Page) {
	t.Helper()
	if errors := p.Errors(); errors != nil {
		t.Errorf("the page has had errors: %.2000s", errors)
	}
}

// managed applies a change of the ConfigMap theme in the name of a manager.
func managed(t *testing.T, gw *gatewaytest.Gateway, manager, patch string) {
	t.Helper()
	gw.Patch(t, configMaps+"/theme?fieldManager="+manager, patch)
}

// TestConsoleObject checks the views of an object: its text, the last change, its history with who made it, and comparisons.
func TestConsoleObject(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t)
	created := gw.Create(t, configMaps+"?fieldManager=kubectl-create", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"theme"},"data":{"text":"one\ntwo\nthree\n","switch":"on"}}`).Revision(t)
	managed(t, gw, "kubectl-patch", `{"data":{"colour":"red"}}`)
	managed(t, gw, "kubectl-edit", `{"data":{"text":"one\n2\nthree\n","size":"1"}}`)
	gw.Create(t, configMaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"other"},"data":{"colour":"green"}}`)

	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1500, 1000)
	openObject(t, p, gw, "resource=/api/v1/configmaps", "default/theme", "")
	for _, want := range []string{"  switch: \"on\"\n", "  text: |\n"} {
		p.Wait(t, fmt.Sprintf("[...document.querySelectorAll('#detail-value .code')].map((line) => line.textContent).join('').includes(%q)", want))
	}
	if shown := p.Eval(t, panelText); strings.Contains(fmt.Sprint(shown), "f:data") {
		t.Error("managedFields are shown without being asked for")
	}
	p.Click(t, "#object-managers")
	p.Wait(t, panelText+".includes('f:data')")
	p.Click(t, "#object-managers")
	p.Click(t, "#tab-yaml")
	p.Press(t, "ArrowRight")
	p.Wait(t, `document.activeElement.id === 'tab-json' && `+panelText+`.includes('"switch": "on"')`)
	p.Press(t, "ArrowRight")
	p.Wait(t, "document.querySelector('.fields-changed')?.textContent.includes('data.size') && "+panelText+".includes('by kubectl-edit (Update)') && "+panelText+".includes('1 line removed, 1 line added')")
	if marks := p.Eval(t, "[...document.querySelectorAll('.diff .removed, .diff .added')].map((line) => line.querySelector('.code').textContent.trim()).join('|')"); marks != `size: "1"|two|2` {
		t.Errorf("the lines that differ: %v", marks)
	}
	act(t, p, "earlier")
	p.Wait(t, panelText+".includes('by kubectl-patch (Update)')")
	act(t, p, "earlier")
	p.Wait(t, panelText+".includes('Created by this change')")

	p.Click(t, "#tab-history")
	p.Wait(t, "document.querySelector('.history-end')?.textContent.includes('Created at revision')")
	who := p.Eval(t, "[...document.querySelectorAll('.history li')].map((row) => row.querySelector('.who').textContent + ' ' + row.querySelector('.what').textContent).join('|')")
	if who != "kubectl-edit (Update) 2 fields|kubectl-patch (Update) 1 field|kubectl-create (Update) created" {
		t.Errorf("the history is %v", who)
	}
	if times := p.Eval(t, "[...document.querySelectorAll('.history time')].every((time) => Date.now() - Date.parse(time.dateTime) < 3600_000)"); times != true {
		t.Error("the history has no times")
	}
	p.Click(t, ".history li:last-child button:nth-child(2)") // compare
	p.Wait(t, "document.querySelector('.pair.changed, .pair.removed, .pair.added') && document.querySelector('#compare-left').value === '"+fmt.Sprint(created)+"'")
	if !strings.Contains(fmt.Sprint(p.Eval(t, "location.hash")), fmt.Sprintf("compare=%d%%2Cshown", created)) {
		t.Errorf("the comparison is not in the URL: %v", p.Eval(t, "location.hash"))
	}
	p.Eval(t, "document.querySelector('#compare-right').select()")
	p.Type(t, "other")
	p.Press(t, "Enter")
	p.Wait(t, "document.querySelector('.heads')?.textContent.includes('default/other') && document.querySelector('.paired').textContent.includes('colour: green')")
	aligned := p.Eval(t, "[...document.querySelectorAll('.paired .pair')].every((pair) => pair.children.length === 2 && Math.abs(pair.children[0].getBoundingClientRect().top - pair.children[1].getBoundingClientRect().top) < 1)")
	if aligned != true {
		t.Error("the sides are not aligned")
	}
	p.Screenshot(t, filepath.Join(t.ArtifactDir(), "compare.png"))
	noErrors(t, p)
}

// TestConsoleObjectInTime checks that the page says which state it shows: the past, which does not change, the live one, which does with its
// changed lines marked, and the last one of an object that was deleted.
func TestConsoleObjectInTime(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t, "--keys-writable", "/app/")
	first := put(t, gw, "/app/a", `{"n":1,"big":9007199254740993}`)
	put(t, gw, "/app/b", `0`)
	put(t, gw, "/app/a", `{"n":2,"big":9007199254740993}`)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1500, 1000)
	openObject(t, p, gw, "key=%2Fapp%2F", "/app/a", fmt.Sprintf("&at=%d", first+1))
	p.Wait(t, fmt.Sprintf("%s.startsWith('The past, as of revision %d') && %s.includes('n\": 1')", when, first+1, panelText))
	put(t, gw, "/app/a", `{"n":3,"big":9007199254740993}`)
	p.Wait(t, "document.querySelector('.event')?.textContent.includes('/app/a')")
	if shown := p.Eval(t, panelText); !strings.Contains(fmt.Sprint(shown), `n": 1`) {
		t.Errorf("the past has changed: %v", shown)
	}
	act(t, p, "live")
	p.Wait(t, when+".startsWith('Live: revision') && "+panelText+".includes('n\": 3')")
	last := put(t, gw, "/app/a", `{"n":4,"big":9007199254740993}`)
	p.Wait(t, fmt.Sprintf("%s.includes('n\": 4') && %s === 'Changed at revision %d'", panelText, said, last))
	if marked := p.Eval(t, "[...document.querySelectorAll('.line.changed .code')].map((line) => line.textContent.trim()).join('|')"); marked != `"n": 4` {
		t.Errorf("marked as changed: %v", marked)
	}
	p.Click(t, "#tab-history")
	p.Wait(t, "document.querySelectorAll('.history li').length === 4")
	gone := gw.Do(t, http.MethodDelete, "/v1/keys/app/a", "")
	var deleted struct{ Revision int64 } // the gateway may have written a time in between
	if err := json.Unmarshal([]byte(gone.Body), &deleted); err != nil || gone.Code != http.StatusOK {
		t.Fatal(gone.Code, gone.Body)
	}
	p.Wait(t, fmt.Sprintf("%s.startsWith('Deleted at revision %d') && %s.includes('last state')", when, deleted.Revision, when))
	p.Click(t, "#tab-yaml")
	p.Wait(t, panelText+".includes('n\": 4')")

	gatewaytest.DialEtcd(t, gw.EtcdEndpoint).Compact(t, last)
	openObject(t, p, gw, "key=%2Fapp%2F", "/app/b", "&tab=history")
	p.Wait(t, "document.querySelector('.history-end')?.textContent.includes('Created at revision')") // the key itself says so
	put(t, gw, "/app/c", "1")
	changed := put(t, gw, "/app/c", "2")
	put(t, gw, "/app/c", "3")
	gatewaytest.DialEtcd(t, gw.EtcdEndpoint).Compact(t, changed)
	openObject(t, p, gw, "key=%2Fapp%2F", "/app/c", "&tab=history")
	p.Wait(t, fmt.Sprintf("document.querySelector('.history-end')?.textContent.includes('compacted what was before revision %d')", changed))
	noErrors(t, p)
}

// TestConsoleSecrets checks that a secret value gets into the page only when it is asked for, in every view and for objects and keys.
func TestConsoleSecrets(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t)
	const collection = "/api/v1/namespaces/default/secrets"
	const secret, second = "hunter2-of-the-test", "second-of-the-test-!"
	encoded, again := base64.StdEncoding.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(second))
	gw.Create(t, collection, fmt.Sprintf(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"pw","annotations":{"kubectl.kubernetes.io/last-applied-configuration":%q}},"data":{"password":%q,"other":"eA=="}}`, `{"data":{"password":"`+encoded+`"}}`, encoded))
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1500, 1000)
	hidden := func(where string) {
		t.Helper()
		page := fmt.Sprint(p.Eval(t, "document.documentElement.outerHTML + [...document.querySelectorAll('input, textarea')].map((each) => each.value).join()"))
		for _, text := range []string{secret, encoded, second, again} {
			if strings.Contains(page, text) {
				t.Fatalf("%s: the page has the secret %s", where, text)
			}
		}
	}
	for _, source := range [][2]string{{"resource=/api/v1/secrets", "default/pw"}, {"key=%2Fregistry%2Fsecrets%2F", "/registry/secrets/default/pw"}} {
		openObject(t, p, gw, source[0], source[1], "")
		p.Wait(t, fmt.Sprintf("%s.includes('•••••••• (%d bytes)')", panelText, len(secret)))
		hidden("YAML")
		gw.Patch(t, collection+"/pw", fmt.Sprintf(`{"data":{"password":%q}}`, again))
		p.Wait(t, "document.querySelector('.event')?.textContent.includes('changed)')")
		hidden("events")
		for _, tab := range []string{"json", "diff", "history", "compare"} {
			p.Click(t, "#tab-"+tab)
			p.Wait(t, map[string]string{"json": "true", "diff": "document.querySelector('.diff')", "history": "document.querySelector('.history-end').textContent.includes('Created')", "compare": "document.querySelector('.paired')"}[tab])
			hidden(tab)
		}
		gw.Patch(t, collection+"/pw", fmt.Sprintf(`{"data":{"password":%q}}`, encoded))
	}

	openObject(t, p, gw, "resource=/api/v1/secrets", "default/pw", "")
	act(t, p, "edit")
	p.Wait(t, area+"?.value.includes('HIDDEN(data/password)')")
	hidden("editor")
	replaceText(t, p, "other: HIDDEN(data/other)", "other: eQ==")
	act(t, p, "review")
	p.Wait(t, "document.querySelector('[data-action=save]')")
	hidden("review")
	act(t, p, "save")
	p.Wait(t, said+".startsWith('Stored')")
	if got := gw.Get(t, collection+"/pw"); got.Data["password"] != encoded || got.Data["other"] != "eQ==" {
		t.Errorf("stored is %v", got.Data)
	}
	hidden("stored")
	act(t, p, "copy")
	p.Click(t, ".menu [role=menuitem]")
	p.Wait(t, said+".startsWith('Copied')")
	hidden("copied")
	p.Click(t, "[data-secret='data/password'] button")
	p.Wait(t, fmt.Sprintf("document.querySelector('.secret-text').textContent === %q && %s.includes(%q)", secret, panelText, encoded))
	p.Click(t, "[data-secret='data/password'] button")
	p.Wait(t, "!document.querySelector('.secret-text')")
	hidden("hidden again")
	noErrors(t, p)
}

// TestConsoleCopy checks that copying says so, also where the browser has no clipboard, and never copies the token.
func TestConsoleCopy(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("theme", "9007199254740993"))
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1500, 1000)
	openObject(t, p, gw, "resource=/api/v1/configmaps", "default/theme", "")
	choose := func(label string) {
		t.Helper()
		act(t, p, "copy")
		index := p.Eval(t, fmt.Sprintf("[...document.querySelectorAll('.menu [role=menuitem]')].findIndex((each) => each.textContent === %q)", label)).(float64)
		for range int(index) {
			p.Press(t, "ArrowDown")
		}
		p.Press(t, "Enter")
	}
	p.Eval(t, "Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {writeText: async (text) => { window.copied = text }}}), 0")
	choose("curl")
	p.Wait(t, fmt.Sprintf("copied === 'curl -sS %s%s/theme'", gw.URL, configMaps)) // without a token
	p.Eval(t, "sessionStorage.setItem('revtail.token', 'token-of-the-page')")
	for label, want := range map[string]string{
		"Name": "theme", "Path": configMaps + "/theme", "CEL": `object.metadata.namespace == "default" && object.metadata.name == "theme"`,
		"curl": `curl -sS -H "Authorization: Bearer $TOKEN" ` + gw.URL + configMaps + "/theme",
	} {
		choose(label)
		p.Wait(t, fmt.Sprintf("%s === 'Copied: %s'", said, label))
		if got := p.Eval(t, "copied"); got != want {
			t.Errorf("%s: %v, want %s", label, got, want)
		}
	}
	choose("YAML")
	p.Wait(t, "copied.includes('value: \"9007199254740993\"')")

	p.Eval(t, "Object.defineProperty(navigator, 'clipboard', {configurable: true, value: undefined}), addEventListener('copy', () => { window.copied = getSelection().toString() || document.activeElement.value }), 0")
	choose("Name")
	p.Wait(t, "copied === 'theme' && "+said+" === 'Copied: Name' && document.activeElement.dataset.action === 'copy'")
	p.Eval(t, "document.execCommand = () => false, 0")
	choose("Path")
	p.Wait(t, "document.querySelector('dialog[open] textarea')?.value === '"+configMaps+"/theme' && document.activeElement.tagName === 'TEXTAREA'")
	p.Press(t, "Escape")
	noErrors(t, p)
}

// TestConsoleObjectRights checks that what a user may not do is disabled, with the reason.
func TestConsoleObjectRights(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	keeper, _ := others(t)
	gw := gatewaytest.Start(t, "--etcd-endpoints", keeper.EtcdEndpoint)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1500, 1000)
	openObject(t, p, gw, "resource=/api/v1/configmaps", "default/b", "")
	p.Wait(t, "document.querySelector('[data-action=edit]').disabled && document.querySelector('.object-why').textContent.includes('read-only')")
	p.Click(t, "#new")
	p.Wait(t, said+".includes('read-only')")
	noErrors(t, p)
}

// TestConsoleObjectNarrow checks that the page of an object fits into a window of 390 px, with targets of at least 24 px.
func TestConsoleObjectNarrow(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("theme", strings.Repeat("a long value ", 40)))
	managed(t, gw, "kubectl-patch", `{"data":{"value":"`+strings.Repeat("a longer value ", 40)+`"}}`)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 390, 800)
	p.Resize(t, 390, 800)
	openObject(t, p, gw, "resource=/api/v1/configmaps", "default/theme", "")
	p.Wait(t, "document.querySelector('#object-panel').offsetWidth > 300") // the link shows the object, not the lists
	for _, tab := range []string{"yaml", "diff", "history", "compare"} {
		p.Wait(t, "document.querySelector('#tab-"+tab+"')")
		p.Eval(t, "document.querySelector('#tab-"+tab+"').click()")
		p.Wait(t, map[string]string{"yaml": "document.querySelector('.line')", "diff": "document.querySelector('.diff')", "history": "document.querySelector('.history li')", "compare": "document.querySelector('.paired')"}[tab])
		if wide := p.Eval(t, "(() => { const panel = document.querySelector('#object-panel'); return panel.scrollWidth - panel.clientWidth })()"); wide != 0.0 {
			t.Errorf("%s is %v px too wide", tab, wide)
		}
		small := p.Eval(t, `[...document.querySelectorAll('#object button, #object input, #object label')].filter((each) => each.checkVisibility() && !each.closest('label input')).filter((each) => !(each.matches('input') && each.closest('label'))).map((each) => [each, each.getBoundingClientRect()]).filter(([, box]) => box.width < 24 || box.height < 24).map(([each, box]) => each.outerHTML.slice(0, 80) + box.width + 'x' + box.height).join('\n')`)
		if small != "" {
			t.Errorf("%s: targets below 24 px:\n%v", tab, small)
		}
		p.Screenshot(t, filepath.Join(t.ArtifactDir(), tab+".png"))
	}
	noErrors(t, p)
}
