package checks

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
)

//go:embed explain/checks.yaml
var checksFile []byte

//go:embed explain/messages.yaml
var messagesFile []byte

// Topics say what a report's checks, causes, errors and warnings mean, and what to do about each: the checks that need no
// policies in the order of the documentation, then what else a report, a command or the server can say. They are not to
// be changed. To add a check, add its entry to explain/checks.yaml: a test requires one, and runs its example.
var Topics = sync.OnceValue(func() (list []report.Explanation) {
	infos := map[string]builtin.Info{}
	for _, c := range builtin.For(builtin.Facts{}) {
		infos[c.Name] = c.Info
	}
	switchable := settings.CheckNames()
	for _, t := range readTopics(checksFile) {
		info := infos[t.Name]
		t.Kind, t.Severity = report.ExplainCheck, info.Severity
		t.Level = string(settings.LevelWarn)
		if info.Enforce {
			t.Level = string(settings.LevelEnforce)
		}
		if slices.Contains(switchable, t.Name) {
			t.Setting = "checks." + t.Name
		}
		list = append(list, t)
	}
	for _, t := range readTopics(messagesFile) {
		t.Kind = report.ExplainMessage
		list = append(list, t)
	}
	return list
})

func readTopics(data []byte) (list []report.Explanation) {
	if err := yaml.Unmarshal(data, &list); err != nil {
		panic(err) // a test reads it
	}
	return list
}

// Explain returns what has a name, with or without the policy "lintel/" in front, else the messages that a text quotes, the one
// that is said with the most words first.
func Explain(text string) (list []report.Explanation) {
	name := strings.TrimPrefix(strings.ReplaceAll(text, " ", ""), builtin.Policy+"/")
	for _, t := range Topics() {
		if t.Name == name {
			return []report.Explanation{t}
		}
	}
	most := 0
	for _, t := range Topics() {
		switch n := quoted(t, text); {
		case n == 0 || n < most:
		case n > most:
			most, list = n, []report.Explanation{t}
		default:
			list = append(list, t)
		}
	}
	return list
}

// quoted is how many characters of what a topic says are in a text.
func quoted(t report.Explanation, text string) (most int) {
	text = strings.ToLower(text)
	for _, printed := range t.Printed {
		n, rest, all := 0, text, true
		for part := range strings.SplitSeq(strings.ToLower(printed), "…") {
			part = strings.TrimSpace(part)
			at := strings.Index(rest, part)
			if all = all && at >= 0; all {
				n, rest = n+len(part), rest[at+len(part):]
			}
		}
		if all {
			most = max(most, n)
		}
	}
	return most
}
