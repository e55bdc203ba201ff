package robustness

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"revtail/gateway/gatewaytest"
)

const (
	// stalledMost is the limit for the memory of a stalled client, with the system's buffers.
	stalledMost = 768 << 10
	// stalledUntil is the time after which it must be cut. A violation is twice of it, because the machine may be busy.
	stalledUntil = 35 * time.Second
	// ballastSize is the size of the objects that fill the buffers of clients that do not read.
	ballastSize = 16 << 10
)

var slowScenarios = []Scenario{
	{
		// Clients stop reading beside others that continue. The others' lag is compared with that before.
		Name: "stalled-readers", Etcd: 1, Gateways: 1, Seconds: [2]int{100, 1000},
		Rules: Rules{Events: 5000, Faults: 1, Acknowledged: 100},
		Play: func(r *Run, stalled int) {
			r.Watch(Crowd(200)...)
			r.Write(4)
			r.ballast(20)
			r.Wait(5 * time.Second)
			quiet := time.Now()
			r.Wait(15 * time.Second)
			before, memory := time.Now(), r.memory(0)
			ended := r.endedOn(0)
			r.Fault("%d clients stop to read", stalled)
			r.stall(0, stalled)
			all := time.Now()
			r.Wait(10 * time.Second)
			cost := (r.memory(0) - memory) / int64(stalled)
			r.Note("a stalled client costs %d KiB, the system's buffers included", cost>>10)
			if cost > stalledMost {
				r.Violate("slow-reader", "gateway 0", "a stalled client costs %d KiB", cost>>10)
			}
			gatewaytest.Until(r.TB, "the stalled clients are cut", func() bool {
				return r.endedOn(0)-ended >= float64(stalled) || time.Since(all) > 2*stalledUntil
			})
			if n := r.endedOn(0) - ended; n < float64(stalled) {
				r.Violate("slow-reader", "gateway 0", "after %v %.0f of %d stalled clients have been cut", 2*stalledUntil, n, stalled)
			}
			r.Note("all of them were cut %v after the last one had come", time.Since(all).Round(time.Second))
			done := time.Now()
			r.afterwards = func() {
				alone, beside := r.lag(quiet, before), r.lag(all, done)
				r.Note("lag p99 of the others: %v without them, %v beside them", alone.Round(time.Microsecond), beside.Round(time.Microsecond))
				if beside > 2*(alone*11/10+10*time.Millisecond) {
					r.Violate("slow-reader", "gateway 0", "the others' lag grew from %v to %v", alone, beside)
				}
			}
		},
	},
}

// ballast writes large objects at a rate, besides the standard load.
func (r *Run) ballast(each int) {
	w := &writer{run: r, name: "ballast"}
	r.writing.running.Go(func() {
		w.write(r.writing.ctx, time.Second/time.Duration(each), func(ctx context.Context) {
			key, record := prefix+"c/"+fmt.Sprint("ballast-", w.count%10), &Write{Writer: w.name, Verb: "transaction", Value: w.unique(), Sent: time.Now()}
			record.Keys = []string{key}
			text := strings.Replace(manifest("c", strings.TrimPrefix(key, prefix+"c/"), "red", record.Value, 0), `"pad":"`, `"pad":"`+strings.Repeat("x", ballastSize), 1)
			revision, err := r.etcd.put(ctx, 0, map[string]string{key: text})
			w.note(record, revision, err)
		})
	})
}

// stall opens watches of everything and reads only the header of the response.
func (r *Run) stall(gateway, n int) {
	address := strings.TrimPrefix(r.gateways[gateway].URL, "http://")
	for range n {
		conn, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", address)
		if err != nil {
			r.Fatal(err)
		}
		r.Cleanup(func() { _ = conn.Close() })
		if err := conn.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil {
			r.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", Scope{}.URL("watch", "1"), address); err != nil {
			r.Fatal(err)
		}
		line, err := textproto.NewReader(bufio.NewReaderSize(io.LimitReader(conn, 16), 16)).ReadLine()
		if err != nil || !strings.Contains(line, "200") {
			r.Fatalf("a client that will stall was answered %q: %v", line, err)
		}
	}
}

// endedOn returns the number of stalled watches that a gateway has cut.
func (r *Run) endedOn(gateway int) float64 {
	return r.metric(r.gateways[gateway].URL, `revtail_watches_ended_total{reason="stalled"}`)
}

// memory returns the memory of a gateway, and of the system for its connections and for the clients at their other ends, in bytes.
func (r *Run) memory(gateway int) int64 {
	url := r.gateways[gateway].URL
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	out, err := exec.CommandContext(r.Context(), "ss", "-tmnHO", "( sport = :"+port+" or dport = :"+port+" )").Output()
	if err != nil {
		r.Fatalf("ss, of iproute2, tells what the system's buffers hold: %v", err)
	}
	total := int64(r.metric(url, "process_resident_memory_bytes"))
	for line := range strings.Lines(string(out)) {
		_, buffers, _ := strings.Cut(line, "skmem:(")
		for field := range strings.SplitSeq(strings.SplitN(buffers, ")", 2)[0], ",") {
			// r: received and not read; w: sent and not acknowledged, or not sent
			if kind := strings.TrimRight(field, "0123456789"); kind == "r" || kind == "w" {
				n, _ := strconv.ParseInt(field[len(kind):], 10, 64)
				total += n
			}
		}
	}
	return total
}

// lag returns the 99th percentile of the lag of the changes between two times.
func (r *Run) lag(from, to time.Time) time.Duration {
	h := r.history()
	known := h.firstKnown()
	var lags []time.Duration
	for _, w := range h.Watchers {
		for _, step := range w.Steps {
			if step.Stream == nil {
				continue
			}
			for _, line := range step.Stream.events() {
				if at, ok := known[line.Object.Revision]; ok && at.After(from) && at.Before(to) {
					lags = append(lags, max(0, line.At.Sub(at)))
				}
			}
		}
	}
	slices.Sort(lags)
	return percentile(lags, 99)
}
