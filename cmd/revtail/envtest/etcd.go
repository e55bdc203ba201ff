package envtest

import "strings"

// electionFlags are those of etcd that say how soon it elects a leader, or with whom.
var electionFlags = []string{"heartbeat-interval", "election-timeout", "initial-cluster", "config-file", "discovery"}

// EtcdArgs returns the arguments of a program that is started under the name etcd. With --unsafe-no-fsync, as envtest starts it, the member is
// alone and its data temporary: its heartbeat interval and election timeout become a tenth. It returns args as they are if one of them is in electionFlags.
func EtcdArgs(args []string) []string {
	disposable := false
	for _, arg := range args {
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		disposable = disposable || name == "unsafe-no-fsync" && value != "false"
		for _, flag := range electionFlags {
			if strings.HasPrefix(name, flag) {
				return args
			}
		}
	}
	if !disposable {
		return args
	}
	return append(args[:len(args):len(args)], "--heartbeat-interval=10", "--election-timeout=100")
}
