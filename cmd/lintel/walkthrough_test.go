package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the generated parts of the documentation, and the output of walk-throughs")

// Each example has a walk-through, and what it shows is what its commands print.
func TestWalkthroughsOfExamples(t *testing.T) {
	const examples = "testdata/examples"
	files, err := filepath.Glob(filepath.Join("..", "..", examples, "*", "README.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no walk-throughs: %v", err)
	}
	for _, file := range files {
		example := filepath.Dir(file)
		t.Run(filepath.Base(example), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(filepath.Join(dir, examples, filepath.Base(example)), os.DirFS(example)); err != nil {
				t.Fatal(err)
			}
			playWalkthrough(t, file, dir)
		})
	}
}

func TestShowsOutput(t *testing.T) {
	for _, c := range []struct {
		shown, printed string
		want           bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\n", "a\nb\n", false},
		{"", "a\n", false},
		{"at 1a2b3c4 in 1.5s, ends on 1 May 2026\n", "at f0e1d2c in 20ms, ends on 31 July 2027\n", true},
		{"a\n…\nd\n", "a\nb\nc\nd\n", true},
		{"a\n…\nd\n", "a\nd\n", true},
		{"a\n…\nd\n", "a\nb\nd.\n", false},
		{"a\n…\n", "a\nb\n", true},
		{"…\nb\n", "a\nc\n", false},
		{"a …\n", "a\nb\n", false},
	} {
		if got := showsOutput(c.shown, c.printed); got != c.want {
			t.Errorf("%q shows %q: %v, want %v", c.shown, c.printed, got, c.want)
		}
	}
}

func TestUpdatedWalkthroughKeepsWhatIsLeftOut(t *testing.T) {
	const text = "1. Do it:\n\n   ```sh\n   one\n   ```\n\n   ```\n   at 1a2b3c4\n   ```\n\n```sh\ntwo\n```\n\n" +
		"```sh\nthree\n```\n\n```\na\n…\nd\ne\n```\n"
	steps := walkthroughSteps(t, text)
	if len(steps) != 3 || steps[1].output != nil || steps[0].commands != "one\n" || steps[2].line != 16 {
		t.Fatalf("steps %+v", steps)
	}
	for _, c := range []struct {
		printed []string
		want    string
	}{
		{[]string{"at f0e1d2c\n", "more\n", "a\nb\nc\nd\ne\n"}, text},
		{[]string{"at 1a2b3c4 \nend\n"}, strings.Replace(text, "   at 1a2b3c4\n", "   at 1a2b3c4\n   end\n", 1)},
		{[]string{"at 1a2b3c4\n", "", "A\nb\nc\nd\nE\n"}, strings.Replace(text, "a\n…\nd\ne\n", "A\n…\nd\nE\n", 1)},
		{[]string{"at 1a2b3c4\n", "", "A\nE\n"}, strings.Replace(text, "a\n…\nd\ne\n", "A\nE\n", 1)},
	} {
		if diff := cmp.Diff(c.want, updatedWalkthrough(text, steps[:len(c.printed)], c.printed)); diff != "" {
			t.Errorf("printed %q (-want +got):\n%s", c.printed, diff)
		}
	}
}

// playWalkthrough runs the sh blocks of a markdown file, in order and in one shell that starts in a folder, and compares
// what each prints with the block without a language that follows it. A block that no output follows has to succeed. In
// the output a line "…" stands for any number of lines, "~" for the home folder; commits, dates and durations are not
// compared. With -update, output that differs is written into the file.
func playWalkthrough(t *testing.T, file, dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("walk-throughs are for a POSIX shell")
	}
	text := readFile(t, file)
	steps := walkthroughSteps(t, text)
	if len(steps) == 0 {
		t.Fatalf("%s has no sh blocks", file)
	}
	printed, err := playSteps(t, steps, dir)
	if *update {
		updated := updatedWalkthrough(text, steps[:len(printed)], printed)
		if err := os.WriteFile(file, []byte(updated), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i, out := range printed {
		if s := steps[i]; s.output != nil && !*update && !showsOutput(*s.output, out) {
			t.Errorf("%s:%d prints something else (-file +printed):\n%s\n%s", file, s.line, s.commands,
				cmp.Diff(strings.Split(*s.output, "\n"), strings.Split(out, "\n")))
		}
	}
	if len(printed) < len(steps) {
		t.Errorf("%s:%d failed: %v\n%s", file, steps[len(printed)].line, err, steps[len(printed)].commands)
	}
}

// walkthroughStep is an sh block of a markdown file, and the output that it shows.
type walkthroughStep struct {
	line       int // of the commands, from 1
	commands   string
	output     *string // nil where none is shown
	begin, end int     // the lines of the output, from 0
	indent     string
}

// walkthroughSteps reads the sh blocks of a markdown file. The first block without a language between one and the next is its output.
func walkthroughSteps(t *testing.T, text string) []walkthroughStep {
	t.Helper()
	var steps []walkthroughStep
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		trimmed := strings.TrimLeft(lines[i], " ")
		if !strings.HasPrefix(trimmed, "```") {
			continue
		}
		indent, begin := lines[i][:len(lines[i])-len(trimmed)], i+1
		for i = begin; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
		}
		if i == len(lines) {
			t.Fatalf("the block of line %d has no end", begin)
		}
		var content strings.Builder
		for _, line := range lines[begin:i] {
			content.WriteString(strings.TrimPrefix(line, indent) + "\n")
		}
		switch language := strings.TrimSpace(strings.TrimPrefix(trimmed, "```")); {
		case language == "sh":
			steps = append(steps, walkthroughStep{line: begin + 1, commands: content.String()})
		case language == "" && len(steps) > 0 && steps[len(steps)-1].output == nil:
			s, output := &steps[len(steps)-1], content.String()
			s.output, s.begin, s.end, s.indent = &output, begin, i, indent
		}
	}
	return steps
}

// playSteps runs the commands of all steps as a person with an empty home does, and returns what each step printed that was
// run to its end.
func playSteps(t *testing.T, steps []walkthroughStep, dir string) ([]string, error) {
	t.Helper()
	const ended = "-- the step has ended --\n"
	var script strings.Builder
	for _, s := range steps {
		mode := "-e"
		if s.output != nil { // which is what counts: findings end a command with another exit code than 0
			mode = "+e"
		}
		fmt.Fprintf(&script, "set %s\n%sset +e\necho '%s'\n", mode, s.commands, strings.TrimSuffix(ended, "\n"))
	}
	home := t.TempDir()
	writeFile(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = New\n\temail = new@example.com\n")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script.String())
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1"}
	err := cmd.Run()
	printed := strings.Split(strings.ReplaceAll(out.String(), home, "~"), ended)
	rest := printed[len(printed)-1]
	if err == nil && rest != "" {
		err = fmt.Errorf("it printed after its end")
	}
	if err != nil && rest != "" {
		err = fmt.Errorf("%w: %s", err, rest)
	}
	printed = printed[:len(printed)-1]
	for i, text := range printed {
		if text != "" && !strings.HasSuffix(text, "\n") {
			printed[i] += "\n"
		}
	}
	return printed, err
}

var (
	// changing is what differs between two runs of the same commands: commits, dates and durations.
	changing = regexp.MustCompile(`\b[0-9a-f]{7,40}\b|\b\d{4}-\d\d-\d\d\b|\b\d{1,2} [A-Z][a-z]+ 20\d\d\b|\b\d+(\.\d+)?m?s\b`)
	// trailing are spaces that the files do not have.
	trailing = regexp.MustCompile(`(?m) +$`)
)

// showsOutput says whether output that a file shows is what was printed.
func showsOutput(shown, printed string) bool {
	steady := func(s string) string {
		return trailing.ReplaceAllLiteralString(changing.ReplaceAllLiteralString(s, "<changing>"), "")
	}
	pattern := regexp.QuoteMeta(steady(shown))
	pattern = regexp.MustCompile(`(?m)^…\n`).ReplaceAllLiteralString(pattern, `(?:.*\n)*`)
	return regexp.MustCompile(`\A` + pattern + `\z`).MatchString(steady(printed))
}

// updatedWalkthrough is the text of a walk-through that shows what its steps printed. Output that leaves lines out at one
// place shows as many lines before and after it as it did.
func updatedWalkthrough(text string, steps []walkthroughStep, printed []string) string {
	lines := strings.Split(text, "\n")
	for i, s := range slices.Backward(steps) {
		if s.output == nil || showsOutput(*s.output, printed[i]) {
			continue
		}
		shown := strings.Split(strings.TrimSuffix(printed[i], "\n"), "\n")
		was := lines[s.begin:s.end]
		if gap := slices.Index(was, s.indent+"…"); gap >= 0 && len(was) < len(shown) {
			shown = slices.Concat(shown[:gap], []string{"…"}, shown[len(shown)-(len(was)-gap-1):])
		}
		for i, line := range shown {
			shown[i] = strings.TrimRight(s.indent+line, " ")
		}
		lines = slices.Replace(lines, s.begin, s.end, shown...)
	}
	return strings.Join(lines, "\n")
}
