// Package program runs the programs of a measurement, and reads from the operating system what they cost. The costs of a program are those
// that Linux reports in /proc; on other systems most functions fail.
package program
