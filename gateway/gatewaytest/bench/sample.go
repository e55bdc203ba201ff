package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// String formats a sample for a line of progress.
func (s sample) String() string {
	var parts []string
	for _, metric := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, fmt.Sprintf("%s %s", metric, number(s[metric])))
	}
	return strings.Join(parts, ", ")
}
