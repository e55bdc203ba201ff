// Package change has the commands that change objects: apply, diff, delete and edit.
package change
