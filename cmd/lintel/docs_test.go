package main

import (
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/pflag"
)

// document is a file of the documentation.
type document struct {
	name  string // from the top of the repository
	text  string
	lines []docLine
}

// docLine is a line of a document.
type docLine struct {
	number int
	text   string
	fence  string // the language of the code block that it is in, "none" where that names none; empty: it is in none
}

// documentation reads all files of the documentation: what Git keeps of Markdown, but for what repositories of tests have.
func documentation(t *testing.T) (list []document) {
	t.Helper()
	top := filepath.Join("..", "..")
	err := filepath.WalkDir(top, func(name string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, _ := filepath.Rel(top, name)
		switch slash := filepath.ToSlash(relative); {
		case e.IsDir() && (slash == ".git" || slash == "bin" || slash == "dist" || slash == "screenshots"):
			return filepath.SkipDir
		case !e.IsDir() && strings.HasSuffix(slash, ".md") && !strings.HasSuffix(slash, ".golden.md") &&
			(!strings.Contains(slash, "testdata/") || path.Base(slash) == "README.md"):
			list = append(list, newDocument(slash, readFile(t, name)))
		}
		return nil
	})
	if err != nil || len(list) == 0 {
		t.Fatal(len(list), err)
	}
	return list
}

func newDocument(name, text string) document {
	d := document{name: name, text: text}
	fence, inside := "", ""
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\n")
		bare := strings.TrimSpace(line)
		switch {
		case fence == "" && strings.HasPrefix(bare, "```"):
			fence = strings.Repeat("`", len(bare)-len(strings.TrimLeft(bare, "`")))
			if inside = strings.TrimSpace(strings.TrimLeft(bare, "`")); inside == "" {
				inside = "none"
			}
			continue
		case fence != "" && bare == fence:
			fence, inside = "", ""
			continue
		}
		d.lines = append(d.lines, docLine{number, line, inside})
	}
	return d
}

// anchors are those that GitHub gives the headings: lower case, without what is neither letter, digit, space, - nor _, with a
// - for each space, and numbered where one repeats.
func (d document) anchors() map[string]bool {
	list := map[string]bool{}
	for _, line := range d.lines {
		heading := strings.TrimLeft(line.text, "#")
		if line.fence != "" || heading == line.text || !strings.HasPrefix(heading, " ") {
			continue
		}
		heading = linkText.ReplaceAllString(heading, "$1")
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(heading))
		for n, name := 0, anchor; ; n++ {
			if n > 0 {
				name = anchor + "-" + string(rune('0'+n))
			}
			if !list[name] {
				list[name] = true
				break
			}
		}
	}
	return list
}

var (
	linkText = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	linkTo   = regexp.MustCompile(`\]\(([^)\s]+)[^)]*\)`)
	codeSpan = regexp.MustCompile("`[^`]*`")
)

func TestLinksOfTheDocumentationLeadSomewhere(t *testing.T) {
	list := documentation(t)
	anchors := map[string]map[string]bool{}
	for _, d := range list {
		anchors[d.name] = d.anchors()
	}
	for _, d := range list {
		for _, line := range d.lines {
			if line.fence != "" {
				continue
			}
			for _, m := range linkTo.FindAllStringSubmatch(codeSpan.ReplaceAllString(line.text, ""), -1) {
				to := m[1]
				if strings.HasPrefix(to, "https://") || strings.HasPrefix(to, "mailto:") {
					continue
				}
				file, anchor, _ := strings.Cut(to, "#")
				target := path.Join(path.Dir(d.name), file)
				if file == "" {
					target = d.name
				}
				if _, err := os.Stat(filepath.Join("..", "..", target)); err != nil {
					t.Errorf("%s:%d: %s does not exist", d.name, line.number, target)
				}
				if known := anchors[target]; anchor != "" && !known[anchor] {
					t.Errorf("%s:%d: %s has no heading #%s", d.name, line.number, target, anchor)
				}
			}
		}
	}
}

// Each file of the project that the documentation names is there; NAME stands for any.
func TestFilesOfTheDocumentationExist(t *testing.T) {
	named := regexp.MustCompile(`^(bot|checks|cmd|deploy|engine|render|\.ci|\.github)/[a-zA-Z0-9_./-]+$`)
	for _, d := range documentation(t) {
		if strings.HasPrefix(d.name, "testdata/") { // a repository of its own
			continue
		}
		for _, line := range d.lines {
			for _, span := range codeSpan.FindAllString(line.text, -1) {
				name := strings.Trim(span, "`")
				if line.fence != "" || !named.MatchString(name) || strings.Contains(name, "NAME") {
					continue
				}
				if _, err := os.Stat(filepath.Join("..", "..", name)); err != nil {
					t.Errorf("%s:%d: %s does not exist", d.name, line.number, name)
				}
			}
		}
	}
}

// Each command of the documentation exists, with its flags and its environment variables.
func TestCommandsOfTheDocumentationExist(t *testing.T) {
	targets := regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(readFile(t, filepath.Join("..", "..", "Makefile")), -1)
	known := environment()
	for _, d := range documentation(t) {
		var spans []docLine
		for _, line := range d.lines {
			if line.fence == "sh" || line.fence == "console" {
				spans = append(spans, line)
			} else if line.fence == "" {
				for _, span := range codeSpan.FindAllString(line.text, -1) {
					if words := strings.Trim(span, "`"); strings.HasPrefix(words, "lintel ") || strings.HasPrefix(words, "make ") {
						spans = append(spans, docLine{number: line.number, text: words})
					}
				}
			}
			for _, name := range regexp.MustCompile(`\bLINTEL_[A-Z_]*[A-Z]\b`).FindAllString(line.text, -1) {
				if !known[name] {
					t.Errorf("%s:%d: there is no variable %s", d.name, line.number, name)
				}
			}
		}
		for _, line := range spans {
			for _, words := range commandsIn(line.text) {
				problem := ""
				switch words[0] {
				case "lintel":
					problem = unknownCommand(words[1:])
				case "make":
					for _, word := range words[1:] {
						if !strings.Contains(word, "=") && !slices.ContainsFunc(targets, func(m []string) bool { return m[1] == word }) {
							problem = "the Makefile has no target " + word
						}
					}
				case "go":
					for _, word := range words[1:] {
						if dir, ok := strings.CutPrefix(word, "./"); ok && dir != "..." {
							if _, err := os.Stat(filepath.Join("..", "..", dir)); err != nil && !strings.HasPrefix(dir, "PACKAGE") {
								problem = "there is no package " + word
							}
						}
					}
				}
				if problem != "" {
					t.Errorf("%s:%d: %s: %s", d.name, line.number, strings.Join(words, " "), problem)
				}
			}
		}
	}
}

// plays runs the lines of the sh blocks below a heading of a document, but for those that need a network. Each ends with 0, or
// with 1 since something blocks.
func plays(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: plays FILE HEADING")
	}
	d := newDocument(args[0], ts.ReadFile(filepath.Join(ts.Getenv("PROJECT"), args[0])))
	here, played := false, 0
	for _, line := range d.lines {
		if line.fence == "" && strings.HasPrefix(line.text, "#") {
			here = strings.TrimSpace(strings.TrimLeft(line.text, "#")) == args[1]
		}
		if !here || line.fence != "sh" || strings.TrimSpace(line.text) == "" || strings.Contains(line.text, "https://") {
			continue
		}
		ts.Logf("%s:%d: %s", args[0], line.number, line.text)
		err := ts.Exec("sh", "-c", line.text)
		if failed := new(exec.ExitError); err != nil && (!errors.As(err, &failed) || failed.ExitCode() != 1) {
			ts.Fatalf("%s:%d: %s: %v", args[0], line.number, line.text, err)
		}
		played++
	}
	if played == 0 {
		ts.Fatalf("%s has no commands below %q", args[0], args[1])
	}
}

// commandsIn are the commands of a line of a shell, as words: those behind "$ ", pipes, and assignments, too.
func commandsIn(line string) (list [][]string) {
	if at := strings.Index(line, " #"); at >= 0 {
		line = line[:at]
	}
	line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
	for _, part := range regexp.MustCompile(`&&|\|\||[|;]`).Split(line, -1) {
		words := strings.Fields(part)
		for len(words) > 0 && (regexp.MustCompile(`^[A-Z_]+=`).MatchString(words[0]) || words[0] == "then" || words[0] == "exec") {
			words = words[1:]
		}
		if len(words) > 0 {
			words[0] = strings.TrimPrefix(words[0], "bin/")
			list = append(list, words)
		}
	}
	return list
}

// unknownCommand says what of a command of lintel does not exist.
func unknownCommand(args []string) string {
	root := newRootCommand()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || strings.ToUpper(args[0]) == args[0] {
		return ""
	}
	cmd, rest, err := root.Find(args)
	if err != nil || cmd == root {
		return "there is no such command"
	}
	cmd.InitDefaultHelpFlag()
	for _, word := range rest {
		name, _, _ := strings.Cut(word, "=")
		var f *pflag.Flag
		switch {
		case word == "--":
			return ""
		case strings.HasPrefix(name, "--"):
			f = cmd.Flags().Lookup(name[2:])
		case strings.HasPrefix(name, "-") && len(name) > 1:
			f = cmd.Flags().ShorthandLookup(name[1:2])
		default:
			continue
		}
		if f == nil {
			return "there is no flag " + name
		}
	}
	return ""
}

// environment are the variables that the program, its tests and its scripts read.
func environment() map[string]bool {
	known := map[string]bool{}
	serve := newServeCommand()
	serve.Flags().VisitAll(func(f *pflag.Flag) {
		known["LINTEL_"+strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))] = true
	})
	// git grep finds what else reads one.
	out, _ := exec.Command("git", "-C", filepath.Join("..", ".."), "grep", "-hoE", `LINTEL_[A-Z_]*[A-Z]\b`, "--", "*.go", ".ci",
		"deploy/action", "Makefile").Output()
	for name := range strings.FieldsSeq(string(out)) {
		known[name] = true
	}
	return known
}

// The README is read in five minutes.
func TestReadmeIsShort(t *testing.T) {
	if n := len(strings.Fields(readFile(t, filepath.Join("..", "..", "README.md")))); n > 1500 {
		t.Errorf("README.md has %d words, 1,500 at most", n)
	}
}

// Sentences of the documentation have 25 words at most, outside of tables and code.
func TestSentencesOfTheDocumentationAreShort(t *testing.T) {
	for _, d := range documentation(t) {
		var paragraph []string
		start := 0
		end := func() {
			text := linkText.ReplaceAllString(codeSpan.ReplaceAllString(strings.Join(paragraph, " "), "X"), "$1")
			for _, sentence := range regexp.MustCompile(`[.!?:;]\*{0,2}(\s|$)`).Split(text, -1) {
				if n := len(strings.Fields(sentence)); n > 25 {
					t.Errorf("%s:%d: a sentence has %d words: %.80s...", d.name, start, n, strings.TrimSpace(sentence))
				}
			}
			paragraph = nil
		}
		for _, line := range d.lines {
			bare := strings.TrimSpace(line.text)
			if line.fence != "" || bare == "" || strings.HasPrefix(bare, "|") || strings.HasPrefix(bare, "#") || strings.HasPrefix(bare, "<!--") {
				end()
				continue
			}
			if regexp.MustCompile(`^([-*]|\d+\.) `).MatchString(bare) {
				end()
			}
			if len(paragraph) == 0 {
				start = line.number
			}
			paragraph = append(paragraph, bare)
		}
		end()
	}
}
