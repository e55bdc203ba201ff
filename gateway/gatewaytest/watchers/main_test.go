package main

import (
	"math"
	"os"
	"strings"
	"testing"
)

func TestSlotReadsLines(t *testing.T) {
	const body = `{"type":"MODIFIED","object":{"metadata":{"resourceVersion":"7"}}}` + "\n" + `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}` + "\n" +
		`{"type":"MODIFIED","object":{"metadata":{"resourceVersion":"10"}}}` + "\n"
	for size := 1; size <= len(body); size++ {
		s := slot{last: 5}
		f := new(fleet)
		for rest := body; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if err := s.data(f, []byte(rest[:min(size, len(rest))])); err != nil {
				t.Fatal(err)
			}
		}
		if s.events != 2 || s.last != 10 || len(s.partial) > 0 {
			t.Fatalf("%d bytes at a time: %+v", size, s)
		}
		if err := s.data(f, []byte(body)); err == nil {
			t.Fatal("an event that came before is accepted")
		}
	}
	if err := new(slot).data(new(fleet), []byte(`{"type":"ERROR","object":{}}`+"\n")); err == nil {
		t.Error("an error is accepted")
	}
}

func TestFit(t *testing.T) {
	var rows [][]float64
	var values []float64
	for _, watchers := range []float64{1, 5, 20} {
		for _, objects := range []float64{0.1, 10, 40} {
			rows = append(rows, []float64{1, watchers, objects})
			values = append(values, 90+3*watchers+1.5*objects)
		}
	}
	at := fit(rows, values)
	for i, want := range []float64{90, 3, 1.5} {
		if math.Abs(at[i]-want) > 1e-6 {
			t.Errorf("coefficient %d is %v, want %v", i, at[i], want)
		}
	}
	if rms, worst := residuals(rows, values, at); rms > 1e-6 || worst > 1e-6 {
		t.Errorf("the error is %v, %v", rms, worst)
	}
}

// TestBalancerConfig checks that HAProxy gets the replicas instead of the gateways of the compose stack.
func TestBalancerConfig(t *testing.T) {
	config, err := os.ReadFile("../../../deploy/haproxy.cfg")
	if err != nil {
		t.Fatal(err)
	}
	got := balancerConfig(string(config), "127.0.0.1:1", "/c.pem", []string{"127.0.0.1:2", "127.0.0.1:3"})
	for _, want := range []string{"\tbind 127.0.0.1:1 ssl crt /c.pem alpn h2,http/1.1\n", "\tserver gateway-1 127.0.0.1:2\n", "\tserver gateway-2 127.0.0.1:3\n", "option httpchk GET /readyz"} {
		if !strings.Contains(got, want) {
			t.Errorf("the configuration lacks %q", want)
		}
	}
	if strings.Contains(got, "gateway-1:8080") || strings.Contains(got, "init-addr") || strings.Contains(got, "bind :8080") {
		t.Errorf("the configuration has a name of the compose stack:\n%s", got)
	}
}
