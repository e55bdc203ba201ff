package cputime

import "container/heap"

const notWaiting = -1

// accountHeap holds the accounts whose turns wait. The first one has used the least time.
type accountHeap []*Account

// Len, Less and Swap implement heap.Interface.
func (h accountHeap) Len() int           { return len(h) }
func (h accountHeap) Less(i, j int) bool { return h[i].time < h[j].time }
func (h accountHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *accountHeap) Push(x any) {
	a := x.(*Account)
	a.index = len(*h)
	*h = append(*h, a)
}

// Pop implements heap.Interface.
func (h *accountHeap) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	a.index = notWaiting
	return a
}

func (h *accountHeap) add(a *Account)    { heap.Push(h, a) }
func (h *accountHeap) fix(a *Account)    { heap.Fix(h, a.index) }
func (h *accountHeap) remove(a *Account) { heap.Remove(h, a.index) }
