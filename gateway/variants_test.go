package gateway

import (
	"os"
	"os/exec"
	"testing"
)

// leaveOutLoop is the environment variable that makes the servers of the tests omit the event loop.
const leaveOutLoop = "REVTAIL_TEST_WITHOUT_EVENT_LOOP"

// TestWithoutEventLoop runs the tests of watches again on servers that serve each watch on its goroutine.
func TestWithoutEventLoop(t *testing.T) {
	if os.Getenv(leaveOutLoop) != "" {
		t.Skip("this is the run without the event loop")
	}
	again := exec.CommandContext(t.Context(), os.Args[0],
		"-test.run", "^Test(Keys|EventStream|IncludeObject|Watch(Is|That)|WebSocket(Watch|Reports)|Mount|Remount|SpanOfAWatch|Isolation|Delivery|Refusals)")
	again.Env = append(os.Environ(), leaveOutLoop+"=1")
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
