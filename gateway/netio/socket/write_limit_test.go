package socket

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWatchdogCutsTheWriteThatTakesTooLong(t *testing.T) {
	const limit = 30 * time.Second
	start := func() (*watchdog, *[]time.Duration) {
		began, cuts := time.Now(), new([]time.Duration)
		return newWatchdog(limit, func() { *cuts = append(*cuts, time.Since(began)) }), cuts
	}
	pass := func(d time.Duration) { <-time.After(d); synctest.Wait() }
	t.Run("writes that end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, cuts := start()
			for range 10 {
				d.begin()
				pass(limit - time.Second)
				d.end()
			}
			pass(10 * limit)
			if len(*cuts) > 0 {
				t.Errorf("cut after %v", *cuts)
			}
		})
	})
	t.Run("a write that does not", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, cuts := start()
			d.begin()
			pass(10 * time.Second)
			d.end()
			pass(5 * time.Second)
			d.begin()
			pass(10 * limit)
			if want := 15*time.Second + limit; len(*cuts) != 1 || (*cuts)[0] != want {
				t.Errorf("cut after %v, want once after %v", *cuts, want)
			}
		})
	})
	t.Run("closed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, cuts := start()
			d.begin()
			d.close()
			pass(10 * limit)
			if len(*cuts) > 0 {
				t.Errorf("cut after %v", *cuts)
			}
		})
	})
}
