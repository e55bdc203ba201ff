package diff

// maxCells bounds the table of subsequences: the product of the numbers of lines between the common prefix and suffix. Above it,
// text reports all of these lines as replaced.
const maxCells = 4 << 20

// text compares texts line by line. It adds one line of context before and after the differences.
func (d *differ) text(old, next []string) {
	from, oldEnd, nextEnd := trim(old, next, func(a, b string) bool { return a == b })
	if from > 0 {
		d.add(Context, "  "+old[from-1])
	}
	d.middle(old[from:oldEnd], next[from:nextEnd])
	if oldEnd < len(old) {
		d.add(Context, "  "+old[oldEnd])
	}
}

// middle adds a longest common subsequence as context, and all other lines as removed or added.
func (d *differ) middle(old, next []string) {
	i, j := 0, 0
	if len(old)*len(next) <= maxCells {
		for common := subsequences(old, next); i < len(old) && j < len(next); {
			switch {
			case old[i] == next[j]:
				d.add(Context, "  "+old[i])
				i, j = i+1, j+1
			case common[i+1][j] >= common[i][j+1]:
				d.add(Removed, "  "+old[i])
				i++
			default:
				d.add(Added, "  "+next[j])
				j++
			}
		}
	}
	for ; i < len(old); i++ {
		d.add(Removed, "  "+old[i])
	}
	for ; j < len(next); j++ {
		d.add(Added, "  "+next[j])
	}
}

// subsequences returns at [i][j] the length of the longest common subsequence of old[i:] and next[j:].
func subsequences(old, next []string) [][]int32 {
	out := make([][]int32, len(old)+1)
	for i := range out {
		out[i] = make([]int32, len(next)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(next) - 1; j >= 0; j-- {
			if old[i] == next[j] {
				out[i][j] = out[i+1][j+1] + 1
			} else {
				out[i][j] = max(out[i+1][j], out[i][j+1])
			}
		}
	}
	return out
}
