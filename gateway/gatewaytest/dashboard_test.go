package gatewaytest_test

import (
	"encoding/json"
	"fmt"
	"image"
	_ "image/png" // what the browser draws
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

const (
	dashboardFile = "../../deploy/grafana/dashboards/revtail.json"
	alertsFile    = "../../deploy/prometheus/alerts.yaml"
)

// panel is one of the dashboard.
type panel struct {
	Type, Title string
	Targets     []struct{ Expr string }
	GridPos     struct{ X, Y, W, H int }
}

// panels are those of the dashboard, rows aside.
func panels(t *testing.T) []panel {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct{ Panels []panel }
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	shown := slices.DeleteFunc(dashboard.Panels, func(p panel) bool { return p.Type == "row" })
	if len(shown) < 20 {
		t.Fatalf("the dashboard has %d panels", len(shown))
	}
	return shown
}

// filled is what Grafana makes of an expression: its variables have values.
func filled(expr string) string {
	return strings.NewReplacer("$__rate_interval", "10s", "$instance", ".*").Replace(expr)
}

// load is a gateway at which a little of everything happens each time that it is called.
func load(t *testing.T, gw *gatewaytest.Gateway) func() {
	t.Helper()
	for range 3 {
		gw.Watch(t, configMaps+"?watch=1")
	}
	n := 0
	return func() {
		n++
		created := gw.Create(t, configMaps, gatewaytest.ConfigMap(fmt.Sprint("map-", n), "1"))
		gw.Do(t, "GET", configMaps, "")
		gw.Do(t, "GET", configMaps+"/absent", "")
		gw.Do(t, "GET", fmt.Sprintf("%s?resourceVersionMatch=Exact&resourceVersion=%v", configMaps, created.Revision(t)-1), "")
	}
}

// TestDashboard: every expression of the dashboard has data in a Prometheus that scrapes a gateway with something to do, every
// alert can be evaluated there, and a browser draws them. It is Prometheus' own page that the browser shows: Grafana is not run.
func TestDashboard(t *testing.T) {
	t.Parallel()
	gatewaytest.LookPath(t, "prometheus", "prometheus")
	gw := gatewaytest.Start(t, "--history", "1s")
	prometheus := gatewaytest.StartPrometheus(t, gw, alertsFile)
	work := load(t, gw)
	var waiting []string
	for _, p := range panels(t) {
		for _, target := range p.Targets {
			waiting = append(waiting, p.Title+": "+filled(target.Expr))
		}
	}
	hasData := func(titled string) bool {
		_, expr, _ := strings.Cut(titled, ": ")
		return slices.ContainsFunc(prometheus.Query(t, expr), func(s gatewaytest.Series) bool { return s.Value != "NaN" })
	}
	t.Logf("%d expressions", len(waiting))
	defer func() {
		if len(waiting) > 0 {
			t.Logf("there is no data for\n%s", strings.Join(waiting, "\n"))
		}
	}()
	gatewaytest.Until(t, "data for all expressions", func() bool {
		work()
		waiting = slices.DeleteFunc(waiting, hasData)
		return len(waiting) == 0
	})
	var rules []gatewaytest.Rule
	gatewaytest.Until(t, "the alerts are evaluated", func() bool {
		rules = prometheus.Rules(t)
		return len(rules) > 0 && !slices.ContainsFunc(rules, func(r gatewaytest.Rule) bool { return r.Health == "unknown" })
	})
	for _, rule := range rules {
		if rule.Health != "ok" || rule.State == "firing" {
			t.Errorf("alert %s is %s, %s: %s", rule.Name, rule.Health, rule.State, rule.LastError)
		}
	}
	t.Run("in a browser", func(t *testing.T) { showGraphs(t, prometheus) })
}

// showGraphs has a real browser draw what the dashboard is about.
func showGraphs(t *testing.T, prometheus *gatewaytest.Prometheus) {
	t.Helper()
	browser := gatewaytest.LookPath(t, "chromium", "chromium")
	query, graphs := url.Values{}, 0
	for _, p := range panels(t) {
		if slices.Contains([]string{"Requests", "Events sent", "Quantiles", "Keys"}, p.Title) && p.Type == "timeseries" {
			query.Set(fmt.Sprintf("g%d.expr", graphs), filled(p.Targets[0].Expr))
			query.Set(fmt.Sprintf("g%d.tab", graphs), "0")
			query.Set(fmt.Sprintf("g%d.range_input", graphs), "1m")
			graphs++
		}
	}
	picture := filepath.Join(t.ArtifactDir(), "graphs.png")
	dom := browse(t, browser, "--dump-dom", "--screenshot="+picture, prometheus.URL+"/graph?"+query.Encode())
	if !strings.Contains(dom, "rickshaw") {
		t.Skip("this Prometheus has another page: what is drawn there is not known")
	}
	if drawn := strings.Count(dom, "<path class=\"path\" d=\"M"); drawn < graphs {
		t.Errorf("%d lines are drawn in %d graphs", drawn, graphs)
	}
	file, err := os.Open(picture)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it was read
	shown, _, err := image.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	if coloured := countColoured(shown); coloured < 1000 {
		t.Errorf("%d pixels of %v have a colour", coloured, shown.Bounds())
	}
}

// browse returns the document that a page has become.
func browse(t *testing.T, browser string, args ...string) string {
	t.Helper()
	args = append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" + t.TempDir(), "--window-size=1400,2600", "--virtual-time-budget=10000",
	}, args...)
	out, err := exec.CommandContext(t.Context(), browser, args...).Output()
	if err != nil {
		t.Fatalf("%s: %v", browser, err)
	}
	return string(out)
}

func countColoured(shown image.Image) (n int) {
	for y := shown.Bounds().Min.Y; y < shown.Bounds().Max.Y; y++ {
		for x := shown.Bounds().Min.X; x < shown.Bounds().Max.X; x++ {
			if r, g, b, _ := shown.At(x, y).RGBA(); max(r, g, b)-min(r, g, b) > 0x4000 {
				n++
			}
		}
	}
	return n
}

// TestPanelsDoNotOverlap: nobody sees what is below another panel.
func TestPanelsDoNotOverlap(t *testing.T) {
	taken := map[image.Point]string{}
	for _, p := range panels(t) {
		for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				if x >= 24 {
					t.Errorf("%s is wider than the page", p.Title)
				}
				if other := taken[image.Pt(x, y)]; other != "" {
					t.Fatalf("%s lies on %s", p.Title, other)
				}
				taken[image.Pt(x, y)] = p.Title
			}
		}
	}
}

// TestAlerts: the rules are what they are meant to be; and there is no metric in them that nobody has.
func TestAlerts(t *testing.T) {
	text, err := os.ReadFile(alertsFile)
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, pattern := range []string{"../*.go", "../*/*.go", "../../cmd/revtail/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") {
				sources.Write(source)
			}
		}
	}
	for _, name := range regexp.MustCompile(`\brevtail_\w+`).FindAllString(string(text), -1) {
		if !strings.Contains(sources.String(), `"`+strings.TrimSuffix(name, "_bucket")+`"`) {
			t.Errorf("no metric has the name %s", name)
		}
	}
	promtool := gatewaytest.LookPath(t, "promtool", "prometheus")
	for _, args := range [][]string{
		{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}, {"check", "config", "--syntax-only", "prometheus.yaml"},
	} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = filepath.Dir(alertsFile)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", cmd, err, out)
		}
	}
}
