package patch

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

// threadTime returns the processor time of the calling thread in nanoseconds, which other programs do not lengthen.
func threadTime(t *testing.T) int64 {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return now.Nano()
}

// TestStrategicGrowth checks that a small patch does not take quadratic time in the list into which it is merged.
func TestStrategicGrowth(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, patch := range []string{
		`{"spec":{"containers":[{"name":"c","env":[{"name":"new"}]}]}}`,
		`{"spec":{"containers":[{"name":"c","$setElementOrder/env":[{"name":"e7"}]}]}}`,
		`{"metadata":{"finalizers":["new"]}}`,
		`{"metadata":{"$deleteFromPrimitiveList/finalizers":["e7"]}}`,
	} {
		least := func(n int) int64 {
			least := int64(math.MaxInt64)
			for range 5 {
				doc := longLists(n)
				begin := threadTime(t)
				if _, err := Strategic(t.Context(), doc, []byte(patch), corev1.Pod{}); err != nil {
					t.Fatal(err)
				}
				least = min(least, threadTime(t)-begin)
			}
			return least
		}
		if small, large := least(1000), least(32_000); large > 300*small { // quadratic: 1,024 times
			t.Errorf("%s: %d ns for 1,000 elements, %d ns for 32,000", patch, small, large)
		}
	}
}

// longLists returns a Pod with n environment variables and n finalizers.
func longLists(n int) map[string]any {
	var env, finalizers []any
	for i := range n {
		name := fmt.Sprintf("e%d", i)
		env, finalizers = append(env, map[string]any{"name": name}), append(finalizers, name)
	}
	return map[string]any{"metadata": map[string]any{"finalizers": finalizers},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "env": env}}}}
}
