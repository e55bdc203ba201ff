//go:build unix

package gatewaytest_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestConsoleEdit checks that a text is tried out, shown as a difference with warnings and stored; that a refusal names its field, and that
// a conflict with a second writer loses nothing.
func TestConsoleEdit(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t)
	gw.Create(t, configMaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"theme","labels":{"app":"web"}},"data":{"colour":"red","size":"1","z":"1"}}`)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1500, 1000)
	openObject(t, p, gw, "resource=/api/v1/configmaps", "default/theme", "")

	act(t, p, "edit")
	replaceText(t, p, "app: web", "app: -no-")
	act(t, p, "review")
	p.Wait(t, "document.querySelector('.causes')?.textContent.includes('Refused (422)') && document.querySelector('.causes li b').textContent === 'metadata.labels'")
	p.Click(t, ".causes li button")
	if chosen := p.Eval(t, area+".value.slice("+area+".selectionStart, "+area+".selectionEnd)"); chosen != "  labels:" {
		t.Errorf("the line of the field is %q", chosen)
	}
	replaceText(t, p, "app: -no-", "app: web")
	replaceText(t, p, "colour: red", "colour: blue")
	p.Press(t, "End")
	p.Press(t, "Enter") // keeps the indentation
	p.Type(t, "added: yes indeed")
	replaceText(t, p, "kind: ConfigMap", "unknown: 1")
	p.Press(t, "Enter")
	p.Type(t, "kind: ConfigMap")
	act(t, p, "review")
	p.Wait(t, "document.querySelector('.warnings')?.textContent.includes('unknown field')")
	if fields := p.Text(t, ".fields-changed"); !strings.Contains(fields, `data.colour "red" → "blue"`) || !strings.Contains(fields, `data.added "yes indeed"`) {
		t.Errorf("the difference is %q", fields)
	}
	if got := gw.Get(t, configMaps+"/theme").Data["colour"]; got != "red" {
		t.Errorf("a review has stored %q", got)
	}

	managed(t, gw, "second-writer", `{"data":{"colour":"green","z":"2"}}`)
	act(t, p, "save")
	p.Wait(t, "document.querySelector('[data-action=rebase]')?.disabled && "+panelText+".includes('by second-writer (Update)') && "+panelText+".includes('1 stretch was changed by both')")
	p.Screenshot(t, filepath.Join(t.ArtifactDir(), "conflict.png"))
	if got := gw.Get(t, configMaps+"/theme").Data["colour"]; got != "green" {
		t.Errorf("the second writer's colour is %q", got)
	}
	p.Click(t, ".conflict input[value=mine]")
	act(t, p, "rebase")
	p.Wait(t, area+".value.includes('colour: blue') && "+area+".value.includes('z: \"2\"') && "+area+".value.includes('added: yes indeed')")
	p.Eval(t, area+".focus()")
	p.Press(t, "Escape") // closes nothing
	act(t, p, "review")
	act(t, p, "save")
	p.Wait(t, said+".startsWith('Stored as revision')")
	stored := gw.Do(t, http.MethodGet, configMaps+"/theme?pretty=0", "").Body
	for _, want := range []string{`"colour":"blue"`, `"z":"2"`, `"added":"yes indeed"`, `"manager":"revtail-console"`, `"manager":"second-writer"`} {
		if !strings.Contains(stored, want) {
			t.Errorf("stored is %s, want %s in it", stored, want)
		}
	}

	act(t, p, "edit")
	replaceText(t, p, "colour: blue", "colour: pink")
	p.Click(t, "#tab-yaml") // leaves the editor, although it was chosen before
	p.Wait(t, "!"+area)
	act(t, p, "edit")
	p.Wait(t, area+"?.value.includes('colour: pink')")
	act(t, p, "discard")
	p.Wait(t, "!"+area+" && "+panelText+".includes('blue')")
	noErrors(t, p)
}

// TestConsoleLargeNumber checks that a number of an object that JavaScript cannot represent is shown, and edited, as it is.
func TestConsoleLargeNumber(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t)
	gw.Create(t, definitions, strings.Replace(definition, `"openAPIV3Schema":{`, `"openAPIV3Schema":{"x-kubernetes-preserve-unknown-fields":true,`, 1))
	eventually(t, "widgets to be served", func() bool { return gw.Do(t, http.MethodGet, widgets, "").Code == http.StatusOK })
	gw.Create(t, widgets, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"big":9007199254740993}`)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1500, 1000)
	openObject(t, p, gw, "resource=/apis/example.com/v1/widgets", "default/w", "")
	p.Wait(t, panelText+".includes('big: 9007199254740993')")
	p.Click(t, "#tab-json")
	p.Wait(t, panelText+`.includes('"big": 9007199254740993')`)
	act(t, p, "edit")
	p.Wait(t, area+"?.value.includes('big: 9007199254740993')")
	replaceText(t, p, "9007199254740993", "9007199254740995")
	act(t, p, "review")
	act(t, p, "save")
	p.Wait(t, said+".startsWith('Stored')")
	if stored := gw.Do(t, http.MethodGet, widgets+"/w?pretty=0", "").Body; !strings.Contains(stored, `"big":9007199254740995`) {
		t.Errorf("stored is %s", stored)
	}
	noErrors(t, p)
}

// TestConsoleEditKey checks that the value of a key is stored byte for byte, under the condition of its revision.
func TestConsoleEditKey(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t, "--keys-writable", "/app/", "--keys", "*")
	etcd := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	put(t, gw, "/app/json", `{"n":9007199254740993,"s":"a"}`)
	put(t, gw, "/app/text", "listen 80;\n# end\n")
	etcd.Put(t, "/closed/a", "1")
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1500, 1000)

	openObject(t, p, gw, "key=%2Fapp%2F", "/app/json", "")
	act(t, p, "edit")
	replaceText(t, p, `"a"`, `"b"`)
	act(t, p, "review")
	put(t, gw, "/app/json", `{"n":9007199254740993,"s":"a","t":1}`)
	act(t, p, "save")
	p.Wait(t, panelText+".includes('Changed meanwhile')")
	p.Wait(t, "document.querySelector('.conflict')")
	p.Click(t, ".conflict input[value=theirs]")
	act(t, p, "rebase")
	replaceText(t, p, `"t": 1`, `"t": 9007199254740995`)
	act(t, p, "review")
	act(t, p, "save")
	p.Wait(t, said+".startsWith('Stored')")
	if got := gw.Do(t, http.MethodGet, "/v1/keys/app/json?pretty=0&encoding=base64", "").Body; !strings.Contains(got, base64.StdEncoding.EncodeToString([]byte(`{"n":9007199254740993,"s":"a","t":9007199254740995}`))) {
		t.Errorf("stored is %s", got)
	}

	openObject(t, p, gw, "key=%2Fapp%2F", "/app/text", "")
	act(t, p, "edit")
	replaceText(t, p, "80", "81")
	act(t, p, "review")
	act(t, p, "save")
	p.Wait(t, said+".startsWith('Stored')")
	if got := gw.Do(t, http.MethodGet, "/v1/keys/app/text?pretty=0", "").Body; !strings.Contains(got, `"listen 81;\n# end\n"`) {
		t.Errorf("stored is %s", got)
	}

	openObject(t, p, gw, "key=%2Fclosed%2F", "/closed/a", "")
	p.Wait(t, "document.querySelector('[data-action=edit]').disabled && document.querySelector('[data-action=delete]').disabled && document.querySelector('.object-why').textContent.includes('--keys-writable')")
	noErrors(t, p)
}

// TestConsoleCreateAndDelete checks that an object is made of the template of its kind, deleted after a question, and made again.
func TestConsoleCreateAndDelete(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/#resource=/apis/apps/v1/deployments", 1500, 1000)
	p.Wait(t, isLive)
	p.Click(t, "#new")
	p.Wait(t, area+"?.value.includes('kind: Deployment')")
	replaceText(t, p, `name: ""`, "name: web")
	act(t, p, "review")
	act(t, p, "save")
	p.Wait(t, "document.querySelector('#detail-title').textContent === 'default/web' && "+said+".startsWith('Stored')")
	const web = "/apis/apps/v1/namespaces/default/deployments/web"
	gw.Get(t, web)
	gw.Patch(t, web, `{"metadata":{"finalizers":["example.com/wait"]}}`)
	p.Wait(t, panelText+".includes('example.com/wait')")
	act(t, p, "delete")
	p.Wait(t, "document.querySelector('dialog[open]')?.textContent.includes('Delete default/web?') && document.querySelector('dialog[open]').textContent.includes('example.com/wait')")
	p.Press(t, "Escape")
	p.Wait(t, "!document.querySelector('dialog[open]') && document.activeElement.dataset.action === 'delete'") // the focus returns
	gw.Get(t, web)
	act(t, p, "delete")
	act(t, p, "delete-confirm")
	p.Wait(t, said+".includes('finalizers') || "+panelText+".includes('deletionTimestamp')")
	gw.Patch(t, web, `{"metadata":{"finalizers":null}}`)
	p.Wait(t, when+".startsWith('Deleted at revision')")
	act(t, p, "edit") // create again
	act(t, p, "review")
	act(t, p, "save")
	p.Wait(t, when+".startsWith('Live') && "+said+".startsWith('Stored')")
	gw.Get(t, web)
	noErrors(t, p)
}

// TestConsoleEditorInView checks that the editor begins with the first line, and that its buttons are in view however long the text is.
func TestConsoleEditorInView(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("theme", strings.Repeat("line\n", 100)))
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1280, 800)
	for _, size := range [][2]int{{1280, 800}, {390, 844}} {
		p.Resize(t, size[0], size[1])
		openObject(t, p, gw, "resource=/api/v1/configmaps", "default/theme", "")
		act(t, p, "edit")
		p.Wait(t, area+" === document.activeElement && "+area+".scrollHeight > "+area+".clientHeight")
		if top := p.Eval(t, area+".scrollTop"); top != 0.0 {
			t.Errorf("%v: the text begins %v px above what is seen", size, top)
		}
		inView := `(() => { const b = document.querySelector('[data-action=%s]'), r = b.getBoundingClientRect()
			return b === document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2) })()`
		p.Wait(t, fmt.Sprintf(inView, "review"))
		replaceText(t, p, "line", "text")
		act(t, p, "review")
		p.Wait(t, "document.querySelector('[data-action=save]')")
		p.Wait(t, fmt.Sprintf(inView, "save"))
		act(t, p, "back")
		act(t, p, "discard")
		p.Wait(t, "!"+area)
	}
	noErrors(t, p)
}
