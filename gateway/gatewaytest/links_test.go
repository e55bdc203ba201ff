package gatewaytest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// maxREADME is the number of bytes that a reader can read in three minutes.
const maxREADME = 9 << 10

func TestREADMEIsShort(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > maxREADME {
		t.Errorf("README.md has %d bytes, want at most %d: the rest belongs to the documents that it links to", len(text), maxREADME)
	}
}

var (
	codeBlock  = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$|^\t[^\n]*$")
	codeSpan   = regexp.MustCompile("`[^`\n]*`")
	headerLine = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	linkTarget = regexp.MustCompile(`(?:\]\(|\bsrc(?:set)?=")([^)"\s]+)[)"]`)
	linkText   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	absolute   = regexp.MustCompile(`^[a-z]+:`)
)

// anchors returns the anchors of a document, as GitHub makes them of its headings.
func anchors(text string) []string {
	var out []string
	count := map[string]int{}
	for _, match := range headerLine.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, linkText.ReplaceAllString(match[1], "$1"))
		n := count[anchor]
		count[anchor]++
		if n > 0 {
			anchor = fmt.Sprintf("%s-%d", anchor, n)
		}
		out = append(out, anchor)
	}
	return out
}

// brokenLinks returns the broken relative links of a document, and the number of relative links.
func brokenLinks(path, text string, read func(path string) (string, error)) (broken []string, checked int) {
	prose := codeSpan.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), "")
	for _, match := range linkTarget.FindAllStringSubmatch(prose, -1) {
		if absolute.MatchString(match[1]) {
			continue
		}
		checked++
		file, anchor, anchored := strings.Cut(match[1], "#")
		target := text
		if file != "" {
			var err error
			if target, err = read(filepath.Join(filepath.Dir(path), file)); err != nil {
				broken = append(broken, fmt.Sprintf("%s: %v", match[1], err))
				continue
			}
		}
		if anchored && !slices.Contains(anchors(target), anchor) {
			broken = append(broken, match[1]+": no heading has this anchor")
		}
	}
	return broken, checked
}

// readLinked reads the target of a link. A folder has no text.
func readLinked(path string) (string, error) {
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return "", err
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// TestLinks checks that each relative link of each document names an existing file, and an existing heading in it.
func TestLinks(t *testing.T) {
	total := 0
	eachFile(t, func(path, name string) {
		if filepath.Ext(name) != ".md" {
			return
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			return
		}
		broken, n := brokenLinks(path, string(text), readLinked)
		total += n
		for _, link := range broken {
			t.Errorf("%s: %s", name, link)
		}
	})
	if total < 50 {
		t.Errorf("%d links were checked, want at least 50", total)
	}
}

// TestBrokenLinks checks that TestLinks finds broken links.
func TestBrokenLinks(t *testing.T) {
	read := func(path string) (string, error) {
		if path != "a/other.md" {
			return "", os.ErrNotExist
		}
		return "# One, two: `x.yaml`\n\n\t$ code\n\n# Same\n## Same\n```\n# no heading\n```\n", nil
	}
	for link, want := range map[string]int{
		"[a](other.md)": 0, "[a](missing.md)": 1, "[a](../other.md)": 1, "[a](#here-it-is)": 0, "[a](#there)": 1,
		"[a](other.md#one-two-xyaml)": 0, "[a](other.md#same-1)": 0, "[a](other.md#same-2)": 1, "[a](other.md#no-heading)": 1,
		"[a](https://example.com/missing)": 0, "`[a](missing.md)`": 0, "```\n[a](missing.md)\n```\n": 0, "\t[a](missing.md)": 0,
	} {
		if broken, _ := brokenLinks("a/b.md", "# Here *it* is\n"+link+"\n", read); len(broken) != want {
			t.Errorf("%s: %d broken, want %d: %v", link, len(broken), want, broken)
		}
	}
}
