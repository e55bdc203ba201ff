//go:build unix

package gatewaytest_test

import (
	_ "embed"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

//go:embed testdata/access.js
var accessFaults string

// faults returns what a page breaks of WCAG 2.2, levels A and AA, as far as a program sees it.
func faults(t *testing.T, p *gatewaytest.Page) []string {
	t.Helper()
	found := p.Nameless(t)
	list, _ := p.Eval(t, accessFaults).([]any)
	for _, fault := range list {
		found = append(found, fmt.Sprint(fault))
	}
	return found
}

// A state is a state of the page: how to reach it from a table of keys, what to wait for, and how to leave it.
type state struct {
	name  string
	enter func(*testing.T, *gatewaytest.Page)
	until string
	leave []string // keys
}

func press(keys ...string) func(*testing.T, *gatewaytest.Page) {
	return func(t *testing.T, p *gatewaytest.Page) {
		t.Helper()
		for _, key := range keys {
			p.Press(t, key)
		}
	}
}

func click(selector string) func(*testing.T, *gatewaytest.Page) {
	return func(t *testing.T, p *gatewaytest.Page) {
		t.Helper()
		p.Click(t, selector)
	}
}

const objectShown = "!document.querySelector('#object').hidden && document.querySelector('#object').textContent.includes('theme')"

var states = []state{
	{"table", press("s"), "document.body.dataset.pane === 'state'", nil},
	{"lists", press("g"), "document.body.dataset.pane === 'browse'", []string{"s"}},
	{"events", press("e"), "document.body.dataset.pane === 'stream'", []string{"s"}},
	{"object", press("s", "Home", "j", "j", "Enter"), objectShown, []string{"s", "Escape"}},
	{"object maximised", press("s", "Home", "j", "j", "Enter", "m"), objectShown + " && document.body.classList.contains('maximised')", []string{"Escape", "Escape"}},
	{"past", press("["), "document.body.classList.contains('past')", []string{"0"}},
	{"no match", func(t *testing.T, p *gatewaytest.Page) { t.Helper(); p.Press(t, "/"); p.Type(t, "zzz") }, "!document.querySelector('#empty').hidden", []string{"Escape"}},
	{"palette", press(":", "p"), "document.querySelectorAll('#palette-list li').length > 0", []string{"Escape"}},
	{"help", press("?"), "document.querySelector('#help-dialog').open", []string{"Escape"}},
	{"token", click("#token-button"), "document.querySelector('#token-dialog').open", []string{"Escape"}},
	{"commands", click("#copy-button"), "document.querySelector('#copy-menu:popover-open')", []string{"Escape"}},
}

var sizes = []struct {
	name          string
	width, height int
}{{"1600", 1600, 1000}, {"zoom of 200 %", 800, 500}, {"phone", 390, 844}}

// openPage opens the console with some keys and an event.
func openPage(t *testing.T) (*gatewaytest.Gateway, *gatewaytest.Page) {
	t.Helper()
	gw := gatewaytest.Start(t, "--keys-writable", "/app/")
	put(t, gw, "/app/config/limits", `{"requests":{"cpu":"250m","memory":"64Mi"},"burst":true}`)
	put(t, gw, "/app/config/motd", "hello, world")
	put(t, gw, "/app/config/theme", `{"colour":"red","size":12}`)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/#key=/app/config/", 1600, 1000)
	p.Wait(t, isLive+" && "+rows+" === 3")
	put(t, gw, "/app/config/theme", `{"colour":"blue","size":12}`)
	p.Wait(t, "document.querySelectorAll('.event').length === 1")
	return gw, p
}

// check reports the faults of a page, light and dark.
func check(t *testing.T, p *gatewaytest.Page, where string) {
	t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		p.Prefer(t, scheme)
		for _, fault := range lastingFaults(t, p) {
			t.Errorf("%s, %s: %s", where, scheme, fault)
		}
	}
}

// lastingFaults returns the faults of a page that are still there two seconds later: a page that draws itself has others for a moment.
func lastingFaults(t *testing.T, p *gatewaytest.Page) []string {
	t.Helper()
	found := faults(t, p)
	for began := time.Now(); len(found) > 0 && time.Since(began) < 2*time.Second; <-time.After(50 * time.Millisecond) {
		found = faults(t, p)
	}
	return found
}

// TestConsoleAccess checks each state of the page, light and dark, in a window, at a zoom of 200 % and on a phone, for what WCAG 2.2 AA
// demands of names, roles, contrast, focus order, target size and reflow.
func TestConsoleAccess(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw, p := openPage(t)
	for _, scheme := range []string{"light", "dark"} { // a row that has just changed
		p.Prefer(t, scheme)
		put(t, gw, "/app/config/theme", `{"colour":"`+scheme+`","size":12}`)
		p.Wait(t, row("/app/config/theme")+".includes('"+scheme+"')")
		p.Eval(t, "document.getAnimations().forEach((each) => { each.pause(); each.currentTime = 0 })")
		for _, fault := range faults(t, p) {
			t.Errorf("changed row, %s: %s", scheme, fault)
		}
		p.Eval(t, "document.getAnimations().forEach((each) => { if (each.playState === 'paused') each.finish() })")
	}
	for _, size := range sizes {
		p.Resize(t, size.width, size.height)
		for _, s := range states {
			s.enter(t, p)
			p.Wait(t, s.until)
			check(t, p, size.name+", "+s.name)
			if s.name == "object" {
				tabs, _ := p.Eval(t, "document.querySelectorAll('#object [role=tab]').length").(float64)
				for n := range int(tabs) {
					p.Click(t, fmt.Sprintf("#object [role=tab]:nth-of-type(%d)", n+1))
					p.Wait(t, fmt.Sprintf("document.querySelectorAll('#object [role=tab]')[%d].getAttribute('aria-selected') === 'true'", n))
					check(t, p, fmt.Sprint(size.name, ", ", s.name, ", tab ", n+1))
				}
			}
			press(s.leave...)(t, p)
		}
	}
	if errors := p.Errors(); errors != nil {
		t.Errorf("the page has had errors: %s", errors)
	}
}

// TestConsoleAccessOfFailures checks the page of a refusal and that of a lost connection.
func TestConsoleAccessOfFailures(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw, p := openPage(t)
	p.Eval(t, "location.hash = '#resource=/apis/nothing.example/v1/things'")
	p.Wait(t, "!document.querySelector('#message').hidden && document.querySelector('#message button')")
	check(t, p, "refused")
	p.Eval(t, "history.back()")
	p.Wait(t, isLive)
	gw.Kill(t)
	p.Wait(t, "!document.querySelector('#lost').hidden")
	check(t, p, "disconnected")
}

// TestConsoleAccessFindsFaults plants a fault for each rule, and checks that the rule finds it.
func TestConsoleAccessFindsFaults(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	_, p := openPage(t)
	if found := faults(t, p); len(found) > 0 {
		t.Fatalf("before: %s", strings.Join(found, "\n"))
	}
	for rule, plant := range map[string]string{
		"contrast:":          "const e = add('p', 'pale'); e.style.color = '#777'; e.style.background = '#999'",
		"contrast of parts:": "const e = document.querySelector('#filter'); e.style.borderColor = 'transparent'; undo = () => { e.style.borderColor = '' }",
		"names: button":      "const e = add('button', ''); e.style.minWidth = e.style.minHeight = '40px'",
		"names: input":       "const e = add('input', ''); e.setAttribute('aria-labelledby', 'nothing')",
		"roles: li":          "const e = add('li', 'item'); e.setAttribute('role', 'treeitem')",
		"roles: div":         "const e = add('div', 'x'); e.setAttribute('role', 'buton')",
		"roles: h4":          "add('h4', 'too deep')",
		"focus order:":       "const e = add('button', 'first'); e.tabIndex = 3",
		"target size:":       "const e = add('span', ''); for (const x of 'ab') { const b = document.createElement('button'); b.textContent = x; b.style.cssText = 'min-height: 0; min-width: 0; padding: 0; border: 0; height: 12px; width: 12px'; e.append(b) }",
		"reflow:":            "const e = add('div', 'wide'); e.style.cssText = 'width: 3000px; height: 1px'; document.body.append(e)",
	} {
		p.Eval(t, `window.undo = () => {}; window.add = (name, text) => { const e = document.createElement(name); e.textContent = text; document.querySelector('#state .stage').before(e); undo = () => e.remove(); return e }; (() => { `+plant+` })()`)
		found := faults(t, p)
		if !strings.Contains(strings.Join(found, "\n"), rule) {
			t.Errorf("%s is not found; found: %q", rule, found)
		}
		p.Eval(t, "undo()")
	}
	if found := faults(t, p); len(found) > 0 {
		t.Fatalf("after: %s", strings.Join(found, "\n"))
	}
}

// TestConsoleFocus goes through the page with the tabulator: each stop is visible, not covered, marked, and in the order of the page, and the
// last one leads out of it.
func TestConsoleFocus(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	_, p := openPage(t)
	for _, size := range sizes {
		p.Resize(t, size.width, size.height)
		press("s", "Home", "Enter")(t, p)
		p.Wait(t, "!document.querySelector('#object').hidden")
		p.Eval(t, "(() => { document.activeElement.blur(); getSelection().removeAllRanges(); window.stops = []; document.querySelector('.skip').focus() })()")
		for range 80 {
			fault := p.Eval(t, `(() => {
				const e = document.activeElement
				if (e === document.body || stops.includes(e)) return 'end'
				const before = stops.findLast((s) => s.isConnected) // the tree draws itself anew when counts change, and keeps the focus
				stops.push(e)
				const name = e.id || e.className || e.outerHTML.slice(0, 80)
				if (before && !(before.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING)) return name + ' comes after ' + (before.id || before.className)
				const r = e.getBoundingClientRect()
				if (r.width < 1 || r.right < 1 || r.bottom < 1 || r.x >= innerWidth || r.y >= innerHeight) return name + ' is outside of the window'
				const at = document.elementFromPoint(Math.min(innerWidth - 1, r.x + r.width / 2), Math.min(innerHeight - 1, r.y + r.height / 2))
				if (!e.contains(at) && !at?.contains(e)) return name + ' is covered by ' + (at?.id || at?.className)
				const shows = (s) => s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2
				const around = (e) => e && (shows(getComputedStyle(e)) || getComputedStyle(e, '::after').borderTopWidth === '2px' || getComputedStyle(e, '::after').opacity === '1' && e.matches('.separator'))
				return around(e) || around(e.parentElement) || around(e.closest('li')) ? '' : name + ' shows no focus'
			})()`)
			if fault == "end" {
				break
			}
			if fault != "" {
				t.Errorf("%s: %v", size.name, fault)
			}
			p.Press(t, "Tab")
		}
		if n, _ := p.Eval(t, "stops.length").(float64); n < 12 || n >= 80 {
			t.Errorf("%s: %v stops", size.name, n)
		}
		press("s", "Escape")(t, p)
	}
}

// TestConsoleMotion checks that nothing moves without end for a user who prefers less motion.
func TestConsoleMotion(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw, p := openPage(t)
	p.ReduceMotion(t, "light")
	gw.Kill(t)
	p.Wait(t, isAway)
	if moving := p.Eval(t, "document.getAnimations().filter((a) => a.playState === 'running' && a.effect.getTiming().iterations > 1).length"); moving != 0.0 {
		t.Errorf("%v animations run without end", moving)
	}
	if said := p.Eval(t, "new Promise((later) => setTimeout(() => later(document.querySelector('#announce').textContent), 2000))"); !strings.Contains(fmt.Sprint(said), "disconnected") {
		t.Errorf("the live region says %q after the loss of the connection", said)
	}
	gw.Restart(t)
	p.Wait(t, "document.querySelector('#announce').textContent.includes('connected again')")
	gw.Do(t, http.MethodDelete, "/v1/keys/app/config/motd", "")
	p.Wait(t, rows+" === 2")
}
