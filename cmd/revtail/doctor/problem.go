package doctor

import (
	"strings"
)

// problemHints says what to do about the problems of a ready gateway, by their names in /readyz?verbose.
var problemHints = map[string]string{
	"claim":             "nothing, if it is meant to show what others keep; else name a prefix of revtail's own with --etcd-prefix",
	"garbage-collector": "look whether the owners are really gone, then restore them, delete the objects, or raise --garbage-collector-limit",
}

// checkProblems reports these problems. It skips the problems of etcd, because other checks read them from etcd.
func (d *doctor) checkProblems(ready string) {
	for line := range strings.Lines(ready) {
		problem, found := strings.CutPrefix(strings.TrimSpace(line), "[!]")
		name, text, _ := strings.Cut(problem, " ")
		if hint := problemHints[name]; found && hint != "" {
			d.report(warning, name, text, hint)
		}
	}
}
