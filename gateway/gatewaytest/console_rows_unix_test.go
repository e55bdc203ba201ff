//go:build unix

package gatewaytest_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// names returns an expression: the names of the rows of the console's table, from top to bottom.
const names = `[...document.querySelectorAll('.row[data-id]')].sort((a, b) => a.ariaRowIndex - b.ariaRowIndex).map((row) => row.dataset.id).join()`

// TestConsoleColumns checks that the table has the columns that kubectl shows, sorts by their meaning, and keeps ages and cells true.
func TestConsoleColumns(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t)
	const deployments = "/apis/apps/v1/namespaces/default/deployments"
	for name, replicas := range map[string]int{"few": 2, "many": 10, "none": 0} {
		gw.Create(t, deployments, fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%[1]q,"labels":{"size":%[1]q}},"spec":{"replicas":%[2]d,"selector":{"matchLabels":{"a":"b"}},`+
			`"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"main","image":"nginx"}]}}}}`, name, replicas))
	}
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/#resource=/apis/apps/v1/deployments", 1600, 900)
	p.Wait(t, isLive+" && "+rows+" === 3")
	heads := func() string {
		return fmt.Sprint(p.Eval(t, "[...document.querySelectorAll('[role=columnheader]')].map((e) => e.textContent).join()"))
	}
	if got := heads(); !strings.HasPrefix(got, "Namespace,Name,Ready,Up-to-date,Available,Age,") || strings.Contains(got, "Containers") {
		t.Errorf("the columns are %s", got)
	}
	if text := p.Text(t, ".row[data-id='default/many']"); !strings.HasPrefix(text, "defaultmany0/10") {
		t.Errorf("the row of many is %q", text)
	}
	p.Click(t, ".wide")
	p.Wait(t, row("default/many")+".includes('nginx')")
	if got := heads(); !strings.Contains(got, "Containers,Images,Selector") {
		t.Errorf("the columns of the wide table are %s", got)
	}

	sort := func(column int, direction, want string) {
		t.Helper()
		p.Click(t, fmt.Sprintf("[role=columnheader]:nth-child(%d) button", column))
		p.Wait(t, fmt.Sprintf("document.querySelector('[role=columnheader]:nth-child(%d)').ariaSort === '%s' && %s === '%s'", column, direction, names, want))
	}
	sort(3, "ascending", "default/none,default/few,default/many") // 0/0, 0/2, 0/10
	sort(3, "descending", "default/many,default/few,default/none")
	p.Wait(t, "location.hash.includes('sort=-ready')")
	gw.Patch(t, deployments+"/few/status", `{"status":{"replicas":2,"readyReplicas":2,"updatedReplicas":2,"availableReplicas":2}}`)
	p.Wait(t, row("default/few")+".includes('2/2') && "+names+" === 'default/few,default/many,default/none'")
	sort(3, "none", "default/few,default/many,default/none") // by name again

	ages := "document.querySelector(\".row[data-id='default/many'] .age\").textContent"
	before := fmt.Sprint(p.Eval(t, ages))
	p.Wait(t, fmt.Sprintf("%s !== '%s'", ages, before))
	if harm := p.Eval(t, "document.querySelector('#table').ariaRowCount"); harm != "4" {
		t.Errorf("aria-rowcount is %v, want 4 with the head", harm)
	}
	p.Click(t, "[role=columnheader] button")
	p.Press(t, "ArrowRight")
	if got := p.Eval(t, "document.activeElement.textContent + document.querySelectorAll('[role=columnheader] button[tabindex=\"0\"]').length"); got != "Name1" {
		t.Errorf("the focus is at %v, want it at Name as the only button of the head in the order of Tab", got)
	}
	p.Press(t, "/")
	p.Type(t, "-l size in (few, many)")
	p.Wait(t, names+" === 'default/few,default/many'")
	p.Press(t, "Escape")
	p.Wait(t, rows+" === 3")
	p.Press(t, "/")
	p.Type(t, "-l size=huge")
	p.Wait(t, "!document.querySelector('#empty').hidden && document.querySelector('#empty').textContent.includes('size=huge')")
	if errors := p.Errors(); errors != nil {
		t.Errorf("the page has had errors: %s", errors)
	}
}

// frames measures the time between two frames from now on.
const frames = `(() => { window.longest = 0; let last = performance.now()
	const frame = (now) => { longest = Math.max(longest, now - last); last = now; requestAnimationFrame(frame) }; requestAnimationFrame(frame) })()`

// TestConsoleManyRows checks that 50,000 rows at a thousand events a second are shown, sorted and filtered correctly, and prints how fast.
// Above the rows that the page holds, the gateway searches.
func TestConsoleManyRows(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t, "--keys-writable", "*")
	const held, all = 50_000, 60_000
	value := func(n int) string {
		return fmt.Sprintf(`{"n":%d,"colour":%q,"text":"%s"}`, (n*7919)%held, []string{"red", "green", "blue"}[n%3], strings.Repeat("lorem ipsum ", 20))
	}
	putMany(t, gw, "/many/", 1, held, value)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/", 1600, 1000)
	p.Eval(t, frames)
	figure := func(what string, began time.Time) {
		t.Logf("%-50s %5d ms, longest time between two frames %3.0f ms", what, time.Since(began).Milliseconds(), p.Eval(t, "longest"))
		p.Eval(t, "window.longest = 0")
	}
	shown := func(words string) string {
		return fmt.Sprintf("document.querySelector('#count').textContent === %q && !document.querySelector('#table[aria-busy=true]')", words)
	}
	began := time.Now()
	p.Eval(t, "location.hash = '#key=/many/'")
	p.Wait(t, isLive+" && "+shown("50,000 keys"))
	figure("50,000 rows read and shown", began)

	began = time.Now()
	p.Click(t, "[role=columnheader].value button")
	p.Wait(t, "document.querySelector('.row[aria-rowindex=\"2\"]').textContent.includes('n 0 ')")
	figure("sorted by value", began)

	stop := pour(t, gw, manyKey)
	p.Wait(t, received+" > 3000")
	began = time.Now()
	p.Press(t, "/")
	p.Type(t, "GREEN")
	p.Wait(t, "document.querySelector('#count').textContent.endsWith('of 50,000 keys') && "+rows+" > 10")
	figure("filtered by a text at 1,000 events/s", began)
	p.Wait(t, received+" > 6000")
	figure("1,000 events/s on a sorted and filtered table", began)
	stop()
	p.Wait(t, shown("16,667 of 50,000 keys"))
	if order := fmt.Sprint(p.Eval(t, `(() => { const n = [...document.querySelectorAll('.row[data-id]')].sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)
		.map((row) => Number(/n (\d+)/.exec(row.textContent)[1])); return n.length > 10 && n.every((each, i) => i === 0 || n[i - 1] <= each) })()`)); order != "true" {
		t.Error("the rows are not in order")
	}
	p.Screenshot(t, filepath.Join(t.ArtifactDir(), "many.png"))
	p.Press(t, "Escape")
	p.Wait(t, shown("50,000 keys"))

	putMany(t, gw, "/many/", held+1, all, func(n int) string { return fmt.Sprintf(`{"n":%d,"only":"NEEDLE"}`, n%10) })
	putMany(t, gw, "/many/", all-41, all, func(int) string { return `{"haystack":"Grasshopper"}` })
	p.Open(t, gw.URL+"/ui/?again#key=/many/")
	p.Wait(t, isLive+" && "+shown("the first 50,000 keys of 60,000"))
	began = time.Now()
	p.Press(t, "/")
	p.Type(t, "grassHOPPER")
	p.Wait(t, shown("42 of 60,000 keys; searched on the gateway")+" && "+rows+" > 10")
	t.Logf("searched on the gateway in %d ms", time.Since(began).Milliseconds())
	put(t, gw, "/many/000001", `"a grasshopper too"`)
	p.Wait(t, shown("43 of 60,000 keys; searched on the gateway"))
	p.Press(t, "Escape")
	p.Wait(t, shown("the first 50,000 keys of 60,000"))
	p.Press(t, "/")
	p.Type(t, "neither here nor there")
	p.Wait(t, "!document.querySelector('#empty').hidden && document.querySelector('#empty').textContent.includes('60,000')")
	if errors := p.Errors(); errors != nil {
		t.Errorf("the page has had errors: %s", errors)
	}
}

// manyKey is one of 50,000 keys, whose number and colour never change.
func manyKey(n int) string {
	row := n*31%50_000 + 1
	return fmt.Sprintf(`"key":"/many/%06d","value":{"n":%d,"colour":%q,"round":%d}`, row, (row*7919)%50_000, []string{"red", "green", "blue"}[row%3], n/10)
}
