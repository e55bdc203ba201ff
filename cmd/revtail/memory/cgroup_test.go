package memory

import (
	"testing"
	"testing/fstest"
)

func TestCgroupLimit(t *testing.T) {
	const (
		v1 = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n36 31 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
		v2 = "29 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
		no = "9223372036854771712"
	)
	for name, test := range map[string]struct {
		cgroup, mounts string
		files          map[string]string // below /sys/fs/cgroup
		want           int64
	}{
		"no cgroups":            {},
		"no limit":              {"0::/a\n", v2, map[string]string{"a/memory.max": "max\n", "a/memory.high": "max\n"}, 0},
		"a container":           {"0::/\n", v2, map[string]string{"memory.max": "314572800\n"}, 314572800},
		"throttled":             {"0::/a\n", v2, map[string]string{"a/memory.max": "400\n", "a/memory.high": "300\n"}, 300},
		"of an ancestor":        {"0::/a/b/c\n", v2, map[string]string{"a/b/c/memory.max": "400\n", "a/memory.max": "200\n", "a/b/memory.max": "max\n"}, 200},
		"of a neighbour":        {"0::/a\n", v2, map[string]string{"a/memory.max": "400\n", "b/memory.max": "200\n"}, 400},
		"version 1":             {"4:memory:/a/b\n1:cpu:/x\n", v1, map[string]string{"memory/a/b/memory.limit_in_bytes": "300\n", "memory/memory.limit_in_bytes": no}, 300},
		"version 1, no limit":   {"4:memory:/a\n", v1, map[string]string{"memory/a/memory.limit_in_bytes": no}, 0},
		"version 1, ancestor":   {"4:cpu,memory:/a/b\n", v1, map[string]string{"memory/a/b/memory.limit_in_bytes": no, "memory/a/memory.limit_in_bytes": "77\n"}, 77},
		"both versions":         {"4:memory:/a\n0::/\n", v1 + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", map[string]string{"memory/a/memory.limit_in_bytes": "300\n"}, 300},
		"a mount of the cgroup": {"4:memory:/docker/a/b\n", "35 31 0:32 /docker/a /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", map[string]string{"memory/b/memory.limit_in_bytes": "300\n"}, 300},
		"a mount of another":    {"4:memory:/docker/abc\n", "35 31 0:32 /docker/a /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", map[string]string{"memory/memory.limit_in_bytes": "300\n"}, 300},
		"malformed":             {"0:\n::\n0::/a\n", "x\n - \n" + v2, map[string]string{"a/memory.max": "much\n", "memory.max": "-5\n"}, 0},
	} {
		root := fstest.MapFS{"proc/self/cgroup": {Data: []byte(test.cgroup)}, "proc/self/mountinfo": {Data: []byte(test.mounts)}}
		for file, content := range test.files {
			root["sys/fs/cgroup/"+file] = &fstest.MapFile{Data: []byte(content)}
		}
		if got := cgroupLimit(root); got != test.want {
			t.Errorf("%s: %d bytes, want %d", name, got, test.want)
		}
	}
	if got := cgroupLimit(fstest.MapFS{}); got != 0 {
		t.Errorf("a system without /proc: %d bytes", got)
	}
}

func FuzzCgroupLimit(f *testing.F) {
	f.Add("4:memory:/a/b\n0::/c\n", "29 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "12\n")
	f.Fuzz(func(t *testing.T, cgroup, mounts, content string) {
		root := fstest.MapFS{"proc/self/cgroup": {Data: []byte(cgroup)}, "proc/self/mountinfo": {Data: []byte(mounts)}, "sys/fs/cgroup/memory.max": {Data: []byte(content)}}
		if limit := cgroupLimit(root); limit < 0 {
			t.Errorf("%d bytes", limit)
		}
	})
}
