package main

import (
	"slices"
	"sync"
	"sync/atomic"
)

// dialers is the number of simultaneous connects: less than the backlog of a listener.
const dialers = 64

// eachOf calls do for each of the items, a number at a time, until one fails, and returns that error.
func eachOf[T any](items []T, atOnce int, do func(T) error) error {
	var (
		running sync.WaitGroup
		next    atomic.Int64
		failed  atomic.Pointer[error]
	)
	for range min(atOnce, len(items)) {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(items) && failed.Load() == nil; i = int(next.Add(1)) - 1 {
				if err := do(items[i]); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	running.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// groupsOf cuts the items into groups of n.
func groupsOf[T any](items []T, n int) [][]T { return slices.Collect(slices.Chunk(items, n)) }

// indices are 0 to n-1.
func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// firstError returns one error for all, because many clients fail alike.
func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
