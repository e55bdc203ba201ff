package kubernetes

import "strings"

// rule is about some tests.
type rule struct {
	what  string   // why they are not run, or which resources they need
	tests []string // parts of their names
}

func (r rule) covers(name string) bool {
	for _, part := range r.tests {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// find returns the first rule that covers a test.
func find(rules []rule, name string) (rule, bool) {
	for _, r := range rules {
		if r.covers(name) {
			return r, true
		}
	}
	return rule{}, false
}

// unused returns the parts of names that occur in none of the names.
func unused(rules []rule, names []string) (parts []string) {
	all := strings.Join(names, "\n")
	for _, r := range rules {
		for _, part := range r.tests {
			if !strings.Contains(all, part) {
				parts = append(parts, part)
			}
		}
	}
	return parts
}
