//go:build unix

package gatewaytest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// putMany writes a key for each number from first to last, and returns the revision of the last transaction.
func putMany(t *testing.T, gw *gatewaytest.Gateway, prefix string, first, last int, value func(n int) string) {
	t.Helper()
	const most = 100 // operations of a transaction
	for ; first <= last; first += most {
		var ops []string
		for n := first; n < first+most && n <= last; n++ {
			ops = append(ops, fmt.Sprintf(`{"put":{"key":"%s%06d","value":%s}}`, prefix, n, value(n)))
		}
		if answer := gw.Do(t, http.MethodPost, "/v1/txn", `{"then":[`+strings.Join(ops, ",")+`]}`); answer.Code != http.StatusOK {
			t.Fatalf("transaction: %d %s", answer.Code, answer.Body)
		}
	}
}

// received is what a tab of the console has received of events.
const received = "Number(document.querySelector('#received').textContent.replace(/\\D/g, ''))"

// TestConsoleTabs checks that twelve tabs of one browser, which has six connections to a host over HTTP/1.1, are all live and share
// one stream, and that each has all events in order, also over the death of the gateway.
func TestConsoleTabs(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t, "--keys-writable", "*")
	const tabs = 12
	pages := []*gatewaytest.Page{gatewaytest.OpenPage(t, gw.URL+"/ui/#key=/tabs/", 1000, 700)}
	for len(pages) < tabs {
		pages = append(pages, pages[0].Tab(t, gw.URL+"/ui/#key=/tabs/"))
	}
	other := pages[0].Tab(t, gw.URL+"/ui/#resource=/api/v1/configmaps")
	everywhere := func(expression string) {
		t.Helper()
		for _, p := range pages {
			p.Show(t)
			p.Wait(t, expression)
		}
	}
	everywhere(isLive)
	other.Wait(t, isLive)
	if n := watches(t, gw); n != 2 {
		t.Errorf("%d tabs have %d watches at the gateway, want one for the keys and one for the resource", tabs, n)
	}
	const burst = 40 // the list of events shows so many at once
	putMany(t, gw, "/tabs/", 1, burst, func(n int) string { return fmt.Sprint(n) })
	everywhere(fmt.Sprintf("%s === %d && %s > 10", received, burst, rows))
	for n, p := range pages {
		names := fmt.Sprint(p.Eval(t, "[...document.querySelectorAll('.event .name')].map((e) => e.textContent).reverse().join()"))
		want := make([]string, burst)
		for i := range want {
			want[i] = fmt.Sprintf("/tabs/%06d", i+1)
		}
		if names != strings.Join(want, ",") {
			t.Errorf("tab %d: the events are %s", n, names)
		}
		if got := p.Eval(t, "fetch('/v1/keys/tabs/?count').then((r) => r.json()).then((r) => r.count)"); got != float64(burst) {
			t.Errorf("tab %d: a list answers %v", n, got)
		}
	}

	late := pages[0].Tab(t, gw.URL+"/ui/#key=/tabs/") // joins the stream that there is
	pages = append(pages, late)
	late.Wait(t, isLive)
	if n := watches(t, gw); n != 2 {
		t.Errorf("with another tab there are %d watches", n)
	}
	gw.Kill(t)
	everywhere(isAway)
	gw.Restart(t)
	everywhere(isLive)
	put(t, gw, "/tabs/000", `"the restart"`)
	everywhere(row("/tabs/000") + ".includes('the restart')")

	other.Close(t)
	gatewaytest.Until(t, "the watch of a closed tab ends", func() bool { return watches(t, gw) == 1 })
	for _, p := range pages[1:] {
		p.Close(t)
	}
	put(t, gw, "/tabs/0000", `"one is left"`)
	pages[0].Show(t)
	pages[0].Wait(t, row("/tabs/0000")+".includes('one is left')")
	for _, p := range pages {
		if errors := p.Errors(); errors != nil {
			t.Errorf("a page has had errors: %s", errors)
		}
	}
}

// TestConsoleTabsHaveTheirOwnTokens checks that the stream of one tab serves no tab with another token.
func TestConsoleTabsHaveTheirOwnTokens(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	g := startGuarded(t, false, []string{"reader", "stranger"}, role("reader", reader)+bind("reader", "reader"))
	p := gatewaytest.OpenPage(t, g.URL+"/ui/#resource=/api/v1/configmaps", 1000, 700)
	use := func(p *gatewaytest.Page, user string) {
		p.Wait(t, "document.querySelector('#token-dialog').open")
		p.Type(t, "token-of-"+user)
		p.Press(t, "Enter")
	}
	use(p, "reader")
	p.Wait(t, isLive)
	for _, user := range []string{"stranger", "reader"} {
		other := p.Tab(t, g.URL+"/ui/#resource=/api/v1/configmaps")
		use(other, user)
		if user == "reader" {
			other.Wait(t, isLive)
			continue
		}
		other.Wait(t, "document.querySelector('#message').textContent.toLowerCase().includes('forbidden')")
		if shown := other.Eval(t, rows); shown != 0.0 {
			t.Errorf("%s sees %v rows", user, shown)
		}
	}
}

// TestConsoleWithoutWorker checks that a browser without shared workers gets streams of its own.
func TestConsoleWithoutWorker(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t, "--keys-writable", "*")
	p := gatewaytest.OpenPage(t, gw.URL+"/version", 1000, 700)
	p.Before(t, "delete window.SharedWorker")
	p.Open(t, gw.URL+"/ui/#key=/app/")
	p.Wait(t, isLive)
	put(t, gw, "/app/a", "1")
	p.Wait(t, row("/app/a")+" !== ''")
	if has := p.Eval(t, "typeof SharedWorker"); has != "undefined" {
		t.Errorf("SharedWorker is a %v", has)
	}
}

// TestConsoleNumbers checks that numbers that no double holds are shown as they are stored.
func TestConsoleNumbers(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t, "--keys-writable", "*")
	numbers := []string{"9007199254740993", "-9223372036854775808", "18446744073709551615", "0.1", "1e400", "12345678901234567890.5"}
	put(t, gw, "/app/n", `{"n":[`+strings.Join(numbers, ",")+`]}`)
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/#key=/app/", 1600, 900)
	p.Wait(t, isLive)
	p.Click(t, ".row[data-id='/app/n']")
	p.Wait(t, "document.querySelector('#object').textContent.includes('18446744073709551615')")
	for _, number := range numbers {
		if text := p.Text(t, ".row[data-id='/app/n']"); number != numbers[5] && !strings.Contains(text, number) { // the cell is cut
			t.Errorf("the row shows %s, want %s in it", text, number)
		}
		if text := p.Text(t, "#object"); !strings.Contains(text, number) {
			t.Errorf("the object shows %s, want %s in it", text, number)
		}
	}
	put(t, gw, "/app/n", `{"n":[`+strings.Join(numbers, ",")+`,9007199254740995]}`)
	p.Wait(t, "document.querySelector('.event .fields')?.textContent.includes('9007199254740995')")
}

// watches returns how many watches of clients are open.
func watches(t *testing.T, gw *gatewaytest.Gateway) int {
	t.Helper()
	var list struct{ Watchers []json.RawMessage }
	if err := json.Unmarshal([]byte(gw.Do(t, http.MethodGet, "/debug/watchers", "").Body), &list); err != nil {
		t.Fatal(err)
	}
	return len(list.Watchers)
}
