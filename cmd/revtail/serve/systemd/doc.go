// Package systemd implements the sd_notify(3) protocol.
package systemd
