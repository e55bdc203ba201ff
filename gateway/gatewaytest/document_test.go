package gatewaytest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

const document = `# A
text $ no command

	$ one 'a
	b' \
	    --flag   # it's a comment
	# output
	more

## B
### C
- an item:
` + "```console\n$ two \"it's\"\n\n# output\n$ three #4 # 5\n```\n```bash\nfour\n# a comment\nfive=a#b\n```\n"

func TestDocument(t *testing.T) {
	type block struct {
		Section, Chapter, Language string
		Steps                      []gatewaytest.Step
	}
	var got []block
	for _, b := range gatewaytest.Blocks(document) {
		got = append(got, block{b.Section, b.Chapter, b.Language, b.Steps()})
	}
	want := []block{
		{"A", "A", "", []gatewaytest.Step{{Line: 4, Command: "one 'a\nb' \\\n--flag", Output: "# output\nmore\n"}}},
		{"C", "B", "console", []gatewaytest.Step{{Line: 14, Command: `two "it's"`, Output: "\n# output\n"}, {Line: 17, Command: "three"}}},
		{"C", "B", "bash", []gatewaytest.Step{{Line: 20, Command: "four"}, {Line: 21}, {Line: 22, Command: "five=a#b"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}
