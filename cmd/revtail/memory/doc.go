// Package memory makes the process hold less garbage than the runtime's default. StartPacer sets GOGC by the allocation rate,
// ReleaseWhenIdle returns free memory to the system, and SetLimit keeps the process below the limit of its container.
package memory
