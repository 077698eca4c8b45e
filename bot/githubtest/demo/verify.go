package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/bot/githubtest"
)

// broken contains the policies that the pull request breaks, each with the text of the line that does so.
var broken = map[string]string{
	"disallow-privileged": "privileged: true",
	"disallow-latest-tag": ":latest",
}

// verify returns an error unless the check run is as expected: a failure, with annotations only on the lines of the
// patch that break the policies.
func verify(run githubtest.Run, files map[string]string, violations []githubtest.Violation) error {
	var wrong []error
	if run.Conclusion != "failure" {
		wrong = append(wrong, fmt.Errorf("the conclusion is %s, not failure", run.Conclusion))
	}
	found := map[string]bool{}
	for _, a := range run.Annotations {
		if a.Level != "failure" {
			continue
		}
		lines := strings.Split(files[a.Path], "\n")
		policy, ok := policyOf(a)
		switch {
		case files[a.Path] == "":
			wrong = append(wrong, fmt.Errorf("an annotation is on %s, which the pull request does not touch", a.Path))
		case !ok:
			wrong = append(wrong, fmt.Errorf("the annotation on %s:%d is about none of the broken policies: %s", a.Path,
				a.StartLine, a.Title))
		case a.EndLine > len(lines) || !strings.Contains(strings.Join(lines[a.StartLine-1:a.EndLine], "\n"), broken[policy]):
			wrong = append(wrong, fmt.Errorf("%s is at %s:%d, which is not the line that breaks it", policy, a.Path,
				a.StartLine))
		default:
			found[policy] = true
		}
	}
	for policy := range broken {
		if !found[policy] {
			wrong = append(wrong, fmt.Errorf("no annotation is about %s", policy))
		}
	}
	for _, v := range violations {
		wrong = append(wrong, fmt.Errorf("GitHub would not like this: %s", v))
	}
	return errors.Join(wrong...)
}

// policyOf returns the broken policy that an annotation names.
func policyOf(a githubtest.Annotation) (string, bool) {
	for policy := range broken {
		if slices.ContainsFunc([]string{a.Title, a.Message, a.RawDetails},
			func(text string) bool { return strings.Contains(text, policy) }) {
			return policy, true
		}
	}
	return "", false
}
