//go:build unix

package gatewaytest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

const (
	isPast = "document.querySelector('#status').dataset.state === 'past'"
	opened = "document.querySelector('#object #detail-title')?.textContent"
)

// TestConsoleURL checks that the URL has the whole state: back and forward move through it, and another tab shows the same.
func TestConsoleURL(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t)
	first := gw.Create(t, configMaps, gatewaytest.ConfigMap("theme", "red")).Revision(t)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("motd", "hello"))
	gw.Patch(t, configMaps+"/theme", `{"data":{"value":"blue"}}`)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("zone", "north"))

	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1600, 1000)
	p.Click(t, "[role=treeitem][data-id='/api/v1/configmaps']")
	p.Wait(t, isLive+" && "+rows+" === 3")
	p.Click(t, "[role=treeitem][data-id='namespace:default']")
	p.Wait(t, "location.hash.includes('namespace=default')")
	p.Wait(t, isLive+" && "+rows+" === 3")
	p.Press(t, "/")
	p.Type(t, "e")
	p.Wait(t, rows+" === 3 || "+rows+" === 2") // theme, zone, and perhaps a name of a manager
	p.Press(t, "Escape")
	p.Press(t, "/")
	p.Type(t, "= object.metadata.name != 'motd'")
	p.Press(t, "Enter")
	p.Wait(t, isLive+" && "+rows+" === 2")
	p.Press(t, "s")
	p.Press(t, "Home")
	p.Press(t, "Enter")
	p.Wait(t, opened+" === 'default/theme'")
	p.Press(t, ":")
	p.Type(t, fmt.Sprint("at ", first))
	p.Press(t, "Enter")
	p.Wait(t, isPast+" && "+rows+" === 1 && document.querySelector('#object').textContent.includes('red')")

	link := fmt.Sprint(p.Eval(t, "location.href"))
	other := gatewaytest.OpenPage(t, link, 1200, 800)
	other.Wait(t, isPast+" && "+rows+" === 1 && document.querySelector('#object').textContent.includes('red')")
	other.Wait(t, opened+" === 'default/theme' && document.querySelector('#filter').value.startsWith('= object')")
	if title, selected := other.Text(t, "#title"), other.Text(t, "[role=treeitem].namespace[aria-selected=true] .label"); title != "configmaps" || selected != "default" {
		t.Errorf("the link shows %q of the namespace %q", title, selected)
	}

	p.Eval(t, "history.back()")
	p.Wait(t, isLive+" && "+opened+" === 'default/theme'")
	p.Eval(t, "history.back()")
	p.Wait(t, "document.querySelector('#object').hidden")
	p.Eval(t, "history.back()")
	p.Wait(t, "!location.hash.includes('namespace=')")
	p.Wait(t, isLive+" && "+rows+" === 3")
	p.Eval(t, "history.go(3)")
	p.Wait(t, isPast+" && "+rows+" === 1 && "+opened+" === 'default/theme'")
	for _, page := range []*gatewaytest.Page{p, other} {
		if errors := page.Errors(); errors != nil {
			t.Errorf("the page has had errors: %s", errors)
		}
	}
}

// TestConsoleTime checks that the page says which time it shows, and that every pane returns to now.
func TestConsoleTime(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t, "--keys-writable", "/app/")
	first := put(t, gw, "/app/config/theme", "red")
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/#key=/app/config/&object=/app/config/theme", 1600, 1000)
	p.Wait(t, isLive+" && "+opened+" === '/app/config/theme'")
	before := put(t, gw, "/app/config/theme", "blue") - 1 // the gateway's record of a time may be between the two
	p.Wait(t, row("/app/config/theme")+".includes('blue')")
	p.Wait(t, "document.querySelector('#density .seen')")
	p.Press(t, ":")
	p.Type(t, fmt.Sprint("at ", before+1))
	p.Press(t, "Enter")
	p.Wait(t, isPast)
	p.Press(t, "[")
	p.Wait(t, fmt.Sprintf("%s && document.querySelector('#banner-text').textContent.includes('revision %d')", isPast, before))
	p.Wait(t, row("/app/config/theme")+".includes('red') && document.querySelector('#object').textContent.includes('red') && document.querySelector('.row.differs')")
	if text := p.Text(t, "#status-text") + p.Text(t, "#events-title"); !strings.HasPrefix(text, "past") || !strings.Contains(text, "of now") {
		t.Errorf("in the past, status and events say %q", text)
	}
	if label, _ := p.Eval(t, "document.querySelector('#slider').getAttribute('aria-valuetext')").(string); !strings.Contains(label, fmt.Sprint("revision ", before)) {
		t.Errorf("the slider says %q", label)
	}
	p.Click(t, "#banner-live")
	p.Wait(t, isLive+" && document.querySelector('#banner').hidden && "+row("default")+" === '' && "+row("/app/config/theme")+".includes('blue')")
	p.Wait(t, "document.querySelector('#object').textContent.includes('blue') && !document.querySelector('.row.differs') && document.querySelector('#slider').value === '1000'")
	p.Wait(t, "!location.hash.includes('at=')")

	// The arrow keys of the slider are revisions; the palette takes a time, and a wrong one is explained.
	p.Eval(t, "document.querySelector('#slider').focus()")
	p.Press(t, "ArrowLeft")
	p.Wait(t, isPast+" && /^(about )?\\d\\d:\\d\\d:\\d\\d, \\d+ \\w+ ago, revision|^revision/.test(document.querySelector('#when').textContent)")
	p.Eval(t, "document.activeElement.blur()")
	p.Press(t, "0")
	p.Wait(t, isLive)
	p.Press(t, ":")
	p.Type(t, "past 10 bananas")
	p.Press(t, "Enter")
	p.Wait(t, "!document.querySelector('#notice').hidden && document.querySelector('#notice-text').textContent.includes('not a time')")
	p.Press(t, ":")
	p.Type(t, "past 10m")
	p.Press(t, "Enter")
	p.Wait(t, "document.querySelector('#notice-text').textContent.includes('known which revision etcd had')") // this etcd is younger
	p.Press(t, "Escape")
	p.Press(t, ":")
	p.Type(t, fmt.Sprint("at ", first))
	p.Press(t, "Enter")
	p.Wait(t, isPast)

	// As soon as the gateway has recorded a time, it can be asked for.
	gatewaytest.Until(t, "a time on record", func() bool {
		return gw.Do(t, http.MethodGet, "/v1/keys?key=/app/&at=-1s&limit=1", "").Code == http.StatusOK
	})
	p.Press(t, "0")
	p.Wait(t, isLive)
	p.Press(t, ":")
	p.Type(t, "past 1s")
	p.Press(t, "Enter")
	p.Wait(t, isPast+" && /\\d\\d:\\d\\d:\\d\\d, \\d+ \\w+ ago, revision/.test(document.querySelector('#banner-text').textContent)")
	p.Eval(t, "document.querySelector('#live').click()")
	p.Wait(t, isLive)
	if errors := p.Errors(); errors != nil {
		t.Errorf("the page has had errors: %s", errors)
	}
}

// TestConsoleKeyboard uses the page without a mouse.
func TestConsoleKeyboard(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	_, p := openPage(t)
	p.Press(t, "j")
	p.Press(t, "j")
	p.Press(t, "k")
	p.Press(t, "j")
	p.Press(t, "Enter")
	p.Wait(t, opened+" === '/app/config/motd'")
	p.Press(t, "m")
	p.Wait(t, "document.body.classList.contains('maximised')")
	p.Press(t, "m")
	p.Press(t, "Escape")
	p.Wait(t, "document.querySelector('#object').hidden && document.activeElement.id === 'table'")

	p.Press(t, "/")
	p.Type(t, "?gseyt0[]") // in a field, letters are letters
	p.Wait(t, "document.querySelector('#filter').value === '?gseyt0[]' && !document.querySelector('dialog[open]') && !document.querySelector('#empty').hidden")
	p.Press(t, "Escape")
	p.Wait(t, rows+" === 3")

	p.Press(t, "?")
	p.Wait(t, "document.querySelectorAll('#help-keys dt').length === document.querySelectorAll('#help-keys dd').length && document.querySelectorAll('#help-keys dt').length > 15")
	p.Press(t, "Escape")

	p.Press(t, ":")
	p.Type(t, "theme dark")
	p.Press(t, "Enter")
	p.Wait(t, "document.documentElement.dataset.theme === 'dark'")
	p.Press(t, ":")
	p.Type(t, "dply") // letters of deployments, in order
	p.Wait(t, "document.querySelector('#palette-list [aria-selected=true] .what').textContent === 'deployments'")
	p.Press(t, "Enter")
	p.Wait(t, "document.querySelector('#title').textContent === 'deployments' && "+isLive)
	p.Wait(t, "document.querySelector('#empty').textContent.startsWith('There is nothing in deployments')")
	p.Press(t, ":")
	p.Type(t, "cm") // a short name
	p.Press(t, "Enter")
	p.Wait(t, "document.querySelector('#title').textContent === 'configmaps'")
	p.Press(t, ":")
	p.Type(t, "/app/config/")
	p.Press(t, "Enter")
	p.Wait(t, "document.querySelector('#title').textContent === '/app/config/' && "+rows+" === 3")

	p.Press(t, "b")
	p.Type(t, "secr")
	p.Wait(t, "document.querySelectorAll('#tree .resource').length === 1")
	p.Press(t, "Enter")
	p.Wait(t, "document.querySelector('#title').textContent === 'secrets' && document.querySelectorAll('#tree .resource').length > 10")

	width := func() float64 {
		t.Helper()
		w, _ := p.Eval(t, "document.querySelector('#browse').offsetWidth").(float64)
		return w
	}
	before := width()
	p.Eval(t, "document.querySelector('#browse-size').focus()")
	p.Press(t, "ArrowRight")
	p.Press(t, "ArrowRight")
	if w := width(); w != before+48 {
		t.Errorf("two arrows make the lists %v px wide of %v", w, before)
	}
	p.Reload(t)
	p.Wait(t, fmt.Sprintf("document.querySelector('#browse')?.offsetWidth === %v", before+48))
	if errors := p.Errors(); errors != nil {
		t.Errorf("the page has had errors: %s", errors)
	}
}

// TestConsoleCounts checks that the lists of namespaces and resources follow what other clients write, without a request of the user.
func TestConsoleCounts(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("theme", "red"))
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/#resource=/api/v1/configmaps", 1600, 1000)
	p.Wait(t, isLive)
	counts := func(id string, n int) string {
		return fmt.Sprintf("document.querySelector(\"[role=treeitem][data-id='%s'] .count\")?.textContent === '%d'", id, n)
	}
	p.Wait(t, counts("/api/v1/configmaps", 1)+" && "+counts("namespace:default", 1)+" && "+counts("/api/v1/secrets", 0))
	gw.Create(t, "/api/v1/namespaces/default/secrets", `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"db"}}`)
	gw.Create(t, "/api/v1/namespaces/other/configmaps", strings.Replace(gatewaytest.ConfigMap("limits", "1"), "default", "other", 1))
	p.Wait(t, counts("/api/v1/configmaps", 2)+" && "+counts("/api/v1/secrets", 1))
	p.Wait(t, counts("namespace:other", 1))
	p.Click(t, "[role=treeitem][data-id='namespace:other']")
	p.Wait(t, isLive+" && "+rows+" === 1 && "+counts("/api/v1/secrets", 0)+" && "+counts("/api/v1/configmaps", 1))
}

// TestConsoleWords checks what the page says when it has nothing to show.
func TestConsoleWords(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw, p := openPage(t)
	says := func(selector, text string) {
		t.Helper()
		p.Wait(t, fmt.Sprintf("document.querySelector(%q).checkVisibility() && document.querySelector(%q).textContent.includes(%q)", selector, selector, text))
	}
	p.Press(t, "/")
	p.Type(t, "= value.size == 99")
	p.Press(t, "Enter")
	says("#empty", "No key of /app/config/ matches the expression value.size == 99")
	p.Press(t, "Escape")
	p.Press(t, "/")
	p.Type(t, "zzz")
	says("#empty", "Nothing of 3 keys contains “zzz”")
	p.Press(t, "Escape")
	p.Eval(t, "location.hash = '#key=/app/nothing/'")
	says("#empty", "There is nothing in /app/nothing/ yet")
	p.Eval(t, "location.hash = '#key=/closed/'")
	says("#message", "is closed to you")
	p.Eval(t, "location.hash = '#resource=/apis/nothing.example/v1/things'")
	says("#message", "does not serve things: 404 page not found")
	p.Wait(t, "document.querySelector('#count').textContent === ''") // drawn after the message
	p.Eval(t, "location.hash = '#key=/app/config/'")
	p.Wait(t, isLive+" && "+rows+" === 3")
	gw.Kill(t)
	says("#lost", "Disconnected since")
	says("#lost", "What is shown is of revision")
	gw.Restart(t)
	p.Wait(t, "document.querySelector('#lost').hidden && "+isLive)
	if errors := p.Errors(); errors != nil {
		t.Errorf("the page has had errors: %s", errors)
	}
}

// TestConsoleCopyAs runs the commands that the page offers to copy, of now and of the past, and checks that they read the same.
func TestConsoleCopyAs(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t)
	first := gw.Create(t, configMaps, gatewaytest.ConfigMap("theme", "red")).Revision(t)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("zone", "north"))
	gw.Patch(t, configMaps+"/theme", `{"metadata":{"labels":{"app":"web"}}}`)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/#resource=/api/v1/configmaps&namespace=default&filter="+url.PathEscape("= object.metadata.name != 'none'"), 1600, 1000)
	p.Wait(t, isLive+" && "+rows+" === 2")
	offered := func() map[string]string {
		t.Helper()
		p.Click(t, "#copy-button")
		p.Wait(t, "document.querySelectorAll('#copy-menu button').length > 3")
		list, _ := p.Eval(t, "[...document.querySelectorAll('#copy-menu button')].map((b) => b.querySelector('.what').textContent + '\\n' + b.querySelector('code').textContent)").([]any)
		p.Press(t, "Escape")
		found := make(map[string]string)
		for _, entry := range list {
			label, command, _ := strings.Cut(fmt.Sprint(entry), "\n")
			found[label] = command
		}
		return found
	}
	run := func(command string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Env = append(os.Environ(), "KUBECONFIG=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	now := offered()
	if out := run(now["curl, list"]); !strings.Contains(out, `"theme"`) || !strings.Contains(out, `"zone"`) {
		t.Errorf("%s\n%s", now["curl, list"], out)
	}
	p.Press(t, ":")
	p.Type(t, fmt.Sprint("at ", first))
	p.Press(t, "Enter")
	p.Wait(t, isPast+" && "+rows+" === 1")
	then := offered()
	if list := then[fmt.Sprint("curl, list of revision ", first)]; !strings.Contains(run(list), `"theme"`) || strings.Contains(run(list), `"zone"`) {
		t.Errorf("%s\n%s", list, run(list))
	}
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Logf("the commands of kubectl are not run: %v", err)
	} else if get := then["kubectl, get --raw"]; !strings.Contains(run(get), `"theme"`) || strings.Contains(run(get), `"zone"`) {
		t.Errorf("%s\n%s", get, run(get))
	}
	if then["Link"] != fmt.Sprint(p.Eval(t, "location.href")) || then["CEL expression"] != "object.metadata.name != 'none'" {
		t.Errorf("offered: %q", then)
	}

	p.Press(t, "0")
	for typed, label := range map[string]string{"THEME": "curl, list", "-l app=web": "kubectl, get"} {
		p.Press(t, "/")
		p.Type(t, typed)
		p.Press(t, "Enter")
		p.Wait(t, isLive+" && "+rows+" === 1")
		command := offered()[label]
		if _, err := exec.LookPath("kubectl"); err != nil && strings.HasPrefix(command, "kubectl") {
			t.Logf("not run: %v", err)
		} else if out := run(command); !strings.Contains(out, "theme") || strings.Contains(out, "zone") {
			t.Errorf("of %s, %s\n%s", typed, command, out)
		}
	}
}

// TestConsoleURLOfViews checks that a link has the columns and the change that are shown, and that in a narrow window it shows the pane that it is about.
func TestConsoleURLOfViews(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("theme", "red"))
	second := managedRevision(t, gw, `{"data":{"value":"green"}}`)
	managedRevision(t, gw, `{"data":{"value":"blue"}}`)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/#resource=/api/v1/configmaps&namespace=default&object=default%2Ftheme&tab=diff", 1280, 800)
	p.Wait(t, panelText+".includes('\"green\" → \"blue\"')")
	if text := p.Text(t, ".row.head"); strings.Contains(text, "Namespace") {
		t.Errorf("the table of one namespace has the columns %s", text)
	}
	p.Click(t, ".wide")
	act(t, p, "earlier")
	p.Wait(t, fmt.Sprintf("location.hash.includes('columns=wide') && location.hash.includes('change=%d')", second))
	link := fmt.Sprint(p.Eval(t, "location.href"))
	other := gatewaytest.OpenPage(t, gw.URL+"/version", 390, 844)
	other.Resize(t, 390, 844)
	other.Open(t, link)
	other.Wait(t, panelText+".includes('\"red\" → \"green\"') && document.querySelector('#object').checkVisibility()")
	other.Wait(t, "document.querySelector('.row.head').textContent.includes('Namespace')")
	if now := other.Eval(t, "location.href"); now != link {
		t.Errorf("the link %s becomes %v", link, now)
	}
	other.Eval(t, "location.hash = '#resource=/api/v1/configmaps'")
	other.Wait(t, isLive+" && document.querySelector('#state').checkVisibility() && !document.querySelector('#browse').checkVisibility()")
	p.Click(t, "#tab-diff") // the change of what is shown
	p.Wait(t, panelText+".includes('\"green\" → \"blue\"') && !location.hash.includes('change=')")
	for _, page := range []*gatewaytest.Page{p, other} {
		noErrors(t, page)
	}
}

// managedRevision patches the ConfigMap theme, and returns its new revision.
func managedRevision(t *testing.T, gw *gatewaytest.Gateway, patch string) int64 {
	t.Helper()
	gw.Patch(t, configMaps+"/theme", patch)
	return gw.Get(t, configMaps+"/theme").Revision(t)
}

// TestConsoleTitles checks that the title and the count of the table are whole in a window of a usual size, and in a narrow one.
func TestConsoleTitles(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t, "--keys-writable", "/app/")
	put(t, gw, "/app/config/theme", "red")
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1280, 800)
	for _, size := range [][2]int{{1280, 800}, {390, 844}} {
		p.Resize(t, size[0], size[1])
		for _, source := range []string{"#resource=/api/v1/configmaps&namespace=default", "#resource=/apis/apps/v1/deployments", "#key=/app/config/"} {
			p.Eval(t, "location.hash = '"+source+"'")
			p.Wait(t, isLive+" && document.querySelector('#count').textContent.length > 4")
			for _, id := range []string{"#title", "#count"} {
				if cut := p.Eval(t, "document.querySelector('"+id+"').scrollWidth - document.querySelector('"+id+"').clientWidth"); cut != 0.0 {
					t.Errorf("%v, %s: %v px of %q are cut off", size, source, cut, p.Text(t, id))
				}
			}
			if over := p.Eval(t, "document.querySelector('#table').scrollWidth - document.querySelector('#table').clientWidth"); size[0] > 1000 && over != 0.0 {
				t.Errorf("%s: the table is %v px too wide", source, over)
			}
		}
	}
}
