// Package command has what the commands of revtail share: exit codes, argument counts and hints about flags.
package command
