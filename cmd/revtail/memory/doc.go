// Package memory makes the process hold less garbage than the runtime's default. StartPacer sets GOGC by the allocation rate, and
// ReleaseWhenIdle returns free memory to the system.
package memory
