//go:build race

package gateway

// raceDetector: sync.Pool drops what it is given now and then, so that allocations tell nothing.
const raceDetector = true
