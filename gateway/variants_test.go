package gateway

import (
	"os"
	"os/exec"
	"testing"
)

// leaveOutLoop names the variable by which a run of the tests has servers without the event loop.
const leaveOutLoop = "REVTAIL_TEST_WITHOUT_EVENT_LOOP"

// TestWithoutEventLoop runs the tests of watches again on servers that serve each watch on its goroutine.
func TestWithoutEventLoop(t *testing.T) {
	if os.Getenv(leaveOutLoop) != "" {
		t.Skip("this is the run without it")
	}
	again := exec.CommandContext(t.Context(), os.Args[0],
		"-test.run", "^Test(Keys|EventStream|IncludeObject|Watch(Is|That)|WebSocket(Watch|Tells)|Mount|Remount|SpanOfAWatch|Isolation|Delivery|Refusals)")
	again.Env = append(os.Environ(), leaveOutLoop+"=1")
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
