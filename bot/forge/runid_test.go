package forge

import (
	"strings"
	"testing"
	"time"
)

const testCommit = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// What stands on GitHub since the first version is read and written in the same way.
func TestRunIDsAreReadAsTheyWereWritten(t *testing.T) {
	for text, want := range map[string]RunID{
		"pr-12/begun-7":                    {Target: Target{Number: 12}, State: HasBegun, Job: 7},
		"pr-12+d-1/begun-7":                {Target: Target{Number: 12}, Demand: "d-1", State: HasBegun, Job: 7},
		"pr-1/0123abcd":                    {Target: Target{Number: 1}, Digest: "0123abcd"},
		"pr-1+72d3-0/0123abcd":             {Target: Target{Number: 1}, Demand: "72d3-0", Digest: "0123abcd"},
		"pr-1/":                            {Target: Target{Number: 1}},
		"pr-1/00ff~success":                {Target: Target{Number: 1}, Digest: "00ff", Own: "success"},
		"pr-1+d/00ff~neutral!60":           {Target: Target{Number: 1}, Demand: "d", Digest: "00ff", Own: "neutral", Until: 60},
		"pr-1/00ff!1767225600":             {Target: Target{Number: 1}, Digest: "00ff", Until: 1767225600},
		"pr-1/failed-9-00ff":               {Target: Target{Number: 1}, State: HasFailed, Job: 9, Digest: "00ff"},
		"pr-1/gave-up-2-9":                 {Target: Target{Number: 1}, State: Abandoned, Job: 9, Times: 2},
		"outlook-12+d/abc":                 {Target: Target{Preview: 12}, Demand: "d", Digest: "abc"},
		"branch-612f622b63/abc":            {Target: Target{Branch: "a/b+c"}, Digest: "abc"},
		"group-" + testCommit + "/begun-1": {Target: Target{Group: testCommit}, State: HasBegun, Job: 1},
	} {
		if got, err := ParseRunID(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
		if got := want.String(); got != text {
			t.Errorf("%+v is written as %s, want %s", want, got, text)
		}
	}
}

func TestForeignRunIDsAreRefused(t *testing.T) {
	for _, text := range []string{
		"", "/", "x", "x/", "pr-12", "pr/x", "pr-0/x", "pr-012/x", "pr--1/x", "pr-+1/x", "pr-x/x", "pr-1+/x", "pr-1/x/y",
		"branch-/x", "branch-6/x", "outlook-/x", "outlook-0/x", "outlook--1/x",
		"branch-6G/x", "branch-6A/x", "group-/x", "tag-1/x", "pr-1/begun-", "pr-1/begun-x", "pr-1/begun-07", "pr-1/failed-1",
		"pr-1/gave-up-9", "pr-1/gave-up-0-9", "pr-1/gave-up-x-1", "pr-1/gave-up-1-1-1",
		"pr-1/00ff~", "pr-1/00ff!", "pr-1/00ff!0", "pr-1/00ff!x", "pr-1/00ff!-1", "pr-1/00ff!1~success", "pr-1/begun-1~success",
		"pr-1/failed-1-00!60",
	} {
		if id, err := ParseRunID(text); err == nil {
			t.Errorf("%q is taken for %+v", text, id)
		}
	}
}

func TestAbandonedRunsAreRetriedFourTimes(t *testing.T) {
	for times, want := range map[int]time.Duration{1: time.Minute, 2: 10 * time.Minute, 3: time.Hour, 4: 6 * time.Hour} {
		if pause, again := (RunID{State: Abandoned, Times: times}).Retry(); !again || pause != want {
			t.Errorf("given up %d times: %s %v, want %s", times, pause, again, want)
		}
	}
	for _, id := range []RunID{{State: Abandoned, Times: 5}, {}, {State: HasBegun}, {State: HasFailed}} {
		if _, again := id.Retry(); again {
			t.Errorf("%+v is tried again", id)
		}
	}
}

func FuzzParseRunID(f *testing.F) {
	for _, text := range []string{"pr-12+d/begun-7", "branch-61/x", "group-" + testCommit + "/gave-up-1-2",
		"pr-1/failed-9-00ff", "pr-1/x/"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseRunID(text)
		if err != nil {
			return
		}
		if got := id.String(); got != text {
			t.Errorf("%q is written back as %q", text, got)
		}
		again, err := ParseRunID(strings.Replace(text, "/", "+demand/", 1))
		if id.Demand == "" && (err != nil || again.Target != id.Target || again.Outcome() != id.Outcome()) {
			t.Errorf("%q with a demand is %+v, %v", text, again, err)
		}
	})
}
