//go:build unix

package gatewaytest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

const (
	changesText = "[...document.querySelectorAll('.recorded > li')].map((row) => [...row.querySelectorAll('.badge, .who, .what')].map((each) => each.textContent).join(' ') || row.textContent).join('|')"
	bars        = "[...document.querySelectorAll('#activity-bars .bar')].length"
	dialog      = "(document.querySelector('dialog.restore')?.textContent ?? '')"
)

// startRecording starts a gateway with a journal.
func startRecording(t *testing.T, args ...string) *gatewaytest.Gateway {
	t.Helper()
	return gatewaytest.Start(t, append([]string{"--history-dir", filepath.Join(t.TempDir(), "journal")}, args...)...)
}

// forget compacts etcd when the journal has recorded all changes.
func forget(t *testing.T, gw *gatewaytest.Gateway, endpoint string) {
	t.Helper()
	etcd := gatewaytest.DialEtcd(t, endpoint)
	newest := etcd.Revision(t)
	gatewaytest.Until(t, "the journal has all changes", func() bool {
		answer := gw.Do(t, http.MethodGet, "/v1/history?resource=configmaps&count=1h", "")
		var end struct{ Through int64 }
		lines := strings.Split(strings.TrimSpace(answer.Body), "\n")
		return json.Unmarshal([]byte(lines[len(lines)-1]), &end) == nil && end.Through >= newest
	})
	<-time.After(300 * time.Millisecond) // they are on the disk a moment later
	etcd.Compact(t, newest)
}

// openRow opens the difference of the n-th row of the recorded changes, and returns when it is shown.
func openRow(t *testing.T, p *gatewaytest.Page, n int) {
	t.Helper()
	p.Click(t, fmt.Sprintf(".recorded > li:nth-child(%d) .open", n))
	p.Wait(t, fmt.Sprintf("document.querySelector('.recorded > li:nth-child(%d) > .change .diff')", n))
}

// TestConsoleRecorded checks the recorded changes of an object after a compaction of etcd: who made them, their differences, those that come while
// they are shown, its deletion, links to one change and to an object that was deleted, and the keyboard.
func TestConsoleRecorded(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := startRecording(t)
	gw.Create(t, configMaps+"?fieldManager=kubectl-create", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"theme"},"data":{"colour":"red","size":"1"}}`)
	managed(t, gw, "kubectl-patch", `{"data":{"colour":"blue"}}`)
	managed(t, gw, "kubectl-edit", `{"data":{"size":"2","a":"1","b":"1","c":"1","d":"1"}}`)
	forget(t, gw, gw.EtcdEndpoint)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1500, 1000)
	openObject(t, p, gw, "resource=/api/v1/configmaps", "default/theme", "&tab=history")
	p.Wait(t, "document.querySelectorAll('.recorded > li').length === 3 && document.querySelector('.history-end').textContent.startsWith('Changes are recorded since revision')")
	const want = "changed kubectl-edit data.a, data.b, data.c, data.d +1|changed kubectl-patch data.colour|added kubectl-create apiVersion, data, kind, metadata"
	if got := p.Eval(t, changesText); got != want {
		t.Errorf("the changes are %v, want %s", got, want)
	}
	openRow(t, p, 2)
	if fields := p.Text(t, ".change .fields-changed"); !strings.Contains(fields, `data.colour "red" → "blue"`) {
		t.Errorf("the difference is %q", fields)
	}
	link := p.Eval(t, "location.hash")
	managed(t, gw, "late", `{"data":{"size":"3"}}`)
	p.Wait(t, changesText+".startsWith('changed late data.size|') && document.querySelector('.recorded > li:nth-child(3) > .change')")

	p.Eval(t, "document.querySelector('.recorded .open').focus()")
	p.Press(t, "Enter")
	p.Wait(t, "document.querySelector('.recorded > li:first-child > .change .fields-changed')?.textContent.includes('data.size') && document.querySelectorAll('.change').length === 1")
	if state := p.Eval(t, "document.activeElement.getAttribute('aria-expanded')"); state != "true" {
		t.Errorf("the button of the open change is expanded: %v", state)
	}
	p.Press(t, "Enter")
	p.Wait(t, "!document.querySelector('.change')")

	gw.Do(t, http.MethodDelete, configMaps+"/theme", "")
	p.Wait(t, when+".startsWith('Deleted at revision') && "+changesText+".startsWith('deleted')")
	p.Click(t, ".event.deleted .name")
	p.Wait(t, when+".startsWith('Deleted at revision')")
	forget(t, gw, gw.EtcdEndpoint)
	p.Open(t, fmt.Sprint(gw.URL, "/ui/?again", link))
	p.Wait(t, when+".startsWith('Deleted at revision') && "+when+".includes('last state') && document.querySelector('.recorded > li:nth-child(4)')")
	p.Wait(t, "document.querySelector('.recorded > li:nth-child(4) .fields-changed')?.textContent.includes('\"red\" → \"blue\"')")
	openRow(t, p, 1)
	if shown := p.Text(t, ".change"); !strings.Contains(shown, "Deleted by this change") || !strings.Contains(shown, "colour: blue") {
		t.Errorf("the deletion shows %q", shown)
	}
	openObject(t, p, gw, "resource=/api/v1/configmaps", "default/theme", "")
	p.Wait(t, panelText+".includes('colour: blue')")
	noErrors(t, p)
}

// TestConsoleRecordedPages checks that many changes are read page by page, that what is not recorded is a row, and what is said without a journal.
func TestConsoleRecordedPages(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	keeper := gatewaytest.Start(t)
	gw := startRecording(t, "--etcd-endpoints", keeper.EtcdEndpoint)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("theme", "0"))
	for n := range 60 {
		managed(t, gw, "many", fmt.Sprintf(`{"data":{"value":"%d"}}`, n+1))
	}
	gw.Create(t, configMaps, gatewaytest.ConfigMap("last", "1")) // proves afterwards that the history up to it is the same
	forget(t, gw, keeper.EtcdEndpoint)
	gw.Stop(t)
	managed(t, keeper, "meanwhile", `{"data":{"value":"a"}}`)
	managed(t, keeper, "meanwhile", `{"data":{"value":"b"}}`)
	etcd := gatewaytest.DialEtcd(t, keeper.EtcdEndpoint)
	etcd.Compact(t, etcd.Revision(t))
	gw.Restart(t)
	managed(t, gw, "after", `{"data":{"value":"c"}}`)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1500, 1000)
	openObject(t, p, gw, "resource=/api/v1/configmaps", "default/theme", "&tab=history")
	p.Wait(t, "document.querySelectorAll('.recorded > li').length > 20")
	if rows := fmt.Sprint(p.Eval(t, changesText)); !strings.HasPrefix(rows, "changed after data.value|Changes between revisions ") || strings.Contains(rows, "meanwhile") {
		t.Errorf("the changes are %s", rows)
	}
	for p.Eval(t, "document.querySelector('.more-lines').hidden") == false {
		had := p.Eval(t, "document.querySelectorAll('.recorded > li').length").(float64)
		p.Click(t, ".more-lines")
		p.Wait(t, fmt.Sprintf("document.querySelectorAll('.recorded > li').length > %v || document.querySelector('.more-lines').hidden", had))
		p.Wait(t, "!document.querySelector('.history-end').textContent.includes('Reading')")
	}
	p.Wait(t, "document.querySelectorAll('.recorded > li').length === 63 && "+changesText+".split('|').at(-1).startsWith('added')")
	if n := p.Eval(t, "new Set([...document.querySelectorAll('.recorded > li')].map((row) => row.dataset.revision)).size"); n != 63.0 {
		t.Errorf("%v different rows, want 62 changes and a gap", n)
	}
	openObject(t, p, keeper, "resource=/api/v1/configmaps", "default/theme", "&tab=history")
	p.Wait(t, panelText+".includes('keeps no journal') && document.querySelector('.history-end').textContent.includes('compacted')")
	if shown := p.Eval(t, "document.querySelector('#activity').hidden"); shown != true {
		t.Error("there is a chart without a journal")
	}
	noErrors(t, p)
}

// TestConsoleActivity checks the chart of changes over time: its numbers, by the mouse and by the keyboard, and that a bar leads to the state after
// its changes, also after a compaction.
func TestConsoleActivity(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := startRecording(t, "--keys-writable", "/app/")
	for n := range 3 {
		gw.Create(t, configMaps, gatewaytest.ConfigMap(fmt.Sprint("early-", n), "1"))
	}
	<-time.After(2100 * time.Millisecond) // another bar
	late := gw.Create(t, configMaps, gatewaytest.ConfigMap("late", "1")).Revision(t)
	forget(t, gw, gw.EtcdEndpoint)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/#resource=/api/v1/configmaps", 1500, 1000)
	p.Wait(t, "!document.querySelector('#activity').hidden && "+bars+" >= 2 && document.querySelector('#activity-sum').textContent.startsWith('4 changes')")
	p.Eval(t, "document.querySelector('#activity-chart').focus()")
	p.Press(t, "Home")
	p.Wait(t, "document.querySelector('#activity-chart').ariaValueNow === '0' && / to .*: [123] changes?$/.test(document.querySelector('#activity-chart').ariaValueText)")
	p.Press(t, "End")
	p.Wait(t, "document.querySelector('#activity-chart').ariaValueText.endsWith(': 1 change')")
	p.Press(t, "ArrowLeft")
	p.Press(t, "Enter")
	p.Wait(t, isPast+" && "+rows+" === 3 && document.querySelector('#activity-bars .here')")
	if said := p.Text(t, "#banner-text"); strings.Contains(said, "unknown time") || strings.Contains(said, "about") {
		t.Errorf("the time of the past is %q", said)
	}
	p.Press(t, "End")
	p.Press(t, "Enter")
	p.Wait(t, fmt.Sprintf("document.querySelector('#at').value === '%d' && %s === 4", late, rows))
	p.Press(t, "0")
	p.Wait(t, isLive)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("now", "1"))
	p.Wait(t, "document.querySelector('#activity-sum').textContent.startsWith('5 changes')")
	p.Click(t, "#activity summary")
	p.Wait(t, "!document.querySelector('#activity-chart').checkVisibility()")
	p.Open(t, gw.URL+"/ui/?again#resource=/api/v1/configmaps")
	p.Wait(t, "!document.querySelector('#activity').hidden && !document.querySelector('#activity-chart').checkVisibility()") // the browser remembers
	p.Open(t, gw.URL+"/ui/?keys#key=/app/")
	p.Wait(t, isLive+" && document.querySelector('#activity').hidden")
	noErrors(t, p)
}

// TestConsoleRestore checks that a recorded state is written after its difference has been shown, that a change meanwhile is a conflict, and that a
// deleted object is made again without its owners.
func TestConsoleRestore(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := startRecording(t)
	owner := gw.Create(t, configMaps, gatewaytest.ConfigMap("owner", "1")).Metadata.UID
	gw.Create(t, configMaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"theme","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"`+owner+`"}]},"data":{"colour":"red"}}`)
	managed(t, gw, "kubectl-patch", `{"data":{"colour":"blue"}}`)
	forget(t, gw, gw.EtcdEndpoint)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1500, 1000)
	openObject(t, p, gw, "resource=/api/v1/configmaps", "default/theme", "&tab=history")
	const ofRow = ".recorded > li:nth-child(%d) [data-action=restore-state]"
	p.Wait(t, "document.querySelector('.recorded > li:first-child [data-action=restore-state]')?.title === 'This is the live state.'")
	p.Click(t, fmt.Sprintf(ofRow, 2))
	p.Wait(t, dialog+`.includes('data.colour "blue" → "red"') && document.activeElement.dataset.action === 'restore-confirm'`)
	p.Press(t, "Escape")
	p.Wait(t, "!document.querySelector('dialog.restore') && document.activeElement.dataset.action === 'restore-state'")

	p.Click(t, fmt.Sprintf(ofRow, 2))
	p.Wait(t, dialog+`.includes('"blue" → "red"')`)
	managed(t, gw, "meanwhile", `{"data":{"colour":"green"}}`)
	act(t, p, "restore-confirm")
	p.Wait(t, dialog+".includes('another client has changed it meanwhile')")
	if got := gw.Get(t, configMaps+"/theme").Data["colour"]; got != "green" {
		t.Errorf("a conflict has stored %q", got)
	}
	act(t, p, "restore-again")
	p.Wait(t, dialog+`.includes('"green" → "red"')`)
	act(t, p, "restore-confirm")
	p.Wait(t, said+".startsWith('Stored as revision') && "+changesText+".startsWith('changed revtail-console data.colour|')")
	if got := gw.Get(t, configMaps+"/theme"); got.Data["colour"] != "red" {
		t.Errorf("restored is %v", got.Data)
	}

	before := gw.Get(t, configMaps+"/theme").Metadata.UID
	gw.Do(t, http.MethodDelete, configMaps+"/theme", "")
	p.Wait(t, changesText+".startsWith('deleted')")
	p.Click(t, fmt.Sprintf(ofRow, 1))
	p.Wait(t, dialog+".includes('It does not exist now') && "+dialog+".includes('ConfigMap owner') && "+dialog+".includes('colour: red')")
	act(t, p, "restore-confirm")
	p.Wait(t, when+".startsWith('Live') && "+changesText+".startsWith('added')")
	again := gw.Do(t, http.MethodGet, configMaps+"/theme?pretty=0", "")
	if again.Object.Metadata.UID == before || strings.Contains(again.Body, "ownerReferences") || again.Object.Data["colour"] != "red" {
		t.Errorf("made again is %s", again.Body)
	}
	noErrors(t, p)
}

// TestConsoleRestoreRefused checks that what may not be written, and values that are not recorded, cannot be restored, with the reason.
func TestConsoleRestoreRefused(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	keeper, _ := others(t)
	gw := startRecording(t, "--etcd-endpoints", keeper.EtcdEndpoint)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1500, 1000)
	openObject(t, p, gw, "resource=/api/v1/configmaps", "default/b", "&tab=history")
	p.Wait(t, "document.querySelector('.object-why').textContent.includes('read-only') && document.querySelector('.history-end')?.textContent.includes('recorded since')")

	own := startRecording(t)
	own.Create(t, secrets, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"pw"},"stringData":{"password":"correct-horse"}}`)
	own.Patch(t, secrets+"/pw", `{"stringData":{"password":"battery-staple"}}`)
	openObject(t, p, own, "resource=/api/v1/secrets", "default/pw", "&tab=history")
	p.Wait(t, "document.querySelectorAll('.recorded > li').length === 2")
	p.Wait(t, "document.querySelector('.recorded > li:last-child [data-action=restore-state]').disabled && document.querySelector('.recorded > li:last-child [data-action=restore-state]').title.includes('not recorded') && "+changesText+".includes('values are not recorded')")
	p.Click(t, ".recorded > li:last-child .open")
	p.Wait(t, "document.querySelector('.change')?.textContent.includes('only if they are encrypted in etcd')")
	noErrors(t, p)
}

// TestConsoleRestoreSecret checks that an encrypted Secret is restored, and that the page has none of its values meanwhile.
func TestConsoleRestoreSecret(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	encryptionFile(t, file, secretbox("key1"), identity)
	gw := startRecording(t, "--encryption-provider-config", file)
	first, second := base64.StdEncoding.EncodeToString([]byte("correct-horse")), base64.StdEncoding.EncodeToString([]byte("battery-staple"))
	gw.Create(t, secrets, fmt.Sprintf(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"pw"},"data":{"password":%q}}`, first))
	gw.Patch(t, secrets+"/pw", fmt.Sprintf(`{"data":{"password":%q}}`, second))
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1500, 1000)
	hidden := func(where string) {
		t.Helper()
		page := fmt.Sprint(p.Eval(t, "document.documentElement.outerHTML"))
		for _, text := range []string{first, second, "correct-horse", "battery-staple"} {
			if strings.Contains(page, text) {
				t.Errorf("%s: the page has %s", where, text)
			}
		}
	}
	openObject(t, p, gw, "resource=/api/v1/secrets", "default/pw", "&tab=history")
	p.Wait(t, changesText+".startsWith('changed Go-http-client data.password|added')")
	openRow(t, p, 1)
	p.Wait(t, "document.querySelector('.change').textContent.includes('bytes, changed)')")
	hidden("a change")
	p.Click(t, "[data-secret='data/password'] button")
	p.Wait(t, fmt.Sprintf("document.querySelector('.change')?.textContent.includes(%q)", first))
	p.Click(t, "[data-secret='data/password'] button")
	p.Wait(t, "document.querySelector('.change')?.textContent.includes('bytes, changed)')")
	hidden("hidden again")
	p.Click(t, ".recorded > li:last-child [data-action=restore-state]")
	p.Wait(t, dialog+".includes('bytes, changed)')")
	hidden("the question")
	act(t, p, "restore-confirm")
	p.Wait(t, said+".startsWith('Stored as revision')")
	if got := gw.Get(t, secrets+"/pw").Data["password"]; got != first {
		t.Errorf("restored is %q", got)
	}
	hidden("restored")
	noErrors(t, p)
}

// TestConsoleHistoryAccess checks what WCAG demands of the recorded changes, the chart and the question before a restore, in each size, and keeps
// pictures of them.
func TestConsoleHistoryAccess(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := startRecording(t)
	const deployments = "/apis/apps/v1/namespaces/shop/deployments"
	for _, name := range []string{"api", "cart", "checkout", "search", "web"} {
		gw.Create(t, deployments+"?fieldManager=kubectl-create", fmt.Sprintf(`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":%q},"spec":{"replicas":2,"selector":{"matchLabels":{"app":%[1]q}},`+
			`"template":{"metadata":{"labels":{"app":%[1]q}},"spec":{"containers":[{"name":%[1]q,"image":"registry.example/%[1]s:1.4.2"}]}}}}`, name))
	}
	for n, patch := range []string{`{"spec":{"replicas":3}}`, `{"metadata":{"annotations":{"example.org/build":"42"}},"spec":{"paused":true,"minReadySeconds":5,"revisionHistoryLimit":3}}`, `{"spec":{"paused":false}}`} {
		<-time.After(1100 * time.Millisecond)
		gw.Patch(t, deployments+"/web?fieldManager="+[]string{"kubectl-scale", "kubectl-edit", "helm"}[n], patch)
		gw.Patch(t, deployments+"/web/status?fieldManager=kube-controller-manager", fmt.Sprintf(`{"status":{"observedGeneration":%d,"replicas":%d}}`, n+2, n+1))
		gw.Patch(t, deployments+"/cart?fieldManager=kubectl-scale", fmt.Sprintf(`{"spec":{"replicas":%d}}`, n+4))
	}
	gw.Do(t, http.MethodDelete, deployments+"/search", "")
	forget(t, gw, gw.EtcdEndpoint)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1600, 1000)
	shoot := func(name string) {
		t.Helper()
		for _, scheme := range []string{"light", "dark"} {
			p.Prefer(t, scheme)
			p.Screenshot(t, filepath.Join(t.ArtifactDir(), strings.NewReplacer(" ", "-", "%", "").Replace(name)+"-"+scheme+".png"))
		}
	}
	for _, size := range sizes {
		p.Resize(t, size.width, size.height)
		p.Open(t, fmt.Sprint(gw.URL, "/ui/?", size.width, "#resource=/apis/apps/v1/deployments&namespace=shop"))
		p.Wait(t, isLive+" && "+bars+" > 2")
		check(t, p, size.name+", chart")
		shoot(size.name + "-chart")
		openObject(t, p, gw, "resource=/apis/apps/v1/deployments&namespace=shop", "shop/web", "&tab=history")
		p.Wait(t, "document.querySelectorAll('.recorded > li').length === 7")
		check(t, p, size.name+", changes")
		shoot(size.name + "-changes")
		openRow(t, p, 4)
		check(t, p, size.name+", a change")
		shoot(size.name + "-change")
		p.Click(t, ".recorded > li:last-child [data-action=restore-state]")
		p.Wait(t, dialog+".includes('spec.replicas')")
		check(t, p, size.name+", restore")
		shoot(size.name + "-restore")
		act(t, p, "restore-cancel")
	}
	noErrors(t, p)
}
