package envtest

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// splitFlags divides the arguments of a kube-apiserver into those of known flags and the names of the others. A kube-apiserver has no other
// arguments, so one that is no flag is the value of the flag before it.
func splitFlags(args []string, known *pflag.FlagSet) (kept, unknown []string) {
	for i := 0; i < len(args); i++ {
		name, isLong := strings.CutPrefix(args[i], "--")
		name, _, hasValue := strings.Cut(name, "=")
		takes := func(flag *pflag.Flag) bool { return flag == nil || flag.NoOptDefVal == "" }
		flag := known.Lookup(name)
		end := i + 1
		if isLong && !hasValue && takes(flag) && end < len(args) && !strings.HasPrefix(args[end], "-") {
			end++
		}
		switch {
		case flag != nil || args[i] == "-h":
			kept = append(kept, args[i:end]...)
		case isLong:
			unknown = append(unknown, "--"+name)
		default:
			unknown = append(unknown, args[i])
		}
		i = end - 1
	}
	slices.Sort(unknown)
	return kept, slices.Compact(unknown)
}
