package gatewaytest_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// confirm runs a command on a terminal until it asks for yes or no.
func confirm(t *testing.T, args ...string) *terminal {
	t.Helper()
	x := openTerminal(t, 50, 200, []string{"NO_COLOR=1"}, gatewaytest.Binary(t), args...)
	gatewaytest.Until(t, "a question", func() bool { return strings.Contains(x.output(), "[y/N] ") })
	return x
}

// answer answers, waits until the command ends, with an exit code, and until it has said a text.
func (x *terminal) answer(t *testing.T, text string, code int, said string) {
	t.Helper()
	x.press(t, text+"\n")
	_ = x.cmd.Wait() // the code says how
	if got := x.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d:\n%s", got, code, x.output())
	}
	gatewaytest.Until(t, said, func() bool { return strings.Contains(x.output(), said) })
}

// TestRestoreAsks restores an object on a terminal. The command writes only after a yes, and only over the state whose differences it has shown.
func TestRestoreAsks(t *testing.T) {
	t.Parallel()
	etcd := gatewaytest.StartEtcd(t, 1)
	gw := gatewaytest.Start(t, "--etcd-endpoints", etcd.Endpoints())
	const path = configMaps + "/theme"
	gw.Create(t, configMaps, gatewaytest.ConfigMap("theme", "red"))
	file := filepath.Join(t.TempDir(), "backup.db")
	revtail(t, "snapshot", "save", file, "--etcd-endpoints", etcd.Endpoints())
	set := func(value string) { gw.Patch(t, path, `{"data":{"value":"`+value+`"}}`) }
	for _, test := range []struct {
		name      string
		before    func() // the command runs
		meanwhile func() // the command waits for its answer
		answer    string
		question  []string // in what it says until then
		want      string   // in what it says afterwards
		code      int
		value     string // of the object afterwards
	}{
		{
			"no", func() { set("blue") }, nil, "n", []string{"change configmap/theme -n default", "-  value: blue", "+  value: red", "Write configmap/theme -n default? [y/N] "},
			"nothing is done: the answer was not yes", 1, "blue",
		},
		{"no answer", func() { set("blue") }, nil, "", nil, "nothing is done: the answer was not yes", 1, "blue"},
		{"yes", func() { set("blue") }, nil, "y", nil, "configmap/theme replaced", 0, "red"},
		{"a change meanwhile", func() { set("blue") }, func() { set("green") }, "yes", nil, "the object has been modified", 1, "green"},
		{"another object meanwhile", func() { set("blue") }, func() {
			gw.Do(t, http.MethodDelete, path, "")
			gw.Create(t, configMaps, gatewaytest.ConfigMap("theme", "green"))
		}, "yes", nil, "configmap/theme -n default: ", 1, "green"},
		{"created meanwhile", func() { gw.Do(t, http.MethodDelete, path, "") }, func() {
			gw.Create(t, configMaps, gatewaytest.ConfigMap("theme", "green"))
		}, "yes", []string{"create configmap/theme -n default"}, "already exists", 1, "green"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.before()
			x := confirm(t, "restore", "cm/theme", "--from", file, "--apply", "--server", gw.URL)
			for _, want := range test.question {
				if !strings.Contains(plain(x.output()), want) {
					t.Errorf("want %q in\n%s", want, x.output())
				}
			}
			if test.meanwhile != nil {
				test.meanwhile()
			}
			x.answer(t, test.answer, test.code, test.want)
			if now := gw.Do(t, http.MethodGet, path, "").Body; !strings.Contains(now, `"value":"`+test.value+`"`) && !strings.Contains(now, `"value": "`+test.value+`"`) {
				t.Errorf("afterwards: %s, want %s", now, test.value)
			}
		})
	}
}
