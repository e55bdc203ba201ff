package command

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"revtail/gateway/config"
)

// TestUsageGroups checks that each flag is below the title of its group, and --help in the last group.
func TestUsageGroups(t *testing.T) {
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Bool("help", false, "help")
	fs.String("own", "a", "an own `word`")
	fs.String("far", "", "far away")
	fs.Int("other", 3, "another `number`")
	fs.Bool("hidden", false, "hidden")
	fs.Lookup("hidden").Hidden = true
	config.GroupFlags(fs, "Gateway", "far")
	out := new(strings.Builder)
	writeFlags(out, fs, 100)
	want := `
Flags:
  --own word (default "a")
        an own word
  --other number (default 3)
        another number

Gateway:
  --far string
        far away
  --help
        help
`
	if out.String() != want {
		t.Errorf("got:%s\nwant:%s", out, want)
	}
}

// TestUsageWidth checks that the lines of --help fit into the terminal, if their words do.
func TestUsageWidth(t *testing.T) {
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	config.AddFlags(fs)
	for _, width := range []int{0, 40, 80, 200} {
		out := new(strings.Builder)
		writeFlags(out, fs, width)
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "        ") && len(line) > max(width, minUsageWidth) && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("a line for %d columns has %d: %s", width, len(line), line)
			}
		}
	}
}
