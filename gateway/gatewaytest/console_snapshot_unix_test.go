//go:build unix

package gatewaytest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// TestConsoleShowsSnapshot checks that the console shows a snapshot as it shows a server, and says which file it is, of which revision and time, and that
// nothing can be written.
func TestConsoleShowsSnapshot(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	etcd := gatewaytest.StartEtcd(t, 1)
	gw := gatewaytest.Start(t, "--etcd-endpoints", etcd.Endpoints())
	gw.Create(t, secrets, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"pw"},"stringData":{"password":"correct-horse"}}`)
	first := gw.Create(t, configMaps, gatewaytest.ConfigMap("theme", "red")).Revision(t)
	gw.Patch(t, configMaps+"/theme", `{"data":{"value":"blue"}}`)
	file := filepath.Join(t.TempDir(), "backup.db")
	revtail(t, "snapshot", "save", file, "--etcd-endpoints", etcd.Endpoints())
	saved := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	if err := os.Chtimes(file, saved, saved); err != nil {
		t.Fatal(err)
	}
	before := sumOf(t, file)
	snapshot := &gatewaytest.Gateway{URL: urlOfReady.FindStringSubmatch(openFile(t, file))[1]}

	p := gatewaytest.OpenPage(t, snapshot.URL+"/ui/#resource=/api/v1/configmaps", 1500, 1000)
	p.Wait(t, isLive+" && "+rows+" === 1 && !document.querySelector('#problems').hidden")
	mark := p.Text(t, "#problems")
	for _, want := range []string{"the snapshot backup.db at revision ", ", last written 2026-11-21T10:00:00Z", "with the values of Secrets redacted", "it can only be read"} {
		if !strings.Contains(mark, want) {
			t.Errorf("the mark is %q, want %q in it", mark, want)
		}
	}
	const locked = "document.querySelector('[data-action=edit]').disabled && document.querySelector('[data-action=delete]').disabled && document.querySelector('.object-why').textContent.includes('read')"
	openObject(t, p, snapshot, "resource=/api/v1/configmaps", "default/theme", "")
	p.Wait(t, locked+" && document.querySelector('#object').textContent.includes('blue')")
	p.Click(t, "#new")
	p.Wait(t, said+".includes('read')")
	openObject(t, p, snapshot, "resource=/api/v1/configmaps", "default/theme", fmt.Sprintf("&at=%d", first))
	p.Wait(t, isPast+" && document.querySelector('#object').textContent.includes('red')")
	openObject(t, p, snapshot, "resource=/api/v1/secrets", "default/pw", "")
	p.Wait(t, locked)
	if text := p.Text(t, "#object"); strings.Contains(text, "correct-horse") || strings.Contains(text, "Y29ycmVjdC1ob3JzZQ") {
		t.Errorf("the page shows the value of a Secret: %s", text)
	}
	noErrors(t, p)
	if sumOf(t, file) != before {
		t.Error("the file has changed")
	}
}
