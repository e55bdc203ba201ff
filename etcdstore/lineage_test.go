package etcdstore

import "testing"

func TestFormerRevisions(t *testing.T) {
	type header struct {
		id     uint64
		newest Revision
	}
	for name, test := range map[string]struct {
		reads []header
		want  Revision
	}{
		"the first history":                   {[]header{{1, 5}, {1, 61}}, 0},
		"one that is older":                   {[]header{{1, 61}, {1, 40}}, 0},
		"another one, which is ahead":         {[]header{{1, 61}, {2, 102}}, 61},
		"another one, which is behind":        {[]header{{1, 61}, {2, 6}, {2, 90}}, 5},
		"another one, with the same revision": {[]header{{1, 61}, {2, 61}}, 60},
		"late responses of the former one":    {[]header{{1, 60}, {2, 102}, {1, 61}, {2, 103}, {1, 61}, {2, 104}}, 61},
		"the first one again":                 {[]header{{1, 61}, {2, 102}, {1, 70}}, 69},
	} {
		var l lineage
		for _, r := range test.reads {
			l.read(r.id, r.newest)
		}
		if l.former != test.want {
			t.Errorf("%s: former revisions up to %d, want %d", name, l.former, test.want)
		}
	}
	var l lineage
	l.read(1, 5)
	l.saw(1, 61)
	l.saw(2, 99)
	if l.read(2, 100); l.former != 61 {
		t.Errorf("after writes and watches: former revisions up to %d, want 61", l.former)
	}
}
