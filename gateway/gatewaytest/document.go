package gatewaytest

import (
	"os"
	"strings"
	"testing"
)

// Block is a block of code in a Markdown document.
type Block struct {
	// Section is the heading above the block, without its marks, and Chapter the last one above it that has two marks at most.
	Section, Chapter string
	// Language is the language of the fence; empty: the block is indented by a tab.
	Language string
	// Line is the number of the block's first line in the document.
	Line int
	// Text is the block without its fences or its indentation.
	Text string
}

// Step is a command of a document, and the output that the document shows below the command.
type Step struct {
	// Line is the number of the command's first line in the document.
	Line int
	// Command is the command without its prompt and its comments.
	Command string
	// Output is empty if the document shows none.
	Output string
}

// ReadDocument returns the blocks of code of a Markdown file.
func ReadDocument(tb testing.TB, path string) []Block {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return Blocks(string(text))
}

// Section returns the blocks below a heading. A section without blocks fails the test.
func Section(tb testing.TB, blocks []Block, title string) []Block {
	tb.Helper()
	var out []Block
	for _, b := range blocks {
		if b.Section == title {
			out = append(out, b)
		}
	}
	if len(out) == 0 {
		tb.Fatalf("the document has no block of code below the heading %q", title)
	}
	return out
}

// Blocks returns the blocks of code of a Markdown text.
func Blocks(text string) []Block {
	var blocks []Block
	var section, chapter, fence string
	var open bool // the last block is not complete
	number := 0
	for line := range strings.Lines(text) {
		number++
		bare := strings.TrimLeft(line, " \t")
		switch {
		case fence != "" && strings.HasPrefix(bare, fence):
			fence, open = "", false
		case fence != "":
			blocks[len(blocks)-1].Text += line
		case strings.HasPrefix(bare, "```"):
			fence = "```"
			blocks = append(blocks, Block{Section: section, Chapter: chapter, Language: strings.TrimSpace(bare[len(fence):]), Line: number + 1})
		case strings.HasPrefix(line, "\t"):
			if !open {
				blocks = append(blocks, Block{Section: section, Chapter: chapter, Line: number})
			}
			open = true
			blocks[len(blocks)-1].Text += bare
		default:
			open = false
			if title := strings.TrimLeft(line, "#"); title != line {
				section = strings.TrimSpace(title)
				if len(line)-len(title) <= 2 {
					chapter = section
				}
			}
		}
	}
	return blocks
}

// Steps returns the commands of a block. In a block with prompts, "$ ", every other line is output; without a prompt every line
// is a command.
func (b Block) Steps() []Step {
	session := strings.HasPrefix(b.Text, "$ ") || strings.Contains(b.Text, "\n$ ")
	var steps []Step
	var text string // the command so far
	number := b.Line
	for line := range strings.Lines(b.Text) {
		command, prompted := strings.CutPrefix(line, "$ ")
		switch {
		case text == "" && session && !prompted:
			if len(steps) > 0 {
				steps[len(steps)-1].Output += line
			}
		default:
			if text == "" {
				steps = append(steps, Step{Line: number})
			}
			text += command
			if bare, complete := parseCommand(text); complete {
				steps[len(steps)-1].Command = strings.TrimSpace(bare)
				text = ""
			}
		}
		number++
	}
	return steps
}

// parseCommand returns a command of a shell without its comments. The command is complete unless a quote is open or a backslash
// ends its last line.
func parseCommand(text string) (bare string, complete bool) {
	var out strings.Builder
	var quote byte // the open quote, or 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && quote != '\'':
			if i+1 == len(text)-1 && text[i+1] == '\n' {
				return "", false
			}
			out.WriteByte(c)
			i++
			c = text[min(i, len(text)-1)]
		case quote == 0 && c == '#' && (i == 0 || strings.IndexByte(" \t\n", text[i-1]) >= 0):
			for i < len(text) && text[i] != '\n' {
				i++
			}
			c = '\n'
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		}
		out.WriteByte(c)
	}
	return out.String(), quote == 0
}
