package gatewaytest_test

import (
	"encoding/json"
	"fmt"
	"image"
	_ "image/png" // the format of the browser's screenshots
	"io/fs"
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
	dashboardFile  = "../../deploy/grafana/dashboards/revtail.json"
	alertsFile     = "../../deploy/prometheus/alerts.yaml"
	alertTestsFile = "../../deploy/prometheus/alerts_test.yaml"
)

// dashboard is the part of Grafana's dashboard that the tests read, without rows.
type dashboard struct {
	Templating struct{ List []variable }
	Panels     []panel
}

// variable is a selection above the panels. Without a selection it is AllValue.
type variable struct{ Name, Type, Definition, AllValue string }

type panel struct {
	Type, Title string
	Targets     []target
	GridPos     struct{ X, Y, W, H int }
}

type target struct{ Expr, LegendFormat string }

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	d.Panels = slices.DeleteFunc(d.Panels, func(p panel) bool { return p.Type == "row" })
	if len(d.Panels) < 20 {
		t.Fatalf("the dashboard has %d panels", len(d.Panels))
	}
	return d
}

// filled replaces the variables of an expression with values, as Grafana does.
func (d dashboard) filled(expr string) string {
	values := []string{"$__rate_interval", "10s"}
	for _, v := range d.Templating.List {
		values = append(values, "$"+v.Name, v.AllValue)
	}
	return strings.NewReplacer(values...).Replace(expr)
}

var (
	labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`) // Grafana's own function
	metricName  = regexp.MustCompile(`\brevtail_\w+`)
	legendLabel = regexp.MustCompile(`{{(\w+)}}`)
)

// checkVariables checks that each variable has values to select.
func (d dashboard) checkVariables(t *testing.T, prometheus *gatewaytest.Prometheus) {
	t.Helper()
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		call := labelValues.FindStringSubmatch(v.Definition)
		if call == nil {
			t.Errorf("variable %s is %s, which this test cannot read", v.Name, v.Definition)
			continue
		}
		found := prometheus.Query(t, fmt.Sprintf("group by (%s) (%s)", call[2], d.filled(call[1])))
		if !slices.ContainsFunc(found, func(s gatewaytest.Series) bool { return s.Labels[call[2]] != "" }) {
			t.Errorf("variable %s has no values: %s", v.Name, v.Definition)
		}
	}
}

// checkSeries checks that the series has the labels of the legend, and comes from a gateway, although Prometheus scrapes another target
// too.
func checkSeries(t *testing.T, of string, target target, found []gatewaytest.Series, instance string) {
	t.Helper()
	for _, s := range found {
		for _, label := range legendLabel.FindAllStringSubmatch(target.LegendFormat, -1) {
			if s.Labels[label[1]] == "" {
				t.Errorf("%s: the legend is %q, and the series has %v", of, target.LegendFormat, s.Labels)
			}
		}
		if got := s.Labels["instance"]; got != "" && got != instance {
			t.Errorf("%s shows %s, which is not a gateway", of, got)
		}
	}
}

// load is a gateway that handles a few requests of every kind at each call.
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

// TestDashboard checks that every expression of the dashboard has data in a Prometheus that scrapes a gateway under load and itself: only
// of the gateway, with the labels of the legend. It evaluates every alert, and a browser draws the graphs on Prometheus' own page, because
// Grafana does not run.
func TestDashboard(t *testing.T) {
	t.Parallel()
	gatewaytest.LookPath(t, "prometheus", "prometheus")
	gw := gatewaytest.Start(t, "--history", "1s", "--history-dir", t.TempDir())
	prometheus := gatewaytest.StartPrometheus(t, gw, alertsFile)
	work, d := load(t, gw), readDashboard(t)
	type query struct {
		of string
		target
	}
	var waiting []query
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			waiting = append(waiting, query{p.Title, target})
		}
	}
	hasData := func(q query) bool {
		found := prometheus.Query(t, d.filled(q.Expr))
		checkSeries(t, q.of, q.target, found, strings.TrimPrefix(gw.URL, "http://"))
		return slices.ContainsFunc(found, func(s gatewaytest.Series) bool { return s.Value != "NaN" })
	}
	gatewaytest.Until(t, "a scrape of the gateway, and of what is none", func() bool {
		return len(prometheus.Query(t, "process_resident_memory_bytes")) == 2
	})
	t.Logf("%d expressions", len(waiting))
	defer func() {
		for _, q := range waiting {
			t.Logf("there is no data for %s: %s", q.of, d.filled(q.Expr))
		}
	}()
	gatewaytest.Until(t, "data for all expressions", func() bool {
		work()
		waiting = slices.DeleteFunc(waiting, hasData)
		return len(waiting) == 0
	})
	d.checkVariables(t, prometheus)
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
	t.Run("in a browser", func(t *testing.T) { showGraphs(t, d, prometheus) })
}

// showGraphs draws the expressions of the dashboard in a real browser.
func showGraphs(t *testing.T, d dashboard, prometheus *gatewaytest.Prometheus) {
	t.Helper()
	browser := gatewaytest.LookPath(t, "chromium", "chromium")
	query, graphs := url.Values{}, 0
	for _, p := range d.Panels {
		if slices.Contains([]string{"Requests", "Events sent", "Quantiles", "Keys"}, p.Title) && p.Type == "timeseries" {
			query.Set(fmt.Sprintf("g%d.expr", graphs), d.filled(p.Targets[0].Expr))
			query.Set(fmt.Sprintf("g%d.tab", graphs), "0")
			query.Set(fmt.Sprintf("g%d.range_input", graphs), "1m")
			graphs++
		}
	}
	picture := filepath.Join(t.ArtifactDir(), "graphs.png")
	dom := browse(t, browser, "--dump-dom", "--screenshot="+picture, prometheus.URL+"/graph?"+query.Encode())
	if !strings.Contains(dom, "rickshaw") {
		t.Skip("this Prometheus has another page, which the test cannot read")
	}
	if drawn := strings.Count(dom, "<path class=\"path\" d=\"M"); drawn < graphs {
		t.Errorf("%d lines in %d graphs", drawn, graphs)
	}
	file, err := os.Open(picture)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	shown, _, err := image.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	if coloured := countColoured(shown); coloured < 1000 {
		t.Errorf("%d pixels of %v have a colour", coloured, shown.Bounds())
	}
}

// browse returns the document of a page after its scripts have run.
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

// TestPanelsDoNotOverlap checks that no panel covers another one.
func TestPanelsDoNotOverlap(t *testing.T) {
	taken := map[image.Point]string{}
	for _, p := range readDashboard(t).Panels {
		for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				if x >= 24 {
					t.Errorf("%s is wider than the page", p.Title)
				}
				if other := taken[image.Pt(x, y)]; other != "" {
					t.Fatalf("%s overlaps %s", p.Title, other)
				}
				taken[image.Pt(x, y)] = p.Title
			}
		}
	}
}

// TestAlerts checks that the rules are valid, and that their metrics exist.
func TestAlerts(t *testing.T) {
	text, err := os.ReadFile(alertsFile)
	if err != nil {
		t.Fatal(err)
	}
	sources := productSources(t)
	for _, name := range metricName.FindAllString(string(text), -1) {
		if !strings.Contains(sources, `"`+strings.TrimSuffix(name, "_bucket")+`"`) {
			t.Errorf("no metric has the name %s", name)
		}
	}
	checkCovered(t, string(text))
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

// productSources returns the source of the gateway and of the program, without tests and their helpers.
func productSources(t *testing.T) string {
	t.Helper()
	var sources strings.Builder
	for _, root := range []string{"..", "../../cmd/revtail"} {
		err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "gatewaytest":
				return filepath.SkipDir
			case entry.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
				return nil
			}
			source, err := os.ReadFile(file)
			sources.Write(source)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return sources.String()
}

// checkCovered checks that the rules' tests raise each alert, and have a value for each metric of a healthy gateway, because a rule without
// data never fires.
func checkCovered(t *testing.T, rules string) {
	t.Helper()
	text, err := os.ReadFile(alertTestsFile)
	if err != nil {
		t.Fatal(err)
	}
	tests := strings.Split(string(text), "\n- name: ")
	if len(tests) < 4 {
		t.Fatalf("%s has %d tests", alertTestsFile, len(tests)-1)
	}
	well, wrong := tests[1], tests[3]
	for _, alert := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(rules, -1) {
		if !strings.Contains(wrong, `{alertname="`+alert[1]+`"}`) {
			t.Errorf("no test raises %s", alert[1])
		}
	}
	for line := range strings.Lines(rules) {
		if text := strings.TrimSpace(line); strings.HasPrefix(text, "summary:") || strings.HasPrefix(text, "description:") {
			continue // it may name a metric with more labels
		}
		for _, metric := range metricName.FindAllString(line, -1) {
			if !strings.Contains(well, metric+"{") {
				t.Errorf("%s has no value in a healthy gateway", metric)
			}
		}
	}
}
