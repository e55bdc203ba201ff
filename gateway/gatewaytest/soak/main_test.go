package soak

import (
	"flag"
	"os"
	"runtime"
	"testing"

	"revtail/gateway/gatewaytest"
	"revtail/gateway/gatewaytest/robustness"
)

var (
	length = flag.Duration("for", 0, "time of the run; zero: none")
	folder = flag.String("out", "", "folder for soak.csv and soak.svg; none: one of the test")
)

func TestMain(m *testing.M) { gatewaytest.Main(m) }

func TestSoak(t *testing.T) {
	if *length < 0 {
		t.Fatalf("-for %v: want a time such as 90s or 24h", *length)
	}
	if *length == 0 {
		t.Skip("`make soak` runs for an hour")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the resources of a process are read from /proc")
	}
	s := &soak{length: *length, folder: *folder}
	if s.folder == "" {
		s.folder = t.ArtifactDir()
	}
	result := robustness.Perform(t, s.scenario(), false)
	for _, v := range result.Violations[:min(20, len(result.Violations))] {
		t.Error(v)
	}
	if result.Folder != "" {
		t.Errorf("%d violations; the history is in %s", len(result.Violations), result.Folder)
	}
	findings := judge(s.samples)
	if err := writeFindings(os.Stdout, findings); err != nil {
		t.Error(err)
	}
	for _, f := range findings {
		if f.bad {
			t.Errorf("replica %d, %s: %s", f.replica, f.metric.name, f.verdict)
		}
	}
	t.Logf("the samples are in %s", s.folder)
}
