// Package logging has the log and the audit log of the process. Neither blocks the process when its destination does.
package logging
