//go:build unix

package gatewaytest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Page is a page in a real browser, without a screen, that gets events of mouse and keyboard. Its methods fail the test on an error.
type Page struct {
	*browser

	context, session, target string // see BrowserContextID, SessionID and TargetID of the protocol
}

// OpenPage opens a URL in a window of that size, with cookies, storage and a cache of its own, which end with the test.
func OpenPage(tb testing.TB, url string, width, height int) *Page {
	tb.Helper()
	p := &Page{browser: useBrowser(tb)}
	var created struct{ BrowserContextID string }
	p.call(tb, "Target.createBrowserContext", nil, &created)
	p.context = created.BrowserContextID
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("errors of the page: %.4000s", p.Errors())
		}
		(&Page{browser: p.browser}).call(tb, "Target.disposeBrowserContext", map[string]any{"browserContextId": p.context}, nil)
	})
	p.attach(tb, url, map[string]any{"newWindow": true, "width": width, "height": height})
	return p
}

// Tab opens a URL in another tab of the same window.
func (p *Page) Tab(tb testing.TB, url string) *Page {
	tb.Helper()
	tab := &Page{browser: p.browser, context: p.context}
	tab.attach(tb, url, map[string]any{})
	return tab
}

// Show brings the tab to the front: a browser draws no other one.
func (p *Page) Show(tb testing.TB) {
	tb.Helper()
	p.call(tb, "Page.bringToFront", nil, nil)
}

// Close closes the tab, as its user does.
func (p *Page) Close(tb testing.TB) {
	tb.Helper()
	(&Page{browser: p.browser}).call(tb, "Target.closeTarget", map[string]any{"targetId": p.target}, nil)
}

// attach opens a URL in a target that the browser makes as told.
func (p *Page) attach(tb testing.TB, url string, target map[string]any) {
	tb.Helper()
	target["url"], target["browserContextId"] = "about:blank", p.context
	var created struct{ TargetID string }
	p.call(tb, "Target.createTarget", target, &created)
	var attached struct{ SessionID string }
	p.call(tb, "Target.attachToTarget", map[string]any{"targetId": created.TargetID, "flatten": true}, &attached)
	p.session, p.target = attached.SessionID, created.TargetID
	p.call(tb, "Page.enable", nil, nil)
	p.call(tb, "Runtime.enable", nil, nil)
	p.call(tb, "Log.enable", nil, nil)
	p.Open(tb, url)
}

// Before runs a script in each page that is opened from now on, before the scripts of the page.
func (p *Page) Before(tb testing.TB, script string) {
	tb.Helper()
	p.call(tb, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": script}, nil)
}

// Reload loads the page again, and returns when it is loaded.
func (p *Page) Reload(tb testing.TB) {
	tb.Helper()
	p.Eval(tb, "window.replaced = false")
	p.call(tb, "Page.reload", nil, nil)
	p.awaitLoaded(tb, "window.replaced === undefined")
}

// Open opens a URL, and returns when its page is loaded.
func (p *Page) Open(tb testing.TB, url string) {
	tb.Helper()
	var gone struct{ ErrorText string }
	if p.call(tb, "Page.navigate", map[string]any{"url": url}, &gone); gone.ErrorText != "" {
		tb.Fatalf("%s: %s", url, gone.ErrorText)
	}
	p.awaitLoaded(tb, "location.href !== 'about:blank'")
}

// awaitLoaded waits until a page is loaded of which an expression is true. The browser refuses what it evaluates while it replaces the page
// before.
func (p *Page) awaitLoaded(tb testing.TB, expression string) {
	tb.Helper()
	Until(tb, "a loaded page with "+expression, func() bool {
		loaded, _ := p.evaluate(tb, "document.readyState === 'complete' && "+expression)
		return loaded == true
	})
}

// call makes one call of the DevTools protocol.
func (p *Page) call(tb testing.TB, method string, params, result any) {
	tb.Helper()
	if err := p.try(tb, method, params, result); err != nil {
		tb.Fatalf("%s: %v", method, err)
	}
}

// try is call for a caller who handles the error of the browser.
func (p *Page) try(tb testing.TB, method string, params, result any) error {
	tb.Helper()
	return p.send(tb, message{Session: p.session, Method: method}, params, result)
}

// Eval returns the value of an expression of JavaScript, that of a promise when it is resolved.
func (p *Page) Eval(tb testing.TB, expression string) any {
	tb.Helper()
	value, err := p.evaluate(tb, expression)
	if err != nil {
		tb.Fatalf("%s: %v", expression, err)
	}
	return value
}

func (p *Page) evaluate(tb testing.TB, expression string) (any, error) {
	tb.Helper()
	var out struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	err := p.try(tb, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &out)
	if out.ExceptionDetails != nil {
		tb.Fatalf("%s: %s", expression, out.ExceptionDetails)
	}
	return out.Result.Value, err
}

// Text returns the text of the first element that a selector finds; empty: there is none.
func (p *Page) Text(tb testing.TB, selector string) string {
	tb.Helper()
	text, _ := p.Eval(tb, fmt.Sprintf("document.querySelector(%q)?.textContent ?? ''", selector)).(string)
	return text
}

// Wait waits until an expression is true.
func (p *Page) Wait(tb testing.TB, expression string) {
	tb.Helper()
	Until(tb, expression, func() bool { return p.Eval(tb, "Boolean("+expression+")") == true })
}

// Click clicks in the middle of the first element that a selector finds.
func (p *Page) Click(tb testing.TB, selector string) {
	tb.Helper()
	p.Hold(tb, selector)()
}

// Hold presses the mouse button in the middle of the first element that a selector finds, as soon as it exists, does not move and is not
// covered. The function that Hold returns releases the button.
func (p *Page) Hold(tb testing.TB, selector string) (release func()) {
	tb.Helper()
	p.Wait(tb, fmt.Sprintf("document.querySelector(%q)", selector))
	at, _ := p.Eval(tb, fmt.Sprintf(`new Promise((found) => {
		let x, y
		const look = () => {
			const e = document.querySelector(%q)
			e?.scrollIntoView({block: 'nearest'})
			const r = e?.getBoundingClientRect() ?? {}
			const was = [x, y]
			;[x, y] = [r.x + r.width / 2, r.y + r.height / 2]
			if (x === was[0] && y === was[1] && e.contains(document.elementFromPoint(x, y))) return found([x, y])
			requestAnimationFrame(look)
		}
		look()
	})`, selector)).([]any)
	mouse := func(kinds ...string) {
		tb.Helper()
		for _, kind := range kinds {
			p.call(tb, "Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1}, nil)
		}
	}
	mouse("mouseMoved", "mousePressed")
	return func() { tb.Helper(); mouse("mouseReleased") }
}

// Type types a text into the focused element.
func (p *Page) Type(tb testing.TB, text string) {
	tb.Helper()
	for _, letter := range text {
		p.Press(tb, string(letter))
	}
}

// Press presses a key by its name, such as ArrowDown, or a letter.
func (p *Page) Press(tb testing.TB, key string) {
	tb.Helper()
	press := map[string]any{"type": "keyDown", "key": key, "windowsVirtualKeyCode": map[string]int{"Enter": 13, "Escape": 27, "Tab": 9, "Backspace": 8,
		"PageUp": 33, "PageDown": 34, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}[key]}
	switch {
	case key == "Enter":
		press["text"] = "\r"
	case len([]rune(key)) == 1:
		press["text"] = key
	}
	p.call(tb, "Input.dispatchKeyEvent", press, nil)
	press["type"] = "keyUp"
	delete(press, "text")
	p.call(tb, "Input.dispatchKeyEvent", press, nil)
}

// Prefer sets the preferred colour scheme of the user: light or dark.
func (p *Page) Prefer(tb testing.TB, scheme string) {
	tb.Helper()
	p.call(tb, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// Screenshot writes the visible part of the page to a file, as PNG.
func (p *Page) Screenshot(tb testing.TB, file string) {
	tb.Helper()
	var shot struct{ Data string }
	p.call(tb, "Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(file, png, 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// Errors returns the errors of the page except for failed requests: exceptions, and violations of its policy.
func (p *Page) Errors() (errors []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.messages[p.session] {
		if !strings.Contains(text, `"source":"network"`) {
			errors = append(errors, text)
		}
	}
	return errors
}
