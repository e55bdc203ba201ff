// Package change has the commands that change objects: apply, diff, edit, restore, undo and delete.
package change
