package program

import (
	"testing"
	"time"
)

func TestParseCPU(t *testing.T) {
	const stat = "4711 (a (b) c) S 1 4711 4711 0 -1 4194560 1 2 3 4 250 50 9 9 20 0 8 0 170739 3133440 381"
	if got, err := parseCPU(stat); err != nil || got != 3*time.Second {
		t.Errorf("%v, %v, want 3s", got, err)
	}
	if _, err := parseCPU("4711 (cut off) S 1"); err == nil {
		t.Error("an incomplete line is accepted")
	}
}

func TestParseSchedstat(t *testing.T) {
	if got, err := parseSchedstat("1184441 393329 1\n"); err != nil || got != 1184441 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := parseSchedstat(""); err == nil {
		t.Error("an empty file is accepted")
	}
}

func TestParseKilobytes(t *testing.T) {
	const status = "VmPeak:\t  300 kB\nVmHWM:\t  200 kB\nVmRSS:\t  100 kB\n"
	if got, err := parseKilobytes(status, "VmHWM"); err != nil || got != 200<<10 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := parseKilobytes(status, "Anonymous"); err == nil {
		t.Error("a missing line is accepted")
	}
}
