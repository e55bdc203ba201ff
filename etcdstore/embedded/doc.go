// Package embedded runs an etcd member inside this process. It is the only importer of the server of etcd.
//
// Other processes use the member over gRPC like any other etcd. This process needs no connection to a cluster of one member (local.go);
// the in-process client of etcd would omit the check for a leader. Two processes never share a data directory: Start locks it, and fails
// at once if it is in use.
//
// The build tag noembedded leaves the member and the server of etcd out of the program: Start is an error then.
package embedded

import "log/slog"

// DefaultDataDir is the default of Config.DataDir.
const DefaultDataDir = "revtail.etcd"

// Config configures the member.
type Config struct {
	DataDir string // created with mode 0700 if necessary; default DefaultDataDir

	// ClientURL is the address for clients: plain HTTP on a loopback address, because the member has no authentication. Port 0 is any free
	// port. Empty: the member has no port, and clients use the socket of SocketURL.
	ClientURL string

	// ConfigFile is a complete configuration file of etcd (YAML). It determines everything except the logger, and excludes the fields
	// above.
	ConfigFile string

	// Disposable marks the data as temporary: etcd does not flush it to the disk, and its heartbeat interval and election timeout are a tenth. It has no
	// effect with ConfigFile.
	Disposable bool

	Logger *slog.Logger // nil: no log
}
