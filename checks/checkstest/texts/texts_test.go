package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks"
)

const maxWords = 25

var (
	sentences = regexp.MustCompile(`[.!?]\s+`)
	counted   = regexp.MustCompile(`[\pL\pN%]`)
	functions = regexp.MustCompile(`^now ago `) // the names of template functions, which no one reads as a sentence
)

// retired has phrases that were once used, and the ones to write instead: DESIGN's names, and metaphors.
var retired = map[string]string{
	"from outside":  "remote sources, or the source cache",
	"elsewhere":     "the name of the place",
	"brought in":    "included",
	"brings":        "adds, includes or renders",
	"be had":        "be fetched, or be found",
	"looked at":     "checked, or read",
	"held against":  "validated against",
	"whoever":       "the user or program",
	"any more":      "no longer",
	"leads out":     "points outside",
	"stands beside": "is next to",
	"stands above":  "is before",
	"belongs into":  "belongs in",
	"is judged":     "is checked",
	"to look after": "to renew, or to review",
	"meanwhile":     "during the check",
}

// problems names what is wrong with a text.
func problems(value string) (found []string) {
	for _, sentence := range sentences.Split(value, -1) {
		n := 0
		for _, word := range strings.Fields(sentence) {
			if counted.MatchString(word) {
				n++
			}
		}
		if n > maxWords && !functions.MatchString(sentence) {
			found = append(found, fmt.Sprintf("a sentence of %d words: split it, at most %d", n, maxWords))
		}
	}
	lower := strings.ToLower(value)
	for _, phrase := range slices.Sorted(maps.Keys(retired)) {
		if strings.Contains(lower, phrase) {
			found = append(found, fmt.Sprintf("%q: write %s", phrase, retired[phrase]))
		}
	}
	return found
}

// TestTextsAreShortAndPlain reads all texts that people can see.
func TestTextsAreShortAndPlain(t *testing.T) {
	texts, err := collect("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) < 3000 {
		t.Errorf("only %d texts were found", len(texts))
	}
	for _, text := range texts {
		for _, p := range problems(text.value) {
			t.Errorf("%v: %s", text, p)
		}
	}
}

// Messages that are explained are quoted as the program prints them: each is in the list of texts, with … for what varies.
func TestExplainedMessagesArePrinted(t *testing.T) {
	list, err := collect("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range checks.Topics() {
		for _, quote := range topic.Printed {
			if !printed(list, quote) {
				t.Errorf("%s: the program does not print %q", topic.Name, quote)
			}
		}
	}
}

// What troubleshooting quotes in its first column as a sentence is printed, too.
func TestTroubleIsQuotedAsPrinted(t *testing.T) {
	list, err := collect("../../..")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../../../deploy/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, _ := strings.Cut(string(data), "\n## Troubleshooting\n")
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	quotes := 0
	for line := range strings.Lines(chapter) {
		row := strings.Split(line, "|")
		if len(row) < 4 {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(row[1], -1) {
			if !strings.Contains(m[1], " ") { // a name
				continue
			}
			if quotes++; !printed(list, m[1]) {
				t.Errorf("the program does not print %q", m[1])
			}
		}
	}
	if quotes < 15 {
		t.Errorf("%d texts are quoted", quotes)
	}
}

// printed says whether a text that is quoted, with … for what varies, is part of one of the texts that the program prints.
func printed(list []text, quote string) bool {
	verb := regexp.MustCompile(`%(\[\d+\])?[-+#.\d]*[a-zA-Z]`)
	space := regexp.MustCompile(`[…\s"]+`)
	plain := func(text string) string {
		return strings.TrimSpace(space.ReplaceAllString(verb.ReplaceAllString(text, "…"), " "))
	}
	return slices.ContainsFunc(list, func(t text) bool {
		if strings.HasSuffix(t.file, "messages.yaml") {
			return false
		}
		rest := plain(t.value)
		for part := range strings.SplitSeq(quote, "…") {
			part = strings.Trim(plain(part), "():,. ")
			at := strings.Index(rest, part)
			if at < 0 {
				return false
			}
			rest = rest[at+len(part):]
		}
		return true
	})
}

func TestProblemsOfTexts(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	for name, c := range map[string]struct {
		value string
		want  int
	}{
		"as long as allowed": {words(25) + ". " + words(25), 0},
		"too long":           {words(3) + ". " + words(26), 1},
		"a retired phrase":   {"It comes from outside.", 1},
		"names of functions": {"now ago " + words(30), 0},
	} {
		if got := problems(c.value); len(got) != c.want {
			t.Errorf("%s: got %q, want %d", name, got, c.want)
		}
	}
}

// TestCollectFindsTextsOfEachKind has a text of each kind of file, by a part that hardly ever changes.
func TestCollectFindsTextsOfEachKind(t *testing.T) {
	texts, err := collect("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cmd/lintel/commands.txt", "cmd/lintel/foreign.txt", "cmd/lintel/serve.go", "bot/github/setup.html",
		"checks/output/assets/page.js", "checks/settings/fields.yaml", "checks/starter/settings.yaml.tmpl"} {
		if !slices.ContainsFunc(texts, func(t text) bool { return t.file == want && t.line > 0 && len(t.value) > 20 }) {
			t.Errorf("no text of %s", want)
		}
	}
}
