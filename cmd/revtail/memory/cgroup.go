package memory

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// noCgroupLimit is the least number that no limit of a cgroup has: version 1 shows a number near 1<<63 where there is none.
const noCgroupLimit = 1 << 60

// cgroupFiles are the files with limits, by the type of the file system.
var cgroupFiles = map[string][]string{"cgroup": {"memory.limit_in_bytes"}, "cgroup2": {"memory.max", "memory.high"}}

// cgroupLimit returns the smallest limit of memory, in bytes, of the cgroups of this process and of their ancestors, as far as the process
// sees them; zero: there is none. root is the root of the system's files.
func cgroupLimit(root fs.FS) (limit int64) {
	own := ownCgroups(root)
	mounts, _ := fs.ReadFile(root, "proc/self/mountinfo") // no file, no limit
	for line := range strings.Lines(string(mounts)) {
		// id parent device root mountpoint options [optional…] - type source options
		before, after, _ := strings.Cut(line, " - ")
		mount, system := strings.Fields(before), strings.Fields(after)
		if len(mount) < 5 || len(system) < 3 {
			continue
		}
		controller := ""
		if system[0] == "cgroup" {
			controller = "memory"
		}
		below, ok := own[controller]
		if !ok || system[0] == "cgroup" && !slices.Contains(strings.Split(system[2], ","), "memory") {
			continue
		}
		// A container may see its own cgroup as the root of the mount, by a path outside of it.
		if mount[3] != "/" {
			below, ok = strings.CutPrefix(below, mount[3])
			if !ok || below != "" && below[0] != '/' {
				below = ""
			}
		}
		for dir := path.Clean("/" + below); ; dir = path.Dir(dir) {
			for _, file := range cgroupFiles[system[0]] {
				limit = lesser(limit, readLimit(root, path.Join(mount[4], dir, file)))
			}
			if dir == "/" {
				break
			}
		}
	}
	return limit
}

// ownCgroups returns the path of the cgroup of this process for each controller; empty: that of version 2.
func ownCgroups(root fs.FS) map[string]string {
	own := make(map[string]string)
	content, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(content)) { // hierarchy:controllers:path
		if parts := strings.SplitN(strings.TrimSpace(line), ":", 3); len(parts) == 3 {
			for controller := range strings.SplitSeq(parts[1], ",") {
				own[controller] = parts[2]
			}
		}
	}
	return own
}

// readLimit returns the limit in a file; zero: there is none.
func readLimit(root fs.FS, file string) int64 {
	content, err := fs.ReadFile(root, strings.TrimPrefix(file, "/"))
	limit, malformed := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64) // "max" is none
	if err != nil || malformed != nil || limit <= 0 || limit >= noCgroupLimit {
		return 0
	}
	return limit
}

// lesser returns the smaller limit; zero is none.
func lesser(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
