package gatewaytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest/program"
)

// Prometheus is a Prometheus process that scrapes a gateway.
type Prometheus struct {
	URL string
	*process
}

// LookPath finds a program that a machine may lack; without it the test is skipped.
func LookPath(tb testing.TB, program, pkg string) string {
	tb.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		tb.Skipf("%s is not installed here: apt-get install %s", program, pkg)
	}
	return path
}

// StartPrometheus starts a Prometheus that scrapes the gateway each second, as job revtail, and itself, and has the rules of a file. It
// ends with the test.
func StartPrometheus(tb testing.TB, gw *Gateway, rules string) *Prometheus {
	tb.Helper()
	binary := LookPath(tb, "prometheus", "prometheus")
	rules, err := filepath.Abs(rules)
	if err != nil {
		tb.Fatal(err)
	}
	dir, address := tb.TempDir(), program.FreeAddress()
	config := filepath.Join(dir, "prometheus.yaml")
	text := fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
- job_name: revtail
  static_configs: [{targets: [%q]}]
- job_name: prometheus
  static_configs: [{targets: [%q]}]
`, rules, strings.TrimPrefix(gw.URL, "http://"), address)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	p := &Prometheus{URL: "http://" + address}
	p.process = launch(tb, "prometheus at "+p.URL, filepath.Join(tb.ArtifactDir(), "prometheus.log"),
		binary, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	Until(tb, "Prometheus is ready", func() bool {
		response, err := client.Get(p.URL + "/-/ready") //nolint:noctx // on loopback; the program ends with the test
		if err != nil {
			return false
		}
		_ = response.Body.Close() // the body does not matter
		return response.StatusCode == http.StatusOK
	})
	return p
}

// Series is a series of a response, with its last value, which may be NaN.
type Series struct {
	Labels map[string]string
	Value  string
}

// Query returns the current result of an expression.
func (p *Prometheus) Query(tb testing.TB, expression string) []Series {
	tb.Helper()
	var answer struct {
		Result []struct {
			Metric map[string]string
			Value  []any
		}
	}
	p.ask(tb, "query?query="+url.QueryEscape(expression), &answer)
	out := make([]Series, 0, len(answer.Result))
	for _, r := range answer.Result {
		out = append(out, Series{r.Metric, fmt.Sprint(r.Value[1])})
	}
	return out
}

// Rule is an alert and its state.
type Rule struct{ Name, Query, Health, State, LastError string }

// Rules returns the rules of the file.
func (p *Prometheus) Rules(tb testing.TB) []Rule {
	tb.Helper()
	var answer struct{ Groups []struct{ Rules []Rule } }
	p.ask(tb, "rules", &answer)
	var out []Rule
	for _, group := range answer.Groups {
		out = append(out, group.Rules...)
	}
	return out
}

// ask gets the data of a response of Prometheus' API.
func (p *Prometheus) ask(tb testing.TB, path string, data any) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, p.URL+"/api/v1/"+path, nil)
	if err != nil {
		tb.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Status != "success" {
		tb.Fatalf("%s: %s %s %v", path, answer.Status, answer.Error, err)
	}
}
