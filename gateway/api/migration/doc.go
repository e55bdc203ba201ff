// Package migration moves objects that an earlier release stored under other keys.
package migration
