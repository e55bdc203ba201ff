package abuse

import (
	"flag"
	"os"
	"runtime"
	"slices"
	"testing"

	"revtail/gateway/gatewaytest"
)

var attacking = flag.Bool("attack", false, "run the attacks, which take minutes")

func TestMain(m *testing.M) { gatewaytest.Main(m) }

// TestAttacks runs the attacks one after the other, because each needs the machine for itself.
func TestAttacks(t *testing.T) {
	if !*attacking {
		t.Skip("`make abuse` runs the attacks")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the usage of a process is read from /proc")
	}
	var results []result
	for _, a := range slices.Concat(processorAttacks, shareAttacks, []attack{slowReaders}, patchAttacks()) {
		t.Run(a.name, func(t *testing.T) { results = append(results, perform(t, &a)) })
	}
	if err := writeTable(os.Stdout, results); err != nil {
		t.Error(err)
	}
}
