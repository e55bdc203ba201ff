// Package config is the configuration of the gateway: each option in the table of options.go has a flag, an environment variable and a
// key in the file. Only the file has mounts. A flag overrides the environment, the environment the file, the file the default.
//
// Options never have secrets as values, only names of files with secrets, so that neither a printed configuration nor a list of processes
// reveals them.
//
// Below it, reload keeps files in memory while they are replaced, and suggest finds the nearest name to a misspelt one. cmd/revtail reads
// a configuration; the packages of the gateway get values, and never a Config.
package config
