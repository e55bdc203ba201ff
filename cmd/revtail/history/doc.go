// Package history has the commands that print what a gateway with --history-dir has recorded: history, blame and log.
package history
